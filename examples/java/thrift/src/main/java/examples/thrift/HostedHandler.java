package examples.thrift;

import io.github.seed4933.eventbus.v1.EventHandler;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TCompactProtocol;
import org.apache.thrift.protocol.TProtocolFactory;
import org.apache.thrift.server.THsHaServer;
import org.apache.thrift.server.TServer;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.transport.TNonblockingServerSocket;
import org.apache.thrift.transport.TServerSocket;
import org.apache.thrift.transport.TTransportException;

/** Serves {@link Billing} for the bus, whose process calls it for each event. */
public final class HostedHandler {
    /** At least as many as the handler's concurrency in the bus's settings. */
    private static final int THREADS = 16;

    private static final int STOP_SECONDS = 5;

    private HostedHandler() {}

    public static void main(String[] args) {
        try {
            Arguments arguments = Arguments.parse(args);
            if (arguments.tls() || arguments.token() != null) {
                throw new WrongUse("--tls and --token are for clients");
            }
            TServer server = server(arguments, new HandlerAdapter(new Billing()));
            Runtime.getRuntime().addShutdownHook(new Thread(server::stop));
            System.out.println("serving on " + arguments);
            server.serve();
        } catch (WrongUse e) {
            System.err.println("HostedHandler: " + e.getMessage());
            System.err.println("usage: java -cp thrift.jar examples.thrift.HostedHandler HOST:PORT [OPTIONS]\n" + Arguments.USAGE);
            System.exit(2);
        } catch (TTransportException e) {
            System.err.println("HostedHandler: " + e.getMessage());
            System.exit(1);
        }
    }

    private static TServer server(Arguments a, EventHandler.Iface handler) throws TTransportException {
        EventHandler.Processor<EventHandler.Iface> processor = new EventHandler.Processor<>(handler);
        TProtocolFactory protocol = a.compact() ? new TCompactProtocol.Factory() : new TBinaryProtocol.Factory();
        InetSocketAddress address = new InetSocketAddress(a.host(), a.port());
        if (a.framed()) {
            // Its messages are in frames always. The bus's default is this, with the binary protocol.
            return new THsHaServer(new THsHaServer.Args(new TNonblockingServerSocket(address))
                    .processor(processor)
                    .protocolFactory(protocol)
                    .minWorkerThreads(THREADS)
                    .maxWorkerThreads(THREADS)
                    .stopTimeoutVal(STOP_SECONDS));
        }
        // In the bus's settings: framed: false. Each connection has a thread to itself.
        return new TThreadPoolServer(new TThreadPoolServer.Args(new TServerSocket(address))
                .processor(processor)
                .protocolFactory(protocol)
                .maxWorkerThreads(THREADS)
                .stopTimeoutVal(STOP_SECONDS)
                .stopTimeoutUnit(TimeUnit.SECONDS));
    }
}
