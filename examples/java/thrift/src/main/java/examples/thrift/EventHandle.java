package examples.thrift;

/** How handlers look in a system that has its own bus: they know nothing of Thrift, nor of this bus. */
public interface EventHandle {
    /**
     * Handles an event.
     *
     * @return whether it is handled; if not it is tried again
     * @throws IllegalArgumentException if it can never be handled
     * @throws RetryAfterException if it is to be tried again after a certain time
     * @throws Exception if it could not be handled now
     */
    boolean handle(String topic, String json) throws Exception;
}
