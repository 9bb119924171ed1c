//go:build race

package failuretest_test

// greatest is the size in bytes of the greatest payload that these tests send
// under the race detector, which takes half a minute for 64 MiB.
const greatest = 8 << 20
