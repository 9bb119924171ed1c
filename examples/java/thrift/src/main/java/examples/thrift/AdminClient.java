package examples.thrift;

import io.github.seed4933.eventbus.v1.AlreadyExists;
import io.github.seed4933.eventbus.v1.Conflict;
import io.github.seed4933.eventbus.v1.DelayedEvent;
import io.github.seed4933.eventbus.v1.Disabled;
import io.github.seed4933.eventbus.v1.EventAdmin;
import io.github.seed4933.eventbus.v1.EventBus;
import io.github.seed4933.eventbus.v1.Failure;
import io.github.seed4933.eventbus.v1.FailurePage;
import io.github.seed4933.eventbus.v1.FailureQuery;
import io.github.seed4933.eventbus.v1.FailureSelection;
import io.github.seed4933.eventbus.v1.HandlerRef;
import io.github.seed4933.eventbus.v1.HandlerUpdate;
import io.github.seed4933.eventbus.v1.InvalidArgument;
import io.github.seed4933.eventbus.v1.Job;
import io.github.seed4933.eventbus.v1.JobState;
import io.github.seed4933.eventbus.v1.Message;
import io.github.seed4933.eventbus.v1.NotFound;
import io.github.seed4933.eventbus.v1.Page;
import io.github.seed4933.eventbus.v1.Stats;
import io.github.seed4933.eventbus.v1.Topic;
import io.github.seed4933.eventbus.v1.TopicSettings;
import io.github.seed4933.eventbus.v1.TopicUpdate;
import io.github.seed4933.eventbus.v1.Unauthenticated;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import org.apache.thrift.TException;

/**
 * A tour of what operators do, over Thrift. It makes a topic {@value #TOPIC} and removes it in the
 * end; failures it makes on the topic {@value #HANDLED}, whose handler {@value #HANDLER} runs in the
 * server that it talks to.
 */
public final class AdminClient {
    private static final String TOPIC = "receipts";
    private static final String HANDLED = "invoices";
    private static final String HANDLER = "bill";

    /** The group of the server. */
    private static final String GROUP = "";

    private static final int INVOICES = 5;
    private static final long PATIENCE_MILLIS = 20_000;

    private final EventAdmin.Iface admin;
    private final EventBus.Iface bus;

    private AdminClient(Connection connection) {
        this.admin = connection.admin();
        this.bus = connection.bus();
    }

    public static void main(String[] args) {
        System.exit(run(args));
    }

    private static int run(String[] args) {
        try {
            Arguments arguments = Arguments.parse(args);
            try (Connection connection = Connection.open(arguments)) {
                new AdminClient(connection).tour();
            }
            return 0;
        } catch (UsageException e) {
            System.err.println("AdminClient: " + e.getMessage());
            System.err.println("usage: java -cp thrift.jar examples.thrift.AdminClient HOST:PORT [OPTIONS]\n" + Arguments.CLIENT_USAGE);
            return 2;
        } catch (Unauthenticated e) {
            System.err.println("AdminClient: the server refuses the token: " + e.getMessage());
            return 1;
        } catch (Exception e) {
            System.err.println("AdminClient: " + e);
            return 1;
        }
    }

    private void tour() throws Exception {
        admin.ping();
        topics();
        sending();
        switching();
        delayed();
        mistakes();
        handlers();
        failures();
        replay();
        stats(HANDLED);
        admin.resetHandler(bill());
        admin.deleteTopic(TOPIC);
        System.out.printf("deleted %s%n", TOPIC);
    }

    private void topics() throws TException {
        Topic topic = admin.createTopic(TOPIC, new TopicSettings().setMax_waiting(1000));
        System.out.printf("created %s: %s, %s, at most %d waiting%n", topic.getName(), topic.getDelivery(), topic.getWire(), topic.getMax_waiting());
        try {
            admin.createTopic(TOPIC, new TopicSettings());
        } catch (AlreadyExists e) {
            System.out.printf("AlreadyExists %s: %s%n", e.getCode(), e.getMessage());
        }
        long seen = topic.getRevision();
        topic = admin.updateTopic(TOPIC, new TopicUpdate().setMax_waiting(100).setIf_revision(seen));
        System.out.printf("changed %s: at most %d waiting%n", topic.getName(), topic.getMax_waiting());
        try {
            admin.updateTopic(TOPIC, new TopicUpdate().setMax_waiting(10).setIf_revision(seen));
        } catch (Conflict e) {
            System.out.printf("Conflict %s: %s%n", e.getCode(), e.getMessage());
        }
    }

    private void sending() throws TException {
        String now = bus.send(TOPIC, message("{\"receipt\":1}").setId("r-1").setHeaders(Map.of("tenant", "7")));
        String later = bus.sendDelayed(TOPIC, message("{\"receipt\":2}").setId("r-2"), 3_600_000);
        List<String> batch =
                bus.sendBatch(TOPIC, List.of(message("{\"receipt\":3}").setId("r-3"), message("{\"receipt\":4}").setId("r-4")));
        System.out.printf("sent %s now, %s delayed, %s in one step%n", now, later, batch);
        stats(TOPIC);
    }

