package examples.delayed;

import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** What the command line asks for. */
record Arguments(
        Command command, String redis, String queue, int count, ElementType type, boolean transfer, Duration limit) {

    static final String USAGE =
            """
            usage: java -jar delayed.jar COMMAND REDIS QUEUE [OPTIONS]
              COMMAND   offer     delay each event of standard input: {"payload":"...","delayMillis":500}
                        take      take events from the queue
                        exchange  offer and take at once, until standard input ends
                        list      show the delayed events in the order of their offers
                        remove    cancel each delayed event of standard input: {"payload":"..."}
              REDIS     address, such as redis://127.0.0.1:6379
              QUEUE     key of the queue, such as eventbus:{orders}:queue:default
              --count N     how many events take takes before it ends (default 1)
              --type T      string, bytes or json: how payloads are encoded (default string)
              --transfer    take, list and remove move due events, too, as offer and exchange always do
              --seconds N   the program fails when it has not ended by then (default 60)""";

    static Arguments parse(String[] args) throws UsageException {
        List<String> places = new ArrayList<>();
        int count = 1;
        int seconds = 60;
        ElementType type = ElementType.STRING;
        boolean transfer = false;
        for (int i = 0; i < args.length; i++) {
            switch (args[i]) {
                case "--count" -> count = positive(args, ++i);
                case "--seconds" -> seconds = positive(args, ++i);
                case "--type" -> type = ElementType.parse(value(args, ++i));
                case "--transfer" -> transfer = true;
                default -> {
                    if (args[i].startsWith("-")) {
                        throw new UsageException("there is no option " + args[i]);
                    }
                    places.add(args[i]);
                }
            }
        }
        if (places.size() != 3) {
            throw new UsageException("COMMAND, REDIS and QUEUE are needed, got " + places);
        }
        return new Arguments(
                Command.parse(places.get(0)), address(places.get(1)), places.get(2), count, type, transfer,
                Duration.ofSeconds(seconds));
    }

    private static String value(String[] args, int i) throws UsageException {
        if (i == args.length) {
            throw new UsageException("option " + args[i - 1] + " needs a value");
        }
        return args[i];
    }

    private static int positive(String[] args, int i) throws UsageException {
        String text = value(args, i);
        try {
            int number = Integer.parseInt(text);
            if (number > 0) {
                return number;
            }
        } catch (NumberFormatException e) {
            // told below, as for a number that is too small
        }
        throw new UsageException("option %s needs a whole number of 1 or more, got %s".formatted(args[i - 1], text));
    }

    private static String address(String text) throws UsageException {
        try {
            URI uri = URI.create(text);
            boolean scheme = "redis".equals(uri.getScheme()) || "rediss".equals(uri.getScheme());
            if (scheme && uri.getHost() != null && uri.getPort() > 0) {
                return text;
            }
        } catch (IllegalArgumentException e) {
            // told below
        }
        throw new UsageException("REDIS must be like redis://127.0.0.1:6379, got " + text);
    }
}
