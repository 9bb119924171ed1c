package examples.thrift;

/** The command line is wrong; the message says how. */
final class WrongUse extends Exception {
    private static final long serialVersionUID = 1L;

    WrongUse(String message) {
        super(message);
    }
}