    private void switching() throws TException {
        admin.disableTopic(TOPIC);
        try {
            bus.send(TOPIC, message("{\"receipt\":5}"));
        } catch (Disabled e) {
            System.out.printf("Disabled %s: %s%n", e.getCode(), e.getMessage());
        }
        admin.enableTopic(TOPIC);
        System.out.printf("sent %s after the topic was enabled%n", bus.send(TOPIC, message("{\"receipt\":5}").setId("r-5")));
    }

    private void delayed() throws TException {
        for (DelayedEvent event : admin.listDelayed(TOPIC, GROUP, new Page()).getEvents()) {
            System.out.printf("delayed: %s, due at %d%n", event.getId(), event.getDue_at_ms());
        }
        System.out.printf("cancelled r-2 in %s%n", admin.cancelDelayed(TOPIC, "r-2"));
        try {
            admin.cancelDelayed(TOPIC, "r-2");
        } catch (NotFound e) {
            System.out.printf("NotFound %s: %s%n", e.getCode(), e.getMessage());
        }
    }

    private void mistakes() throws TException {
        try {
            admin.getTopic("reciepts");
        } catch (NotFound e) {
            System.out.printf("NotFound %s: %s%n", e.getCode(), e.getMessage());
        }
        try {
            admin.updateTopic(TOPIC, new TopicUpdate().setConcurrency(-1));
        } catch (InvalidArgument e) {
            System.out.printf("InvalidArgument %s in %s: %s%n", e.getCode(), e.getField(), e.getReason());
        }
    }

    private void handlers() throws TException {
        // One attempt, so that what fails is dead at once.
        HandlerUpdate update = new HandlerUpdate().setTimeout_ms(2_000).setMax_attempts(1);
        long revision = admin.updateHandler(bill(), update);
        System.out.printf("handler %s now has %d ms and 1 attempt, at revision %d%n", HANDLER, update.getTimeout_ms(), revision);
    }

    /** Sends what the handler does not handle, and lists it page by page. */
    private void failures() throws Exception {
        // The processes that run the handler follow within a second.
        await("the handler's new settings", () -> admin.getHandler(bill()).getSettings().getTimeout_ms() == 2_000);
        for (int i = 1; i <= INVOICES; i++) {
            bus.send(HANDLED, message("{\"invoice\":" + i + "}").setId("i-" + i));
        }
        await("failures", () -> admin.countFailures(HANDLED, GROUP).getDead() >= INVOICES);
        Page page = new Page().setLimit(2);
        FailurePage failures;
        do {
            failures = admin.listFailures(new FailureQuery().setTopic(HANDLED).setHandler(HANDLER).setPage(page));
            System.out.printf("a page of %d failures%n", failures.getFailuresSize());
            for (Failure f : failures.getFailures()) {
                String payload = text(admin.getFailure(HANDLED, GROUP, f.getId()).getEvent().getPayload());
                System.out.printf("failure of %s: %s after %d attempts: %s: %s%n", f.getEvent_id(), f.getReason(), f.getAttempts(), f.getError(), payload);
            }
            page.setCursor(failures.getNext_cursor());
        } while (!failures.getNext_cursor().isEmpty());
    }

    private void replay() throws Exception {
        Job job = admin.replayFailures(new FailureSelection().setTopic(HANDLED).setAll(true));
        String id = job.getId();
        await("the end of the job", () -> admin.getJob(id).getState() != JobState.RUNNING);
        job = admin.getJob(id);
        System.out.printf("%s of %s is %s: %d of %d moved%n", job.getKind(), job.getTopic(), job.getState(), job.getMoved(), job.getTotal());
        // A job that runs ends before its next step; this one has ended, and stays as it is.
        System.out.printf("cancelled too late: %s%n", admin.cancelJob(id).getState());
    }

    private void stats(String topic) throws TException {
        for (Stats s : admin.getStats(topic)) {
            System.out.printf("stats of %s, group %s: %d waiting, %d delayed, %d sent, %d replayed%n",
                    s.getTopic(), s.getGroup(), s.getWaiting(), s.getDelayed(), s.getSent(), s.getReplayed());
        }
    }

    private static HandlerRef bill() {
        return new HandlerRef(HANDLED, GROUP, HANDLER);
    }

    private static Message message(String json) {
        return new Message().setPayload(json.getBytes(StandardCharsets.UTF_8));
    }

    private static String text(byte[] payload) {
        return new String(payload, StandardCharsets.UTF_8);
    }

    private interface Condition {
        boolean holds() throws TException;
    }

    private static void await(String what, Condition condition) throws Exception {
        for (long end = System.currentTimeMillis() + PATIENCE_MILLIS; !condition.holds(); Thread.sleep(50)) {
            if (System.currentTimeMillis() > end) {
                throw new TimeoutException("waited " + PATIENCE_MILLIS + " ms for " + what + " in vain");
            }
        }
    }
}
