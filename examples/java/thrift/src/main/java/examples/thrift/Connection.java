package examples.thrift;

import io.github.seed4933.eventbus.v1.EventAdmin;
import io.github.seed4933.eventbus.v1.EventBus;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TCompactProtocol;
import org.apache.thrift.protocol.TMultiplexedProtocol;
import org.apache.thrift.protocol.TProtocol;
import org.apache.thrift.transport.THttpClient;
import org.apache.thrift.transport.TSSLTransportFactory;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.TTransport;
import org.apache.thrift.transport.TTransportException;
import org.apache.thrift.transport.layered.TFramedTransport;

/**
 * A connection to a server of the bus, and clients of both its services. The server finds out by
 * itself which transport and protocol a client speaks. As all of Thrift's clients it is for one
 * thread at a time, and after a {@link TTransportException} it is of no more use: open another.
 */
final class Connection implements AutoCloseable {
    private static final int TIMEOUT_MILLIS = 15_000;

    private final TTransport transport;
    private final TProtocol protocol;

    private Connection(TTransport transport, boolean compact) {
        this.transport = transport;
        this.protocol = compact ? new TCompactProtocol(transport) : new TBinaryProtocol(transport);
    }

    static Connection open(Arguments a) throws TTransportException {
        TTransport transport = a.token() == null ? socket(a) : http(a);
        if (!transport.isOpen()) {
            transport.open();
        }
        return new Connection(transport, a.compact());
    }

    /** A plain socket has no place for a token. */
    private static TTransport socket(Arguments a) throws TTransportException {
        TTransport socket =
                a.tls() ? tls(a) : new TSocket(a.host(), a.port(), TIMEOUT_MILLIS);
        return a.framed() ? new TFramedTransport(socket) : socket;
    }

    private static TSocket tls(Arguments a) throws TTransportException {
        TSocket socket = TSSLTransportFactory.getClientSocket(a.host(), a.port(), TIMEOUT_MILLIS);
        SSLSocket ssl = (SSLSocket) socket.getSocket();
        SSLParameters parameters = ssl.getSSLParameters();
        // Else Thrift takes a certificate of any name.
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        ssl.setSSLParameters(parameters);
        return socket;
    }

    @SuppressWarnings("deprecation") // of setReadTimeout, for those that bring a client of Apache's
    private static TTransport http(Arguments a) throws TTransportException {
        String url = (a.tls() ? "https://" : "http://") + a + "/thrift";
        THttpClient http = new THttpClient(url);
        http.setConnectTimeout(TIMEOUT_MILLIS);
        http.setReadTimeout(TIMEOUT_MILLIS);
        http.setCustomHeader("Authorization", "Bearer " + a.token());
        return http;
    }

    EventAdmin.Iface admin() {
        return new EventAdmin.Client(new TMultiplexedProtocol(protocol, "EventAdmin"));
    }

    EventBus.Iface bus() {
        return new EventBus.Client(new TMultiplexedProtocol(protocol, "EventBus"));
    }

    @Override
    public void close() {
        transport.close();
    }
}
