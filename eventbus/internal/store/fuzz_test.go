package store

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// Whatever stands in an in-flight hash, its order can be read; and what the bus
// wrote is read back.
func FuzzOrder(f *testing.F) {
	for _, text := range []string{"", "-", "7-3", "7-3r", "r", "--r", "18446744073709551616-1", "-1--1", "7-99999999999999999999", "\x00-\xff"} {
		f.Add(text, uint64(7), uint16(3), uint16(1))
	}
	f.Fuzz(func(t *testing.T, receipt string, claim uint64, place, returned uint16) {
		_, _ = Order(receipt)
		_ = CameBack(receipt)
		c := Claimed{Returned: int(returned), Entries: make([][]byte, int(place)+1)}
		written := c.Receipts(claim)[place]
		gotClaim, gotPlace := Order(written)
		if gotClaim != claim || gotPlace != int(place)+1 || CameBack(written) != (place < returned) {
			t.Fatalf("%q is read as claim %d, place %d, came back %t", written, gotClaim, gotPlace, CameBack(written))
		}
		if strings.ContainsAny(written, "| ") {
			t.Fatalf("receipt %q", written)
		}
	})
}

// Whatever stands in a topic's settings hash is read without a panic; a field
// that is a number is that number, and everything else counts as missing.
func FuzzParseTopic(f *testing.F) {
	f.Add("max_waiting", "7", "handler|g|h", "{}")
	f.Add("group|", "", "group|a|b", "x")
	f.Add("rev", "9223372036854775808", "concurrency", "-1")
	f.Add("dead_age_ms", "9223372036854775807", "enabled", "yes")
	f.Fuzz(func(t *testing.T, field1, value1, field2, value2 string) {
		fields := map[string]string{field1: value1, field2: value2}
		topic := parseTopic("t", fields)
		for _, g := range topic.Groups {
			if _, ok := fields[groupField(g.Name)]; !ok {
				t.Fatalf("group %q out of %q", g.Name, fields)
			}
		}
		for group, handlers := range topic.Handlers {
			for h := range handlers {
				if _, ok := fields[handlerField(group, h)]; !ok {
					t.Fatalf("handler %q of group %q out of %q", h, group, fields)
				}
			}
		}
		for field, got := range map[string]int64{"max_waiting": topic.MaxWaiting, "rev": topic.Revision, "dead_limit": topic.DeadLimit} {
			var want int64
			if _, err := fmt.Sscanf(fields[field], "%d", &want); err == nil && fmt.Sprint(want) == fields[field] && got != want {
				t.Fatalf("%s %q is read as %d", field, fields[field], got)
			}
		}
		if topic.DeadAge < 0 {
			t.Fatalf("age %q has become %v, in the future", fields["dead_age_ms"], topic.DeadAge)
		}
	})
}

// A record is split from the time before it, whatever stands there.
func FuzzSplitMeta(f *testing.F) {
	for _, text := range []string{"", "{", "1767225600000{}", `1767225600000{"error":"{}"}`, "x{}", "99999999999999999999{}", "\xff"} {
		f.Add(text, int64(math.MaxInt64))
	}
	f.Fuzz(func(t *testing.T, meta string, at int64) {
		var r Record
		r.splitMeta(meta)
		if !strings.HasSuffix(meta, string(r.Meta)) {
			t.Fatalf("%q out of %q", r.Meta, meta)
		}
		at &= math.MaxInt64
		r = Record{}
		r.splitMeta(fmt.Sprintf("%d{%s", at, meta))
		if r.FailedAt != at || string(r.Meta) != "{"+meta {
			t.Fatalf("time %d and record %q", r.FailedAt, r.Meta)
		}
	})
}
