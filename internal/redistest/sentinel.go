package redistest

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// MasterName is the name under which the Sentinel of StartSentinel knows its master.
const MasterName = "main"

const (
	sentinelTimeout   = 60 * time.Second
	shortestDownAfter = 3 * time.Second
)

// Sentinel is a master, its one replica, and the one Sentinel that watches them.
type Sentinel struct {
	*Server
	// Nodes are the two servers, first the one that is the master at the start.
	Nodes [2]*Server
}

// StartSentinel runs a master with a replica and a Sentinel, and returns when the
// Sentinel knows both and the replica has all that the master has. A master
// that does not answer for so long counts as down; a Sentinel pings once a second,
// and would take a node that works for down, its newly named master above all, if it
// waited no longer than that. The password is the Sentinel's own, none where it is
// empty. All end with the test.
func StartSentinel(t testing.TB, downAfter time.Duration, password string) *Sentinel {
	t.Helper()
	if downAfter < shortestDownAfter {
		t.Fatalf("redistest: a master is down after %v; this must be %v or more", downAfter, shortestDownAfter)
	}
	quick := []string{"repl-diskless-sync-delay 0", "repl-ping-replica-period 1"}
	master := Start(t, Options{Extra: quick})
	host, port := split(master.Addr())
	replica := Start(t, Options{Extra: append(quick, "replicaof "+host+" "+port)})
	watcher := Start(t, Options{sentinel: true, Password: password, Extra: []string{
		fmt.Sprintf("sentinel monitor %s %s %s 1", MasterName, host, port),
		fmt.Sprintf("sentinel down-after-milliseconds %s %d", MasterName, downAfter.Milliseconds()),
		fmt.Sprintf("sentinel failover-timeout %s 10000", MasterName),
	}})
	s := &Sentinel{Server: watcher, Nodes: [2]*Server{master, replica}}
	ctx, cancel := context.WithTimeout(context.Background(), sentinelTimeout)
	defer cancel()
	if err := s.await(ctx, "the Sentinel knows a replica that is in step", func() bool {
		_, slave := split(replica.Addr())
		cmd := redis.NewMapStringStringSliceCmd(ctx, "sentinel", "replicas", MasterName)
		err := s.admin.Process(ctx, cmd)
		found := cmd.Val()
		info, infoErr := replica.admin.Info(ctx, "replication").Result()
		return err == nil && len(found) == 1 && found[0]["port"] == slave && found[0]["flags"] == "slave" &&
			found[0]["master-link-status"] == "ok" && infoErr == nil && strings.Contains(info, "master_link_status:up")
	}); err != nil {
		t.Fatalf("redistest: %v", err)
	}
	return s
}

// Client returns a new client that asks the Sentinel for the master. It is closed
// when t ends.
func (s *Sentinel) Client(t testing.TB) *redis.Client {
	return closing(t, redis.NewFailoverClient(&redis.FailoverOptions{MasterName: MasterName, SentinelAddrs: []string{s.Addr()}, SentinelPassword: s.secret()}))
}

// Master returns the node that the Sentinel names as the master now, nil for none.
func (s *Sentinel) Master() *Server {
	cmd := redis.NewStringSliceCmd(context.Background(), "sentinel", "get-master-addr-by-name", MasterName)
	if err := s.admin.Process(context.Background(), cmd); err != nil || len(cmd.Val()) != 2 {
		return nil
	}
	at := cmd.Val()
	for _, node := range s.Nodes {
		if node.Addr() == net.JoinHostPort(at[0], at[1]) {
			return node
		}
	}
	return nil
}

// Failover makes the Sentinel replace its master as an administrator does,
// and returns when it names the other node.
func (s *Sentinel) Failover() {
	ctx, cancel := context.WithTimeout(context.Background(), sentinelTimeout)
	defer cancel()
	before := s.Master()
	if err := s.admin.Do(ctx, "sentinel", "failover", MasterName).Err(); err != nil {
		s.t.Errorf("redistest: make the Sentinel fail over: %v", err)
		return
	}
	s.report(s.await(ctx, "the Sentinel names the other node", func() bool {
		now := s.Master()
		return now != nil && now != before
	}))
}

// AwaitOneMaster returns when the Sentinel has made a replica in step of the node
// that it does not name as the master.
func (s *Sentinel) AwaitOneMaster() {
	ctx, cancel := context.WithTimeout(context.Background(), sentinelTimeout)
	defer cancel()
	s.report(s.await(ctx, "the old master follows the new one", func() bool {
		for _, node := range s.Nodes {
			info, err := node.admin.Info(ctx, "replication").Result()
			if err != nil || node != s.Master() && !strings.Contains(info, "master_link_status:up") {
				return false
			}
		}
		return true
	}))
}

func (s *Sentinel) await(ctx context.Context, what string, done func() bool) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w; the Sentinel says:\n%s", what, ctx.Err(), s.lastLog())
		case <-tick.C:
		}
	}
	return nil
}

func split(addr string) (host, port string) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		panic(err) // it was joined here
	}
	return host, port
}
