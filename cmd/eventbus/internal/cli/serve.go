package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/serve"
	"github.com/seed4933/eventbus/cmd/eventbus/internal/settings"
	"github.com/seed4933/eventbus/cmd/eventbus/internal/stop"
)

// tokenVariable holds the token of the admin service, where no file does.
const tokenVariable = "EVENTBUS_ADMIN_TOKEN"

const serveLong = `Run the bus with the handlers of the settings file (--config), and beside it the
HTTP side with /healthz and the Thrift admin service. When events are taken, one line "ready" goes to stderr.

The file is checked as a whole before anything begins. Topics that it names are
made where they are missing; of those that exist, the settings that the file
states are changed where they differ, and the others stay as they are. Relative
paths in it are relative to the working directory. Handlers of type log write to
stdout.

The HTTP side listens on ` + settings.DefaultListen + ` unless http.listen or --http says
otherwise; "" there means none. The Thrift admin service listens on ` + settings.DefaultAdmin + `,
or where admin.listen or --thrift says; on addresses that other machines reach only
with a token (admin.token or ` + tokenVariable + `) or with clients' certificates
(admin.tls with client_ca).

SIGTERM and Ctrl-C stop softly: no more events are taken, and running handlers
may end, for up to stop_timeout (30s). A second signal stops hard: their contexts
end, and their events run again elsewhere. A third ends the process at once. What
comes within half a second of a signal that has counted is the same one. The log
says when a stop begins and, with "stopped", when it has come to its end.

With --redis embedded a Redis runs inside the process. Its URL is printed to
stderr, and nothing in it outlives the process.`

const serveExample = `  # settings.yaml
  redis: redis://127.0.0.1:6379/0     # or embedded
  namespace: eventbus
  group: default
  concurrency: 64
  max_payload: 1048576                # greatest payload that is sent through here, in bytes; up to 67108864
  stop_timeout: 30s
  http: {listen: 127.0.0.1:8080}
  admin:
    listen: 127.0.0.1:9090
    token: ""                         # clients send it as "Authorization: Bearer …"
    tls: {cert: server.pem, key: server.key, client_ca: clients.pem}
  topics:
    - name: orders
      delivery: at_least_once         # or at_most_once
      wire: cloudevents               # or raw
      queue_key: ""                   # an existing list's key
      max_waiting: 0                  # 0: no limit
      concurrency: 0                  # 0: no limit
      dead_limit: 1000000             # -1: no limit
      dead_age: 2160h                 # -1: no limit
      redisson_order_list: false      # true: Java calls size, readAll, contains or remove
      redisson_old_clients: false     # true: Java's Redisson is older than 3.21.1
      handlers:
        - {id: archive, type: file, path: out.ndjson}
        - {id: print, type: log}
        - id: notify
          type: webhook
          url: http://127.0.0.1:9999/hook
          headers: {Authorization: Bearer secret}
          timeout: 10s
          concurrency: 0              # 0: no limit
          max_abandoned: 16
          retry: {max_attempts: 10, initial: 1s, max: 5m}
          breaker: {failures: 5, open: 30s}
        - id: bill                    # done by another process, a server of EventHandler
          type: thrift                # in thrift/eventbus.thrift; has the breaker above by default
          address: 127.0.0.1:9091
          framed: true                # false: Java's TThreadPoolServer on a plain TSocket
          protocol: binary            # or compact or header
          service: ""                 # its name in a TMultiplexedProcessor
          token: ""                   # sent as "authorization: Bearer …"; with protocol header
          # tls: {ca: ca.pem, cert: client.pem, key: client.key, server_name: billing}   # {}: the system's CAs

  eventbus serve --config settings.yaml`

// embeddedNote is what each command says of a server inside its process.
const embeddedNote = "embedded Redis: nothing in it outlives this process"

// serveFlags are those of serve alone.
type serveFlags struct {
	listen    string
	setListen bool
	thrift    string
	setThrift bool
	level     slog.Level
	logJSON   bool
}

func (a *app) serve() *cobra.Command {
	var f serveFlags
	var level, format string
	c := &cobra.Command{
		Use: "serve", Args: args(), Short: "Run the bus with the handlers of the settings file",
		Long: serveLong, Example: serveExample,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := a.refuseAdmin("serves on Redis itself"); err != nil {
				return err
			}
			if f.level.UnmarshalText([]byte(level)) != nil {
				return wrongUsage("--log-level is %q; debug, info, warn or error is right", level)
			}
			if format != "text" && format != "json" {
				return wrongUsage("--log-format is %q; text or json is right", format)
			}
			f.logJSON = format == "json"
			f.setListen = c.Flags().Changed("http")
			f.setThrift = c.Flags().Changed("thrift")
			if err := settings.CheckListen(f.listen, settings.DefaultListen, "HTTP side"); err != nil {
				return wrongUsage("--http: %w", err)
			}
			if err := settings.CheckListen(f.thrift, settings.DefaultAdmin, "Thrift admin service"); err != nil {
				return wrongUsage("--thrift: %w", err)
			}
			return a.runServe(c.Context(), f)
		},
	}
	c.Flags().StringVar(&f.listen, "http", "", `where the HTTP side listens, HOST:PORT; "" for none (default what the file says, or `+settings.DefaultListen+")")
	c.Flags().StringVar(&f.thrift, "thrift", "", `where the Thrift admin service listens, HOST:PORT; "" for none (default what the file says, or `+settings.DefaultAdmin+")")
	c.Flags().StringVar(&level, "log-level", "info", "debug, info, warn or error")
	c.Flags().StringVar(&format, "log-format", "text", "text or json")
	return c
}

func (a *app) runServe(ctx context.Context, f serveFlags) (err error) {
	options := &slog.HandlerOptions{Level: f.level}
	var handler slog.Handler = slog.NewTextHandler(a.env.Stderr, options)
	if f.logJSON {
		handler = slog.NewJSONHandler(a.env.Stderr, options)
	}
	log := slog.New(handler)
	hard, done := stop.Hard(ctx, func() { log.Info("still stopping: another signal stops hard") })
	defer done()
	c, err := a.choose()
	if err != nil {
		return err
	}
	r, err := reach(c.target)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if r.embedded != nil {
		fmt.Fprintf(a.env.Stderr, "%s; other commands reach it with --redis %s\n", embeddedNote, r.embedded.URL())
	}
	listen, thrift := c.file.HTTP.Listen, c.file.Admin.Listen
	if f.setListen {
		listen = f.listen
	}
	if f.setThrift {
		thrift = f.thrift
	}
	c.config.MaxPayload = c.file.MaxPayload
	token := c.file.Admin.Token
	if token == "" && thrift != "" {
		if token, err = a.tokenOfEnvironment(); err != nil {
			return err
		}
	}
	return serve.Run(ctx, hard, serve.Config{
		File: c.file, Bus: c.config, Redis: r.rdb, Listen: listen, Thrift: thrift, Token: token,
		Log: log, Stdout: a.env.Stdout, Address: a.where, Reach: a.reachFlags(),
		Ready: func() { fmt.Fprintln(a.env.Stderr, "ready") },
	})
}
