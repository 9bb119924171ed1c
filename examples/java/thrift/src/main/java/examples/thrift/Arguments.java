package examples.thrift;

/** What both programs are told on the command line. */
record Arguments(String host, int port, String token, boolean framed, boolean compact, boolean tls) {

    static final String USAGE =
            """
              HOST:PORT   where the server listens
              --unframed  messages without frames (default: in frames)
              --compact   the compact protocol (default: the binary one)""";

    static final String CLIENT_USAGE =
            USAGE
                    + """

              --token T   sends T with every call, which goes over HTTP then
              --tls       TLS; -Djavax.net.ssl.trustStore=FILE says whom to trust""";

    static Arguments parse(String[] args) throws UsageException {
        String address = null;
        String token = null;
        boolean framed = true;
        boolean compact = false;
        boolean tls = false;
        for (int i = 0; i < args.length; i++) {
            switch (args[i]) {
                case "--unframed" -> framed = false;
                case "--compact" -> compact = true;
                case "--tls" -> tls = true;
                case "--token" -> {
                    if (++i == args.length) {
                        throw new UsageException("option --token needs a value");
                    }
                    token = args[i];
                }
                default -> {
                    if (address != null || args[i].startsWith("-")) {
                        throw new UsageException("there is no option " + args[i]);
                    }
                    address = args[i];
                }
            }
        }
        int colon = address == null ? -1 : address.lastIndexOf(':');
        if (colon <= 0) {
            throw new UsageException("HOST:PORT is needed, got " + address);
        }
        try {
            return new Arguments(
                    address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)), token, framed, compact, tls);
        } catch (NumberFormatException e) {
            throw new UsageException("HOST:PORT is needed, got " + address);
        }
    }

    @Override
    public String toString() {
        return host + ":" + port;
    }
}
