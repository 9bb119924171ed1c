package eventbus

import (
	"encoding/json"
	"fmt"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
)

// Raw is a payload that is sent byte for byte, with its media type. Values that
// are no Raw are marshalled as JSON; json.RawMessage is sent as it is too, and
// must be valid JSON. A []byte is marshalled as Go does it, as base64 text.
type Raw struct {
	Payload []byte
	// ContentType defaults to "application/json" when the payload is JSON, else
	// to "application/octet-stream".
	ContentType string
}

// RawOf returns what is sent of a value, without ContentType where the value is none
// of Raw: what carries events to a bus elsewhere, as package admin does, marshals them
// with it. Bytes are shared with the value, not copied.
//
// Errors: ErrMarshal; ErrInvalidArgument for a *Raw, which is no Raw.
func RawOf(value any) (Raw, error) {
	switch v := value.(type) {
	case Raw:
		return v, nil
	case *Raw:
		return Raw{}, errs.Invalid("value", nil, "it is a *Raw; pass a Raw")
	case json.RawMessage: // as it is, where json.Marshal leaves out spaces
		if !json.Valid(v) {
			return Raw{}, marshalError(errs.Invalid("value", string(v), "a json.RawMessage that is not valid JSON; pass a Raw for other bytes"))
		}
		return Raw{Payload: v}, nil
	}
	data, err := json.Marshal(value)
	if err != nil {
		return Raw{}, marshalError(fmt.Errorf("write a %T as JSON: %w", value, err))
	}
	return Raw{Payload: data}, nil
}

func marshalError(err error) error {
	return fmt.Errorf("%w: %w: %w", errs.Marshal, errs.InvalidArgument, err)
}
