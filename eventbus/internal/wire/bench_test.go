package wire

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// payload200 is an ordinary JSON payload of 200 bytes.
const payload200 = `{"id":130775545883395173,"user":"0198c7a1-3f6e-7d2a-9b1c","email":"jo@example.com","plan":"pro",` +
	`"active":true,"tags":["new","eu"],"address":{"city":"Köln","zip":"50667"},"total":129.95,"note":"fine"}`

func TestBenchmarkPayload(t *testing.T) {
	t.Parallel()
	require.Len(t, payload200, 200)
	require.True(t, json.Valid([]byte(payload200)))
	e := newEntry(payload200)
	require.True(t, checkPaths(t, Append(nil, &e)))
}

func BenchmarkAppend(b *testing.B) {
	e := newEntry(payload200)
	b.Run("new", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Append(nil, &e)
		}
	})
	b.Run("reuse", func(b *testing.B) {
		b.ReportAllocs()
		var dst []byte
		for b.Loop() {
			dst = Append(dst[:0], &e)
		}
	})
	withHeader := e
	withHeader.Headers = map[string]string{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
	b.Run("header", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Append(nil, &withHeader)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	run := func(name string, raw []byte) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Decode(raw, givenID)
			}
		})
	}
	e := newEntry(payload200)
	run("own", Append(nil, &e))
	run("foreign", append(Append(nil, &e), '\n'))
	run("bare", []byte(payload200))
	e.Headers = map[string]string{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
	run("header", Append(nil, &e))
}

func BenchmarkIsValue(b *testing.B) {
	data := []byte(payload200)
	b.Run("own", func(b *testing.B) {
		for b.Loop() {
			isValue(data)
		}
	})
	b.Run("stdlib", func(b *testing.B) {
		for b.Loop() {
			json.Valid(data)
		}
	})
}
