package examples.delayed;

/** The command line is wrong; the message says in what, and what would be right. */
final class UsageException extends Exception {
    private static final long serialVersionUID = 1;

    UsageException(String message) {
        super(message);
    }
}
