package examples.delayed;

import java.io.IOException;

/** Cancels each delayed event of the input. */
final class Remove implements Command.Action {
    /** A line of the input. */
    record Request(String payload) {
        Request {
            if (payload == null) {
                throw new IllegalArgumentException("payload is missing");
            }
        }
    }

    /** A line of the output; removed is false when there was no such event. */
    record Removed(String payload, boolean removed) {}

    @Override
    public void run(SharedQueue queue, Lines lines, Arguments arguments) throws IOException {
        for (Request r = lines.read(Request.class); r != null; r = lines.read(Request.class)) {
            lines.write(new Removed(r.payload(), queue.remove(r.payload())));
        }
    }
}
