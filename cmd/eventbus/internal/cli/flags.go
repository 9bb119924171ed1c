package cli

import (
	"cmp"

	"github.com/spf13/pflag"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/redisurl"
	"github.com/seed4933/eventbus/cmd/eventbus/internal/settings"
	"github.com/seed4933/eventbus/eventbus"
)

// Environment variables.
const (
	envRedis     = "EVENTBUS_REDIS"
	envNamespace = "EVENTBUS_NAMESPACE"
	envGroup     = "EVENTBUS_GROUP"
	envConfig    = "EVENTBUS_CONFIG"
)

const defaultRedis = "redis://127.0.0.1:6379/0"

// flags are those that all commands have.
type flags struct {
	set *pflag.FlagSet

	redis, namespace, group, config, output string

	admin adminFlags
}

func (f *flags) register(set *pflag.FlagSet) {
	f.set = set
	set.StringVar(&f.redis, "redis", "", "URL of Redis ("+envRedis+"; default "+defaultRedis+`):
redis://[USER:PASSWORD@]HOST:PORT/DB, rediss:// for TLS
(SSL_CERT_FILE names authorities of your own),
unix:///PATH, redis://HOST1:PORT,HOST2:PORT for a Cluster,
redis-sentinel://HOST1,HOST2/DB?master=NAME, or embedded`)
	set.StringVar(&f.namespace, "namespace", "", "first part of all keys ("+envNamespace+"; default "+eventbus.DefaultNamespace+")")
	set.StringVar(&f.group, "group", "", "group of consumers ("+envGroup+"; default "+eventbus.DefaultGroup+", with --admin the server's)")
	set.StringVar(&f.config, "config", "", "settings file, YAML ("+envConfig+")")
	f.admin.register(set)
	set.StringVarP(&f.output, "output", "o", "table", "table, or json: one object a line")
}

// chosen is what flags, environment and file say together.
type chosen struct {
	target redisurl.Target
	config eventbus.Config // namespace, group
	file   *settings.File  // never nil
}

// choose reads them in their order, flag, environment, file, default, for a command
// that works on Redis itself.
func (a *app) choose() (chosen, error) {
	c, err := a.chooseNames()
	if err != nil {
		return c, err
	}
	return c, a.chooseRedis(&c)
}

func (a *app) chooseNames() (c chosen, err error) {
	if c.file, err = a.file(); err != nil {
		return c, err
	}
	if c.config.Namespace, a.origin.namespace, err = a.pick("namespace", a.flags.namespace, envNamespace, c.file.Namespace); err != nil {
		return c, err
	}
	c.config.Group, a.origin.group, err = a.pick("group", a.flags.group, envGroup, c.file.Group)
	return c, err
}

func (a *app) chooseRedis(c *chosen) error {
	address, origin, err := a.pick("redis", a.flags.redis, envRedis, c.file.Redis)
	if err != nil {
		return err
	}
	if address == "" {
		address, origin = defaultRedis, ""
	}
	if c.target, err = redisurl.Parse(address); err != nil {
		return wrongUsage("%s: %w", origin, err) // the file's was checked when it was read
	}
	a.target, a.where = c.target, c.target.String()+", namespace "+cmp.Or(c.config.Namespace, eventbus.DefaultNamespace)
	return nil
}

func (a *app) file() (*settings.File, error) {
	path, _, err := a.pick("config", a.flags.config, envConfig, "")
	if err != nil {
		return nil, err
	}
	if path == "" {
		return &settings.File{HTTP: settings.HTTP{Listen: settings.DefaultListen}}, nil
	}
	return settings.Load(path)
}

// pick returns the first that is set, and what set it. An empty environment
// variable counts as not set; an empty flag is a mistake.
func (a *app) pick(name, flag, env, file string) (value, origin string, err error) {
	if a.flags.set.Changed(name) {
		if flag == "" {
			return "", "", wrongUsage("--%s is empty; give a value or leave it out", name)
		}
		return flag, "--" + name, nil
	}
	if value := a.env.Getenv(env); value != "" {
		return value, env, nil
	}
	return file, a.flags.config, nil
}
