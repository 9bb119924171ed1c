package store

import (
	"errors"
	"strings"
)

// What EditTopic says of the fields that an edit required or forbade; callers
// turn it into what the field stands for.
var (
	errMissingField = errors.New("a required field is missing")
	errFieldExists  = errors.New("a field exists already")
	errBeingRemoved = errors.New("a group of that name is still being removed")
)

// slot is the Redis Cluster hash slot of a key: CRC16 (XMODEM) of the hash tag,
// or of the whole key, modulo 16384 (Redis Cluster specification, "Key
// distribution model").
func slot(key string) uint16 {
	if open := strings.IndexByte(key, '{'); open >= 0 {
		if end := strings.IndexByte(key[open+1:], '}'); end > 0 {
			key = key[open+1 : open+1+end]
		}
	}
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc % 16384
}
