package port

import (
	"encoding/binary"
	"io"

	"github.com/apache/thrift/lib/go/thrift"
)

// bytes reads a string of the message. The protocols read a long one into
// buffers that double, and leave behind as much garbage as the string is long.
// Here it is collected in pieces, so that a claim alone costs nothing; when a
// share of it is there and the rest is paid for, it is given its room.
func (x *exchange) bytes() ([]byte, error) {
	size, err := x.length()
	if err != nil {
		return nil, err
	}
	var pieces [][]byte
	come := 0
	for size > chunk && come < size/claimShare {
		piece := make([]byte, chunk)
		if _, err := io.ReadFull(x, piece); err != nil {
			return nil, err
		}
		pieces = append(pieces, piece)
		come += chunk
	}
	if size > chunk {
		if err := x.pay(size - come); err != nil {
			return nil, err
		}
	}
	b := make([]byte, size)
	for i, piece := range pieces {
		copy(b[i*chunk:], piece)
	}
	if _, err := io.ReadFull(x, b[come:]); err != nil {
		return nil, err
	}
	return b, nil
}

// length reads the length of a string, and refuses one that cannot be there.
func (x *exchange) length() (int, error) {
	var size int32
	if x.form.compact {
		n, err := binary.ReadUvarint(x)
		if err != nil {
			return 0, err
		}
		size = int32(n) // a length is an i32 in as many bits as were sent
	} else {
		var b [4]byte
		if _, err := io.ReadFull(x, b[:]); err != nil {
			return 0, err
		}
		size = int32(binary.BigEndian.Uint32(b[:]))
	}
	switch {
	case size < 0:
		return 0, malformed(thrift.NEGATIVE_SIZE, "a string has a size of %d", size)
	case int(size) > x.left:
		return 0, malformed(thrift.SIZE_LIMIT, "a string of %d bytes is longer than what the message may still have, %d", size, x.left)
	}
	return int(size), nil
}
