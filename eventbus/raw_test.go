package eventbus_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

func TestRawOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value any
		want  eventbus.Raw
	}{
		{eventbus.Raw{Payload: []byte{0xff}, ContentType: "text/x"}, eventbus.Raw{Payload: []byte{0xff}, ContentType: "text/x"}},
		{eventbus.Raw{}, eventbus.Raw{}},
		{json.RawMessage(` {"a": 1} `), eventbus.Raw{Payload: []byte(` {"a": 1} `)}},
		{[]byte("bytes"), eventbus.Raw{Payload: []byte(`"Ynl0ZXM="`)}},
		{map[string]int{"a": 1}, eventbus.Raw{Payload: []byte(`{"a":1}`)}},
		{nil, eventbus.Raw{Payload: []byte("null")}},
	} {
		got, err := eventbus.RawOf(c.value)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	for want, value := range map[string]any{
		`event does not marshal: invalid argument: invalid value "{": a json.RawMessage that is not valid JSON; pass a Raw for other bytes`: json.RawMessage("{"),
		`event does not marshal: invalid argument: write a float64 as JSON: json: unsupported value: NaN`:                                   math.NaN(),
	} {
		_, err := eventbus.RawOf(value)
		require.EqualError(t, err, want)
		require.ErrorIs(t, err, eventbus.ErrMarshal)
		require.ErrorIs(t, err, eventbus.ErrInvalidArgument)
	}
	_, err := eventbus.RawOf(&eventbus.Raw{})
	require.EqualError(t, err, "invalid value: it is a *Raw; pass a Raw")
	require.NotErrorIs(t, err, eventbus.ErrMarshal)
}
