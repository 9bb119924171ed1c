package examples.thrift;

import io.github.seed4933.eventbus.v1.Event;
import io.github.seed4933.eventbus.v1.EventHandler;
import io.github.seed4933.eventbus.v1.HandleResult;
import io.github.seed4933.eventbus.v1.Outcome;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.thrift.TException;

/**
 * Passes events on until it is stopped. Thrift's servers have no soft stop: those that do not block
 * close their connections before what runs is answered, and a {@code TThreadPoolServer} interrupts
 * it. So stop this first, and the server, or the process, afterwards.
 */
final class StoppableHandler implements EventHandler.Iface {
    /** For the server to write an answer, which it does after handle has returned, and tells nobody. */
    private static final long ANSWER_MILLIS = 200;

    private final EventHandler.Iface handler;
    private final int threads;
    private final Semaphore idle;
    private volatile boolean stopping;

    /** @param threads how many events the server has handled at once, at most */
    StoppableHandler(EventHandler.Iface handler, int threads) {
        this.handler = handler;
        this.threads = threads;
        this.idle = new Semaphore(threads);
    }

    @Override
    public HandleResult handle(Event event) throws TException {
        if (stopping || !idle.tryAcquire()) {
            return new HandleResult(Outcome.RETRY).setMessage("the process is stopping");
        }
        try {
            return handler.handle(event);
        } finally {
            idle.release();
        }
    }

    /** Returns when all that is being handled is answered, or the time is over; what else comes is to come again. */
    void stop(long seconds) throws InterruptedException {
        stopping = true;
        idle.tryAcquire(threads, seconds, TimeUnit.SECONDS);
        Thread.sleep(ANSWER_MILLIS);
    }
}
