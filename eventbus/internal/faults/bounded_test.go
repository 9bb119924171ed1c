package faults_test

import (
	"slices"
	"strconv"
	"strings"
)

// most is how many elements one command may touch.
const most = 1000

// bounded tells whether the work of a command is bounded whatever the number of
// events, or the command is about settings and consumers alone.
func bounded(c command) bool {
	key := c.arg(0)
	grows := false // the key holds events
	for _, part := range []string{":queue:", ":returns:", ":failures:", ":retry:", ":dead:", ":inflight:", "redisson_delay_queue"} {
		grows = grows || strings.Contains(key, part)
	}
	switch c.name {
	case "keys", "lrem", "lrange", "sort", "hvals", "zrevrange", "linsert", "lpos", "flushdb", "flushall":
		return false
	case "hkeys", "hgetall", "smembers":
		return !grows || strings.Contains(key, ":inflight:") // no more than a pool holds
	case "del":
		return !grows // others are unlinked
	case "lpop", "rpop", "zpopmin":
		return len(c.args) < 2 || atMost(c.arg(1))
	case "zrange":
		first, errFirst := strconv.Atoi(c.arg(1))
		last, errLast := strconv.Atoi(c.arg(2))
		return !grows || errFirst == nil && errLast == nil && first >= 0 && last >= first && last-first < most
	case "zrangebyscore":
		limit := slices.IndexFunc(c.args, func(a string) bool { return strings.EqualFold(a, "limit") })
		return limit >= 0 && atMost(c.arg(limit+2))
	case "hscan", "sscan":
		count := slices.IndexFunc(c.args, func(a string) bool { return strings.EqualFold(a, "count") })
		return count < 0 || atMost(c.arg(count+1))
	}
	return true
}

func atMost(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= 0 && n <= most
}
