package examples.thrift;

import io.github.seed4933.eventbus.v1.Event;
import io.github.seed4933.eventbus.v1.EventHandler;
import io.github.seed4933.eventbus.v1.HandleResult;
import io.github.seed4933.eventbus.v1.Outcome;
import java.nio.charset.StandardCharsets;

/** Puts an {@link EventHandle} of the old system behind the bus: all there is to moving one over. */
final class HandlerAdapter implements EventHandler.Iface {
    private final EventHandle handle;

    HandlerAdapter(EventHandle handle) {
        this.handle = handle;
    }

    @Override
    public HandleResult handle(Event event) {
        String attempt = event.getId() + " attempt " + event.getAttempt();
        System.out.println(attempt);
        HandleResult result = outcome(event);
        System.out.println(attempt + ": " + result.getOutcome() + (result.isSetMessage() ? ": " + result.getMessage() : ""));
        return result;
    }

    private HandleResult outcome(Event event) {
        try {
            boolean handled = handle.handle(event.getTopic(), new String(event.getPayload(), StandardCharsets.UTF_8));
            return handled ? new HandleResult(Outcome.DONE) : new HandleResult(Outcome.RETRY).setMessage("not handled");
        } catch (RetryAfterException e) {
            return new HandleResult(Outcome.RETRY_AFTER).setRetry_after_ms(e.pause().toMillis()).setMessage(reason(e));
        } catch (IllegalArgumentException e) {
            return new HandleResult(Outcome.REJECT).setMessage(reason(e));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // whose thread this is must see it, too
            return new HandleResult(Outcome.RETRY).setMessage("interrupted");
        } catch (Exception e) {
            return new HandleResult(Outcome.RETRY).setMessage(reason(e));
        }
    }

    private static String reason(Exception e) {
        return e.getMessage() == null ? e.toString() : e.getMessage();
    }
}
