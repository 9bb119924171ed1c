package examples.delayed;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import org.redisson.client.codec.ByteArrayCodec;
import org.redisson.client.codec.Codec;
import org.redisson.client.codec.StringCodec;
import org.redisson.codec.TypedJsonJacksonCodec;

/**
 * What a queue's elements are in Java. Each type has a codec that writes a payload as it is, so that
 * a service in another language can read it. Redisson's default codecs do not.
 */
enum ElementType {
    STRING(StringCodec.INSTANCE) {
        @Override
        Object element(String payload) {
            return payload;
        }

        @Override
        String payload(Object element) {
            return (String) element;
        }
    },
    BYTES(ByteArrayCodec.INSTANCE) {
        @Override
        Object element(String payload) {
            return payload.getBytes(StandardCharsets.UTF_8);
        }

        @Override
        String payload(Object element) {
            return new String((byte[]) element, StandardCharsets.UTF_8);
        }
    },
    /** Any JSON. A service would name a class of its own instead of JsonNode. */
    JSON(new TypedJsonJacksonCodec(JsonNode.class)) {
        @Override
        Object element(String payload) throws JsonProcessingException {
            return MAPPER.readTree(payload);
        }

        @Override
        String payload(Object element) throws JsonProcessingException {
            return MAPPER.writeValueAsString(element);
        }
    };

    private static final ObjectMapper MAPPER = new ObjectMapper();

    private final Codec codec;

    ElementType(Codec codec) {
        this.codec = codec;
    }

    abstract Object element(String payload) throws JsonProcessingException;

    abstract String payload(Object element) throws JsonProcessingException;

    Codec codec() {
        return codec;
    }

    static ElementType parse(String word) throws UsageException {
        for (ElementType type : values()) {
            if (type.name().toLowerCase(Locale.ROOT).equals(word)) {
                return type;
            }
        }
        throw new UsageException("option --type needs string, bytes or json, got " + word);
    }
}
