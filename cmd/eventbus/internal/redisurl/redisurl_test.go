package redisurl_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/redisurl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func client[T any](t *testing.T, address string) T {
	t.Helper()
	target, err := redisurl.Parse(address)
	require.NoError(t, err)
	made := target.Client()
	t.Cleanup(func() { require.NoError(t, made.Close()) })
	c, ok := made.(T)
	require.True(t, ok, "%T", made)
	return c
}

func TestOneServer(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]redis.Options{
		"redis://localhost":                {Network: "tcp", Addr: "localhost:6379"},
		"redis://localhost/":               {Network: "tcp", Addr: "localhost:6379"},
		"redis://10.0.0.1:7000/3":          {Network: "tcp", Addr: "10.0.0.1:7000", DB: 3},
		"redis://10.0.0.1:7000?db=4":       {Network: "tcp", Addr: "10.0.0.1:7000", DB: 4},
		"redis://[::1]:7000":               {Network: "tcp", Addr: "[::1]:7000"},
		"redis://[::1]":                    {Network: "tcp", Addr: "[::1]:6379"},
		"redis://:pw@h":                    {Network: "tcp", Addr: "h:6379", Password: "pw"},
		"redis://u:p%40%2F%3F%23%25%3A@h":  {Network: "tcp", Addr: "h:6379", Username: "u", Password: "p@/?#%:"},
		"redis://u:p:q@h":                  {Network: "tcp", Addr: "h:6379", Username: "u", Password: "p:q"},
		"redis://u:p+q&r=s;t@h":            {Network: "tcp", Addr: "h:6379", Username: "u", Password: "p+q&r=s;t"},
		"unix:///run/redis.sock":           {Network: "unix", Addr: "/run/redis.sock"},
		"unix://u:pw@/run/re%20dis.s?db=2": {Network: "unix", Addr: "/run/re dis.s", Username: "u", Password: "pw", DB: 2},
	} {
		got := client[*redis.Client](t, address).Options()
		require.Equal(t, want, redis.Options{
			Network: got.Network, Addr: got.Addr, DB: got.DB, Username: got.Username, Password: got.Password,
		}, address)
		require.Nil(t, got.TLSConfig, address)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	got := client[*redis.Client](t, "rediss://cache.example.com/1").Options()
	require.Equal(t, "cache.example.com", got.TLSConfig.ServerName)
	require.False(t, got.TLSConfig.InsecureSkipVerify)
	got = client[*redis.Client](t, "rediss://cache.example.com/1?skip_verify=true").Options()
	require.True(t, got.TLSConfig.InsecureSkipVerify)
	require.NotNil(t, client[*redis.ClusterClient](t, "rediss://a,b").Options().TLSConfig)
}

func TestCluster(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"redis://u:p%40@h1:1,h2:2,h3", "redis://u:p%40@h1:1,h2:2,h3/0"} {
		got := client[*redis.ClusterClient](t, address).Options()
		require.Equal(t, []string{"h1:1", "h2:2", "h3:6379"}, got.Addrs)
		require.Equal(t, "u", got.Username)
		require.Equal(t, "p@", got.Password)
	}
}

func TestSentinel(t *testing.T) {
	t.Parallel()
	c := client[*redis.Client](t, "redis-sentinel://u:p%40@s1,s2:7/2?master=main&sentinel_username=w&sentinel_password=x")
	got := c.Options()
	require.Equal(t, 2, got.DB)
	require.Equal(t, "u", got.Username)
	require.Equal(t, "p@", got.Password)
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	target, err := redisurl.Parse("embedded")
	require.NoError(t, err)
	require.True(t, target.IsEmbedded())
	require.Equal(t, "embedded", target.String())
	require.Panics(t, func() { target.Client() })
}

func TestShownWithoutCredentials(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"redis://u:secret@h:1/2":                           "redis://h:1/2",
		"redis://secret@h":                                 "redis://h:6379",
		"rediss://u:secret@h1,h2:2":                        "rediss://h1:6379,h2:2",
		"unix://u:secret@/s?db=1":                          "unix:///s?db=1",
		"redis-sentinel://u:secret@s/1?master=m":           "redis-sentinel://s:26379/1",
		"redis-sentinel://s?master=m&sentinel_password=s3": "redis-sentinel://s:26379",
	} {
		target, err := redisurl.Parse(address)
		require.NoError(t, err, address)
		require.Equal(t, want, target.String())
	}
}

func TestWrong(t *testing.T) {
	t.Parallel()
	for address, says := range map[string]string{
		"":                                       "is not a URL; right are: redis://HOST:PORT/DB",
		"localhost:6379":                         "is not a URL",
		"http://h":                               "unknown scheme",
		"redis://":                               "HOST or HOST:PORT",
		"redis://u:secret@":                      "HOST or HOST:PORT",
		"redis://user:secret":                    "HOST or HOST:PORT",
		"redis://h:0":                            "HOST or HOST:PORT",
		"redis://h:65536":                        "HOST or HOST:PORT",
		"redis://h:1:2":                          "HOST or HOST:PORT",
		"redis://h,":                             "HOST or HOST:PORT",
		"redis://h h":                            "HOST or HOST:PORT",
		"redis://u:secret@h\"h":                  "HOST or HOST:PORT",
		"redis://[::1":                           "HOST or HOST:PORT",
		"redis://[secret]":                       "HOST or HOST:PORT",
		"redis://u:se/cret@h":                    "as %2F",
		"redis://u:secret?x@h":                   "as %2F",
		"redis://u:1?secret@h":                   "as %2F",
		"redis://u:secret#@h":                    "as %2F",
		"redis://u:secret%zz@h":                  "%25",
		"redis://u:secret@h/x":                   "number of a database",
		"redis://u:secret@h/-1":                  "number of a database",
		"redis://h/1/2":                          "number of a database",
		"redis://h?db=x":                         "number of a database",
		"redis://u:secret@h?pool_size=3":         `unknown parameter "pool_size"`,
		"redis://h?db=1&db=2":                    `"db" twice`,
		"redis://h?protocol=secret":              "protocol is 2 or 3",
		"redis://h?%zz":                          "do not parse",
		"redis://h?skip_verify=true":             "unknown parameter",
		"redis://u:secret@h1,h2/1":               "database 0 only",
		"unix://relative/path":                   "absolute path",
		"unix://":                                "absolute path",
		"redis-sentinel://u:secret@s":            "must name the master",
		"redis-sentinel://s?master_name=m":       `unknown parameter "master_name"`,
		"redis-sentinel://u:secret@s/x?master=m": "number of a database",
	} {
		_, err := redisurl.Parse(address)
		var wrong *redisurl.Error
		require.ErrorAs(t, err, &wrong, address)
		require.ErrorContains(t, err, says, address)
		require.NotContains(t, err.Error(), "secret", address)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"redis://u:p@h:1/2?db=3", "unix:///s", "redis-sentinel://a,b/1?master=m", "rediss://[::1]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, address string) {
		target, err := redisurl.Parse(address)
		if err != nil {
			var wrong *redisurl.Error
			require.ErrorAs(t, err, &wrong)
			return
		}
		if !target.IsEmbedded() {
			require.NoError(t, target.Client().Close())
		}
	})
}
