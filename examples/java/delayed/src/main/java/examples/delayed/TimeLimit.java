package examples.delayed;

import java.time.Duration;

/** Ends the program when it takes too long, whatever it waits for. */
final class TimeLimit {
    private TimeLimit() {}

    static void start(Duration limit, String doing) {
        Thread watch = new Thread(() -> end(limit, doing), "time-limit");
        watch.setDaemon(true);
        watch.start();
    }

    private static void end(Duration limit, String doing) {
        try {
            Thread.sleep(limit.toMillis());
        } catch (InterruptedException e) {
            return;
        }
        System.err.printf(
                "delayed: %s: not done after %d s; is the server up, and do the events come? --seconds sets the limit%n",
                doing, limit.toSeconds());
        Runtime.getRuntime().halt(1);
    }
}
