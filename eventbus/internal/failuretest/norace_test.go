//go:build !race

package failuretest_test

import "github.com/seed4933/eventbus/eventbus"

// greatest is the size in bytes of the greatest payload that these tests send.
const greatest = eventbus.MaxPayloadLimit
