package examples.delayed;

import org.redisson.client.RedisConnectionException;

/**
 * Shares one delayed queue with a service that runs on the bus. What to do, where and how is told
 * on the command line; see {@link Arguments#USAGE}. Events come in on standard input and go out on
 * standard output, one JSON object a line; what goes wrong is told on standard error.
 */
public final class Main {
    private Main() {}

    public static void main(String[] args) {
        System.exit(run(args));
    }

    private static int run(String[] args) {
        Arguments arguments;
        try {
            arguments = Arguments.parse(args);
        } catch (UsageException e) {
            System.err.println("delayed: " + e.getMessage());
            System.err.println(Arguments.USAGE);
            return 2;
        }
        String doing = "%s on queue %s at %s".formatted(arguments.command().word(), arguments.queue(), arguments.redis());
        TimeLimit.start(arguments.limit(), doing);
        try (SharedQueue queue = SharedQueue.open(arguments)) {
            arguments.command().run(queue, new Lines(System.in, System.out), arguments);
            return 0;
        } catch (RedisConnectionException e) {
            System.err.println("delayed: " + doing + ": " + reason(e) + "; start a Redis there, or give another address");
            return 1;
        } catch (Exception e) {
            System.err.println("delayed: " + doing + ": " + reason(e));
            return 1;
        }
    }

    /** What is at the bottom of an error: the errors around it repeat it, or say less. */
    private static String reason(Throwable error) {
        if (error.getCause() != null) {
            return reason(error.getCause());
        }
        return error.getMessage() == null ? error.toString() : error.getMessage();
    }
}
