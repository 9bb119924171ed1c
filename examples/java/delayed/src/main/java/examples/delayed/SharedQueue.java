package examples.delayed;

import com.fasterxml.jackson.core.JsonProcessingException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RBlockingQueue;
import org.redisson.api.RDelayedQueue;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * A queue that this program shares with the bus, and the delayed queue in front of it.
 *
 * <p>While a delayed queue is open, Redisson moves what is due to the queue, whoever sent it. A
 * program that opens only the queue relies on others for that.
 */
@SuppressWarnings("deprecation") // Redisson 4 deprecates RDelayedQueue for a class of its paid edition
final class SharedQueue implements AutoCloseable {
    private final RedissonClient redisson;
    private final ElementType type;
    private final RBlockingQueue<Object> queue;
    private final String name;
    private RDelayedQueue<Object> delayed; // null until needed

    private SharedQueue(RedissonClient redisson, String name, ElementType type) {
        this.redisson = redisson;
        this.name = name;
        this.type = type;
        this.queue = redisson.getBlockingQueue(name, type.codec());
    }

    static SharedQueue open(Arguments arguments) {
        SharedQueue opened =
                new SharedQueue(connect(arguments), arguments.queue(), arguments.type());
        if (arguments.transfer() || arguments.command().offers()) {
            opened.delayed();
        }
        return opened;
    }

    private static RedissonClient connect(Arguments arguments) {
        Config config = new Config();
        // Never left to the default, which writes what only Java can read.
        config.setCodec(arguments.type().codec());
        config.setThreads(2).setNettyThreads(2);
        config.useSingleServer()
                .setAddress(arguments.redis())
                .setConnectTimeout(5_000)
                .setTimeout(5_000)
                .setConnectionMinimumIdleSize(1)
                .setConnectionPoolSize(4)
                .setSubscriptionConnectionMinimumIdleSize(1)
                .setSubscriptionConnectionPoolSize(2);
        return Redisson.create(config);
    }

    /** Lets the payload come into the queue after that time. */
    void offer(String payload, long delayMillis) throws JsonProcessingException {
        delayed().offer(type.element(payload), delayMillis, TimeUnit.MILLISECONDS);
    }

    /** The next payload of the queue, or none when there is none for that time. */
    Optional<String> poll(long millis) throws InterruptedException, JsonProcessingException {
        Object element = queue.poll(millis, TimeUnit.MILLISECONDS);
        return element == null ? Optional.empty() : Optional.of(type.payload(element));
    }

    int delayedSize() {
        return delayed().size();
    }

    List<String> delayedPayloads() throws JsonProcessingException {
        List<String> payloads = new ArrayList<>();
        for (Object element : delayed().readAll()) {
            payloads.add(type.payload(element));
        }
        return payloads;
    }

    /** Cancels one delayed event of that payload; false when there is none. */
    boolean remove(String payload) throws JsonProcessingException {
        return delayed().remove(type.element(payload));
    }

    @Override
    public void close() {
        if (delayed != null) {
            delayed.destroy();
        }
        redisson.shutdown(0, 2, TimeUnit.SECONDS); // nothing is under way: no quiet period
    }

    private RDelayedQueue<Object> delayed() {
        if (delayed == null) {
            delayed = redisson.getDelayedQueue(queue);
        }
        return delayed;
    }
}
