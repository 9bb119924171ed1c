// Package protocol tells by its first bytes in which of Thrift's protocols a message is
// written.
package protocol

import (
	"encoding/binary"

	"github.com/apache/thrift/lib/go/thrift"
)

// Word is how many bytes it takes to tell: each message of each protocol has at least so
// many. Fewer bytes are none of them.
const Word = 4

// IsBinary tells the binary protocol, as it is since it has versions.
func IsBinary(b []byte) bool { return is(b, thrift.VERSION_MASK, thrift.VERSION_1) }

// IsCompact tells the compact protocol.
func IsCompact(b []byte) bool {
	return len(b) >= Word && b[0] == thrift.COMPACT_PROTOCOL_ID && b[1]&thrift.COMPACT_VERSION_MASK == thrift.COMPACT_VERSION
}

// IsHeader tells THeader, behind the length of its frame.
func IsHeader(b []byte) bool { return is(b, thrift.THeaderHeaderMask, thrift.THeaderHeaderMagic) }

func is(b []byte, mask, value uint32) bool {
	return len(b) >= Word && binary.BigEndian.Uint32(b)&mask == value
}
