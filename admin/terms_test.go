package admin

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// A field of an exception is one that the IDL has, in the call that was made.
func TestFieldsAreThoseOfTheIDL(t *testing.T) {
	t.Parallel()
	idl, err := os.ReadFile("../thrift/eventbus.thrift")
	require.NoError(t, err)
	for _, c := range []struct{ op, field, want string }{
		{"getTopic", "topic", "name"}, {"createTopic", "topic", "name"}, {"updateTopic", "topic", "name"}, {"deleteTopic", "topic", "name"},
		{"enableTopic", "topic", "name"}, {"disableTopic", "topic", "name"}, {"addGroup", "topic", "topic"}, {"send", "topic", "topic"},
		{"getHandler", "handler id", "id"}, {"updateHandler", "handler id", "id"}, {"listFailures", "handler id", "handler"},
		{"replayFailures", "handler id", "handler"}, {"discardFailures", "handler id", "handler"},
		{"discardFailures", "filter", "selection"}, {"discardFailures", "Before", "before_ms"}, {"discardFailures", "ids", "ids"},
		{"addGroup", "Name", "name"}, {"addGroup", "QueueKey", "queue_key"}, {"createTopic", "Groups", "groups"},
		{"updateTopic", "MaxWaiting", "max_waiting"}, {"updateTopic", "DeadAge", "dead_age_ms"}, {"updateTopic", "IfRevision", "if_revision"},
		{"updateHandler", "Timeout", "timeout_ms"}, {"updateHandler", "RetryInitial", "retry_initial_ms"}, {"updateHandler", "update", "update"},
		{"send", "header name", "headers"}, {"send", "header tenant", "headers"}, {"send", "headers", "headers"}, {"send", "content type", "content_type"},
		{"send", "Delay", "delay_ms"}, {"send", "DueAt", "due_at_ms"}, {"send", "id", "id"}, {"listTopics", "limit", "limit"},
	} {
		got := idlField(c.op, c.field)
		require.Equal(t, c.want, got, c)
		require.Regexp(t, `\d: [\w<>, ]+ `+got+`\b`, string(idl), "the IDL has it")
	}
	require.Equal(t, "groups[2].queue_key", idlField("createTopic", "Groups[2].QueueKey"))
}

// Who has not written Go does not read it, be one argument wrong or several.
func TestExceptionsSpeakTheIDL(t *testing.T) {
	t.Parallel()
	wrong := []error{
		&eventbus.ArgumentError{Field: "MaxWaiting", Value: "-1", Reason: "from 0 to 9 is right"},
		&eventbus.ArgumentError{Field: "Groups[0].Name", Value: `"a: invalid max_waiting 1: b"`, Reason: "' ' is not allowed"},
		&eventbus.ArgumentError{Field: "DeadAge", Value: "1960-01-01 00:00:00 +0000 UTC", Reason: `"x": y`},
		&eventbus.ArgumentError{Field: "topic", Reason: "it is empty"},
		&eventbus.ArgumentError{Field: "handler id", Value: `"xx"… (300 bytes)`, Reason: "it has 300 bytes"},
		&eventbus.ArgumentError{Field: "content type", Value: `"\x00"`, Reason: "it has the control character"},
		&eventbus.ArgumentError{Field: "header name", Reason: "it is empty"},
		&eventbus.ArgumentError{Field: "header tenant", Reason: "its value has 9000 bytes"},
		&eventbus.ArgumentError{Field: "header tenant", Value: `"\x00"`, Reason: "is a control character"},
	}
	goNames := regexp.MustCompile(`invalid [A-Z]`)
	for i := range wrong {
		for j := i; j < len(wrong); j++ {
			all := []error{wrong[i]}
			if j > i {
				all = append(all, wrong[j])
			}
			err := fmt.Errorf(`create topic "x: invalid Wire: y": %w`, errors.Join(all...))
			exception, ok := toException("createTopic", err).(*thriftbus.InvalidArgument)
			require.True(t, ok)
			require.NotRegexp(t, goNames, regexp.MustCompile(`"[^"]*"`).ReplaceAllString(exception.Message, ""))
			require.NotRegexp(t, `^[A-Z]`, exception.Field)
			got, _ := fromException(exception)
			require.Equal(t, err.Error(), got.Error(), "the client turns it back")
			var is []error
			for _, one := range got.(*remoteError).is {
				var argument *eventbus.ArgumentError
				if errors.As(one, &argument) {
					is = append(is, argument)
				}
			}
			require.Equal(t, all, is)
		}
	}
}

// What a server of another release says of arguments is taken as it is.
func TestArgumentsOfAnotherRelease(t *testing.T) {
	t.Parallel()
	got, _ := fromException(&thriftbus.InvalidArgument{Message: "no", Field: "max_waiting", Reason: "why"})
	var argument *eventbus.ArgumentError
	require.ErrorAs(t, got, &argument)
	require.Equal(t, &eventbus.ArgumentError{Field: "MaxWaiting", Reason: "why"}, argument)
	require.EqualError(t, got, "no")
	for _, name := range []string{"", ".", "[", "name[", "groups[0].colour", "colour"} {
		got, _ := fromException(&thriftbus.InvalidArgument{Message: "no", Arguments: []*thriftbus.Argument{{Name: name, Reason: "why"}}})
		require.ErrorAs(t, got, &argument)
		require.Equal(t, "why", argument.Reason)
		require.EqualError(t, got, "no")
	}
}
