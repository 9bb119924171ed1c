package examples.thrift;

import java.time.Duration;

/** An event cannot be handled now, and the handler knows when it can be. */
public final class RetryAfterException extends Exception {
    private static final long serialVersionUID = 1L;

    private final Duration pause;

    public RetryAfterException(Duration pause, String message) {
        super(message);
        this.pause = pause;
    }

    public Duration pause() {
        return pause;
    }
}
