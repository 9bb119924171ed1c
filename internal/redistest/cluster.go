package redistest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	slots          = 16384
	clusterTimeout = 60 * time.Second
)

// StartCluster runs a Redis Cluster of so many masters without replicas, which
// needs Redis 7.0, and returns a client of it when every node says that the
// cluster is up. That takes some two seconds, for which Redis itself waits.
// Client and servers end with the test.
func StartCluster(t testing.TB, masters int) *redis.ClusterClient {
	t.Helper()
	var options redis.ClusterOptions
	for _, node := range StartClusterNodes(t, masters) {
		options.Addrs = append(options.Addrs, node.Addr())
	}
	return closing(t, redis.NewClusterClient(&options))
}

// StartClusterNodes is StartCluster for tests that need the nodes, to break
// them or to read their statistics. The slots are shared out evenly in the order
// of the nodes.
func StartClusterNodes(t testing.TB, masters int) []*Server {
	t.Helper()
	nodes := make([]*Server, masters)
	for i := range nodes {
		nodes[i] = Start(t, Options{Cluster: true})
	}
	ctx, cancel := context.WithTimeout(context.Background(), clusterTimeout)
	defer cancel()
	if err := joinNodes(ctx, nodes); err != nil {
		t.Fatalf("redistest: %v", err)
	}
	for _, node := range nodes {
		if err := node.awaitCluster(ctx, masters); err != nil {
			t.Fatalf("redistest: %v", err)
		}
	}
	return nodes
}

func joinNodes(ctx context.Context, nodes []*Server) error {
	for i, node := range nodes {
		// Different epochs from the start spare the nodes an election of who
		// gives way.
		if err := node.admin.Do(ctx, "cluster", "set-config-epoch", i+1).Err(); err != nil {
			return fmt.Errorf("set the epoch of node %s: %w", node.Addr(), err)
		}
		first, last := i*slots/len(nodes), (i+1)*slots/len(nodes)-1
		if err := node.admin.ClusterAddSlotsRange(ctx, first, last).Err(); err != nil {
			return fmt.Errorf("give slots %d to %d to node %s: %w", first, last, node.Addr(), err)
		}
	}
	for i, node := range nodes {
		for _, other := range nodes[i+1:] {
			if err := node.admin.ClusterMeet(ctx, localhost, strconv.Itoa(other.claim.port)).Err(); err != nil {
				return fmt.Errorf("make node %s meet %s: %w", node.Addr(), other.Addr(), err)
			}
		}
	}
	return nil
}

// awaitCluster returns when the node knows all others and serves.
func (s *Server) awaitCluster(ctx context.Context, masters int) error {
	want := []string{
		"cluster_state:ok",
		fmt.Sprintf("cluster_slots_assigned:%d", slots),
		fmt.Sprintf("cluster_known_nodes:%d", masters),
		fmt.Sprintf("cluster_size:%d", masters),
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		info, err := s.admin.ClusterInfo(ctx).Result()
		if err == nil && hasLines(info, want) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until node %s is up in its cluster: %w (%v); it says:\n%s", s.Addr(), ctx.Err(), err, info)
		case <-tick.C:
		}
	}
}

// hasLines tells whether each of want is a line of text.
func hasLines(text string, want []string) bool {
	have := map[string]bool{}
	for line := range strings.Lines(text) {
		have[strings.TrimSpace(line)] = true
	}
	for _, line := range want {
		if !have[line] {
			return false
		}
	}
	return true
}

// Replicate makes a new node of the cluster the replica of the master, and returns
// it once it is in step and every one of the nodes knows it. It ends with the test.
func Replicate(t testing.TB, master *Server, nodes []*Server) *Server {
	t.Helper()
	replica := Start(t, Options{Cluster: true, Extra: []string{"repl-diskless-sync-delay 0"}})
	ctx, cancel := context.WithTimeout(context.Background(), clusterTimeout)
	defer cancel()
	id, err := master.admin.ClusterMyID(ctx).Result()
	if err == nil {
		err = master.admin.ConfigSet(ctx, "repl-diskless-sync-delay", "0").Err()
	}
	if err == nil {
		err = replica.admin.ClusterMeet(ctx, localhost, strconv.Itoa(master.claim.port)).Err()
	}
	if err != nil {
		t.Fatalf("redistest: make %s known to the cluster: %v", replica.Addr(), err)
	}
	await := func(what string, done func() bool) {
		t.Helper()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for !done() {
			select {
			case <-ctx.Done():
				t.Fatalf("redistest: wait until %s: %v", what, ctx.Err())
			case <-tick.C:
			}
		}
	}
	await("the new node knows its master", func() bool { return replica.admin.ClusterReplicate(ctx, id).Err() == nil })
	await("the replica is in step", func() bool {
		info, err := replica.admin.Info(ctx, "replication").Result()
		return err == nil && strings.Contains(info, "master_link_status:up")
	})
	for _, node := range nodes {
		await("every node knows the replica", func() bool {
			known, err := node.admin.ClusterNodes(ctx).Result()
			for line := range strings.Lines(known) {
				if err == nil && strings.Contains(line, replica.Addr()+"@") && strings.Contains(line, "slave "+id) {
					return true
				}
			}
			return false
		})
	}
	return replica
}
