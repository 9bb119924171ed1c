package examples.thrift;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Business logic, moved over from the old system as it was: it has invoices paid by a bank. What
 * the bank says is written on the invoice, one answer an attempt, so that all can be tried out:
 * {@code {"invoice":7,"bank":["busy","down","closed","paid"]}}. When nothing more is written there
 * it has been paid.
 */
final class Billing implements EventHandle {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    /** How often the bank was asked, by invoice. */
    private final Map<Long, Integer> asked = new ConcurrentHashMap<>();

    @Override
    public boolean handle(String topic, String json) throws Exception {
        JsonNode invoice;
        try {
            invoice = MAPPER.readTree(json);
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException("this is no JSON: " + e.getOriginalMessage(), e);
        }
        if (!invoice.path("invoice").canConvertToLong()) {
            throw new IllegalArgumentException("an invoice has a number");
        }
        int attempt = asked.merge(invoice.get("invoice").longValue(), 1, Integer::sum);
        String answer = invoice.path("bank").path(attempt - 1).asText("paid");
        return switch (answer) {
            case "paid" -> true;
            case "busy" -> false;
            case "down" -> throw new IOException("the bank is down");
            case "closed" -> throw new RetryAfterException(Duration.ofSeconds(2), "the bank is closed");
            case "slow" -> {
                Thread.sleep(3_000);
                yield true;
            }
            default -> throw new IllegalArgumentException("the bank says " + answer);
        };
    }
}
