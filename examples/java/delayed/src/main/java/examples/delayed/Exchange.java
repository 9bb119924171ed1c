package examples.delayed;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Offers the events of the input and takes from the same queue meanwhile. Once the input has ended
 * it goes on taking until the queue is empty, so that it leaves nothing that it has popped untold.
 */
final class Exchange implements Command.Action {
    @Override
    public void run(SharedQueue queue, Lines lines, Arguments arguments) throws Exception {
        AtomicBoolean ended = new AtomicBoolean();
        ExecutorService taker = Executors.newSingleThreadExecutor();
        try {
            Future<?> taking = taker.submit(() -> takeUntil(ended, queue, lines));
            try {
                new Offer().run(queue, lines, arguments);
            } finally {
                ended.set(true);
            }
            taking.get();
        } finally {
            taker.shutdown();
            taker.awaitTermination(5, TimeUnit.SECONDS);
        }
    }

    private static Void takeUntil(AtomicBoolean ended, SharedQueue queue, Lines lines) throws Exception {
        while (!ended.get()) {
            Take.take(queue, lines, ended::get);
        }
        return null;
    }
}
