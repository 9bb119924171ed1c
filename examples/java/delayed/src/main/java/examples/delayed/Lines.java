package examples.delayed;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/** JSON objects, one a line, in and out. Lines may be written from several threads. */
final class Lines {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private final BufferedReader in;
    private final OutputStream out;
    private int number;

    Lines(InputStream in, OutputStream out) {
        this.in = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
        this.out = out;
    }

    /** The next object, or null at the end of the input. */
    <T> T read(Class<T> type) throws IOException {
        String line = in.readLine();
        if (line == null) {
            return null;
        }
        number++;
        try {
            return MAPPER.readValue(line, type);
        } catch (JsonProcessingException e) {
            throw new IOException(
                    "line %d of the input is not as the command needs it, which the program tells without arguments: %s".formatted(number, e.getOriginalMessage()));
        }
    }

    /** Writes an object so that whoever reads along sees it at once. */
    synchronized void write(Object object) throws IOException {
        out.write(MAPPER.writeValueAsBytes(object));
        out.write('\n');
        out.flush();
    }
}
