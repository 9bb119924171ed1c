package examples.delayed;

import java.util.Locale;

/** What the program can do with a queue. */
enum Command {
    OFFER(new Offer()),
    TAKE(new Take()),
    EXCHANGE(new Exchange()),
    LIST(new ListDelayed()),
    REMOVE(new Remove());

    /** One command's work; it ends by itself, or with the input, or is ended by {@link TimeLimit}. */
    interface Action {
        void run(SharedQueue queue, Lines lines, Arguments arguments) throws Exception;
    }

    private final Action action;

    Command(Action action) {
        this.action = action;
    }

    void run(SharedQueue queue, Lines lines, Arguments arguments) throws Exception {
        action.run(queue, lines, arguments);
    }

    /** The command as it is written on the command line. */
    String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Whether the command always keeps a delayed queue, whatever is asked for. */
    boolean offers() {
        return this == OFFER || this == EXCHANGE;
    }

    static Command parse(String word) throws UsageException {
        for (Command command : values()) {
            if (command.word().equals(word)) {
                return command;
            }
        }
        throw new UsageException("COMMAND must be offer, take, exchange, list or remove, got " + word);
    }
}
