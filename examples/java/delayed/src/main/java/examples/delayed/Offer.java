package examples.delayed;

import java.io.IOException;

/** Delays each event of the input, and tells when Redis has it. */
final class Offer implements Command.Action {
    /** A line of the input. */
    record Request(String payload, long delayMillis) {
        Request {
            if (payload == null) {
                throw new IllegalArgumentException("payload is missing");
            }
            if (delayMillis < 0) {
                throw new IllegalArgumentException("delayMillis is negative: " + delayMillis);
            }
        }
    }

    /** A line of the output. */
    record Offered(String offered) {}

    @Override
    public void run(SharedQueue queue, Lines lines, Arguments arguments) throws IOException {
        for (Request r = lines.read(Request.class); r != null; r = lines.read(Request.class)) {
            queue.offer(r.payload(), r.delayMillis());
            lines.write(new Offered(r.payload()));
        }
    }
}
