package redisurl

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// known lists for each kind the parameters that have an effect. The others of
// go-redis concern pools and deadlines, which the bus sets itself: to take them
// would be to ignore them.
var known = map[kind][]string{
	single:   {"db", "protocol", "client_name"},
	socket:   {"db", "protocol", "client_name"},
	cluster:  {"protocol", "client_name"},
	sentinel: {"db", "protocol", "client_name", "master", "sentinel_username", "sentinel_password"},
}

// split takes an address apart by hand: several hosts are nothing that
// net/url knows, and its errors quote what may be a password.
func split(address string) (*parts, error) {
	p := &parts{}
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return nil, p.wrong("is not a URL; right are: %s", forms)
	}
	switch scheme {
	case "redis", "rediss":
	case "unix":
		p.kind = socket
	case "redis-sentinel", "rediss-sentinel":
		p.kind = sentinel
	default:
		return nil, p.wrong("has an unknown scheme; right are: %s", forms)
	}
	p.scheme = scheme
	rest, query, _ := strings.Cut(rest, "?")
	authority, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	if strings.Contains(path+query, "@") || strings.Contains(address, "#") {
		return nil, p.wrong("does not parse; write the characters / ? # @ : %% of a user or password as %%2F %%3F %%23 %%40 %%3A %%25")
	}
	if err := p.readUser(&authority); err != nil {
		return nil, err
	}
	if err := p.readQuery(query); err != nil {
		return nil, err
	}
	if p.kind == socket {
		return p, p.readSocket(authority, path)
	}
	if err := p.readHosts(authority); err != nil {
		return nil, err
	}
	if err := p.readDB(strings.TrimPrefix(path, "/")); err != nil {
		return nil, err
	}
	return p, p.credentials()
}

func (p *parts) readUser(authority *string) error {
	i := strings.LastIndexByte(*authority, '@')
	if i < 0 {
		return nil
	}
	info := (*authority)[:i]
	*authority = (*authority)[i+1:]
	name, password, hasPassword := strings.Cut(info, ":")
	name, errName := url.PathUnescape(name)
	password, errPassword := url.PathUnescape(password)
	if errName != nil || errPassword != nil {
		return p.wrong("has a user or password in which a %% is not followed by two hexadecimal digits; write the character %% as %%25")
	}
	p.user = url.User(name)
	if hasPassword {
		p.user = url.UserPassword(name, password)
	}
	return nil
}

func (p *parts) readQuery(text string) error {
	q, err := url.ParseQuery(text)
	if err != nil {
		return p.wrong("has parameters that do not parse; ?name=value&name=value is right")
	}
	p.query = q
	return nil
}

func (p *parts) checkQuery(extra ...string) error {
	allowed := append(slices.Clone(known[p.kind]), extra...)
	for name, values := range p.query {
		if !slices.Contains(allowed, name) {
			return p.wrong("has the unknown parameter %q; right are: %s", name, strings.Join(allowed, ", "))
		}
		if len(values) > 1 {
			return p.wrong("has the parameter %q twice", name)
		}
	}
	return nil
}

func (p *parts) readSocket(authority, path string) error {
	if authority != "" || path == "" || path == "/" {
		return p.wrong("must name a socket by its absolute path: unix:///run/redis.sock")
	}
	plain, err := url.PathUnescape(path)
	if err != nil {
		return p.wrong("has a path in which a %% is not followed by two hexadecimal digits; write the character %% as %%25")
	}
	p.path = plain
	if err := p.checkQuery(); err != nil {
		return err
	}
	return p.readDB("")
}

func (p *parts) readHosts(authority string) error {
	port := "6379"
	if p.kind == sentinel {
		port = "26379"
	}
	for host := range strings.SplitSeq(authority, ",") {
		full, ok := withPort(host, port)
		if !ok {
			return p.wrong("has a host that is not HOST or HOST:PORT with a port from 1 to 65535; right are: %s", forms)
		}
		p.hosts = append(p.hosts, full)
	}
	if p.kind == single && len(p.hosts) > 1 {
		p.kind = cluster
	}
	extra := []string{}
	if strings.HasPrefix(p.scheme, "rediss") && p.kind != cluster {
		extra = append(extra, "skip_verify")
	}
	return p.checkQuery(extra...)
}

// readDB reads the database's number from the path or the parameter db.
func (p *parts) readDB(path string) error {
	p.db = path
	if param := p.query.Get("db"); param != "" {
		p.db = param
	}
	if p.db == "" {
		return nil
	}
	n, err := strconv.ParseUint(p.db, 10, 16)
	if err != nil {
		return p.wrong("must end in the number of a database, such as /0")
	}
	if p.kind == cluster && n != 0 {
		return p.wrong("names several hosts and database %d; a Cluster has database 0 only", n)
	}
	if p.kind == cluster {
		p.db = ""
	}
	return nil
}

// credentials moves those of a Sentinel address to where go-redis wants them:
// what stands before the hosts is for the Redis server, as in every address.
func (p *parts) credentials() error {
	if p.kind != sentinel {
		return nil
	}
	master := p.query.Get("master")
	if master == "" {
		return p.wrong("must name the master that the Sentinels watch: redis-sentinel://HOST1,HOST2/DB?master=NAME")
	}
	p.query.Set("master_name", master)
	p.query.Del("master")
	user, password := p.query.Get("sentinel_username"), p.query.Get("sentinel_password")
	p.query.Del("sentinel_username")
	p.query.Del("sentinel_password")
	if p.user != nil {
		p.query.Set("username", p.user.Username())
		word, _ := p.user.Password()
		p.query.Set("password", word)
		p.user = nil
	}
	if user != "" || password != "" {
		p.user = url.UserPassword(user, password)
	}
	return nil
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}
