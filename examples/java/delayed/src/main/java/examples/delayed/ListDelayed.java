package examples.delayed;

import java.io.IOException;
import java.util.List;

/** Shows what Redisson sees of the delayed events, which is the list of them in offer order. */
final class ListDelayed implements Command.Action {
    /** The line of the output. */
    record Listing(int size, List<String> payloads) {}

    @Override
    public void run(SharedQueue queue, Lines lines, Arguments arguments) throws IOException {
        lines.write(new Listing(queue.delayedSize(), queue.delayedPayloads()));
    }
}
