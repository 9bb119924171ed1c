package examples.thrift;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.github.seed4933.eventbus.v1.EventAdmin;
import io.github.seed4933.eventbus.v1.EventBus;
import io.github.seed4933.eventbus.v1.FailureSelection;
import io.github.seed4933.eventbus.v1.Job;
import io.github.seed4933.eventbus.v1.Message;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TMultiplexedProtocol;
import org.apache.thrift.protocol.TProtocol;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.layered.TFramedTransport;

/** The first calls of a client, as the README of the project shows them: {@code FirstCalls HOST PORT}. */
public final class FirstCalls {
    private FirstCalls() {}

    public static void main(String[] args) throws Exception {
        String host = args[0];
        int port = Integer.parseInt(args[1]);

        TProtocol p = new TBinaryProtocol(new TFramedTransport(new TSocket(host, port, 15_000)));
        p.getTransport().open();
        EventAdmin.Client admin = new EventAdmin.Client(new TMultiplexedProtocol(p, "EventAdmin"));
        EventBus.Client bus = new EventBus.Client(new TMultiplexedProtocol(p, "EventBus"));
        bus.send("orders", new Message().setPayload("{\"id\":1}".getBytes(UTF_8)));
        admin.disableTopic("orders");                                          // holds from its return
        Job job = admin.replayFailures(new FailureSelection("orders", "").setAll(true)); // getJob, cancelJob

        p.getTransport().close();
        System.out.println(job.getKind() + " " + job.getState());
    }
}
