package examples.delayed;

import java.io.IOException;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/** Takes events from the queue until it has as many as asked for. */
final class Take implements Command.Action {
    /** How long a call waits for an event before the end is looked for again. */
    private static final long POLL_MILLIS = 500;

    /** A line of the output: a payload, and when it was taken by this machine's clock. */
    record Taken(String taken, long atMillis) {}

    @Override
    public void run(SharedQueue queue, Lines lines, Arguments arguments) throws Exception {
        for (int i = 0; i < arguments.count(); i++) {
            take(queue, lines, () -> false);
        }
    }

    /** Takes one event, or ends when there is none and no more is wanted. */
    static void take(SharedQueue queue, Lines lines, BooleanSupplier ended) throws IOException, InterruptedException {
        Optional<String> payload;
        do {
            payload = queue.poll(POLL_MILLIS);
        } while (payload.isEmpty() && !ended.getAsBoolean());
        if (payload.isPresent()) {
            lines.write(new Taken(payload.get(), System.currentTimeMillis()));
        }
    }
}
