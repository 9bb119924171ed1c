package examples.thrift;

import io.github.seed4933.eventbus.v1.EventHandler;
import java.net.InetSocketAddress;
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

    /** Less than whoever ends this process waits before it does so by force. */
    private static final int STOP_SECONDS = 5;

    private HostedHandler() {}

    public static void main(String[] args) {
        try {
            Arguments arguments = Arguments.parse(args);
            if (arguments.tls() || arguments.token() != null) {
                throw new UsageException("--tls and --token are for clients");
            }
            StoppableHandler handler = new StoppableHandler(new HandlerAdapter(new Billing()), THREADS);
            TServer server = server(arguments, handler);
            Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(handler)));
            System.out.println("serving on " + arguments);
            server.serve();
        } catch (UsageException e) {
            System.err.println("HostedHandler: " + e.getMessage());
            System.err.println("usage: java -cp thrift.jar examples.thrift.HostedHandler HOST:PORT [OPTIONS]\n" + Arguments.USAGE);
            System.exit(2);
        } catch (TTransportException e) {
            System.err.println("HostedHandler: " + e.getMessage());
            System.exit(1);
        }
    }

    /** Runs at SIGTERM. The process ends with its return, and the server with that. */
    private static void stop(StoppableHandler handler) {
        System.out.println("stopping");
        try {
            handler.stop(STOP_SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
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
                    .maxWorkerThreads(THREADS));
        }
        // In the bus's settings: framed: false. Each connection has a thread to itself.
        return new TThreadPoolServer(new TThreadPoolServer.Args(new TServerSocket(address))
                .processor(processor)
                .protocolFactory(protocol)
                .maxWorkerThreads(THREADS));
    }
}
