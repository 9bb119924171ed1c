package admin_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
)

// failing fails every call that a test makes of it.
type failing struct {
	admin.API
	with atomic.Value // error
}

func (f *failing) err() error { return f.with.Load().(error) }

func (f *failing) GetTopic(context.Context, string) (eventbus.Topic, error) {
	return eventbus.Topic{}, f.err()
}
func (f *failing) CreateTopic(context.Context, string, eventbus.TopicConfig) error { return f.err() }
func (f *failing) UpdateTopic(context.Context, string, eventbus.TopicUpdate) (int64, error) {
	return 0, f.err()
}
func (f *failing) DeleteTopic(context.Context, string) error                    { return f.err() }
func (f *failing) EnableTopic(context.Context, string) error                    { return f.err() }
func (f *failing) DisableTopic(context.Context, string) error                   { return f.err() }
func (f *failing) AddGroup(context.Context, string, eventbus.GroupConfig) error { return f.err() }
func (f *failing) RemoveGroup(context.Context, string, string) error            { return f.err() }
func (f *failing) EnableHandler(context.Context, string, string, string) error  { return f.err() }
func (f *failing) DisableHandler(context.Context, string, string, string) error { return f.err() }
func (f *failing) ResetHandler(context.Context, string, string, string) error   { return f.err() }
func (f *failing) CancelDelayed(context.Context, string, string) ([]string, error) {
	return nil, f.err()
}
func (f *failing) Stats(context.Context, string) ([]eventbus.Stats, error) { return nil, f.err() }
func (f *failing) ListHandlers(context.Context, string, string, admin.Page) (admin.HandlerPage, error) {
	return admin.HandlerPage{}, f.err()
}
func (f *failing) Server(context.Context) (admin.ServerInfo, error) { return admin.ServerInfo{}, nil }
func (f *failing) Ping(context.Context) error                       { return nil }
func (f *failing) GetHandler(context.Context, string, string, string) (eventbus.HandlerInfo, error) {
	return eventbus.HandlerInfo{}, f.err()
}
func (f *failing) UpdateHandler(context.Context, string, string, string, eventbus.HandlerUpdate) (int64, error) {
	return 0, f.err()
}
func (f *failing) ListFailures(context.Context, string, string, eventbus.FailureQuery) (eventbus.FailurePage, error) {
	return eventbus.FailurePage{}, f.err()
}
func (f *failing) GetFailure(context.Context, string, string, string) (eventbus.Failure, error) {
	return eventbus.Failure{}, f.err()
}
func (f *failing) CountFailures(context.Context, string, string) (eventbus.FailureCount, error) {
	return eventbus.FailureCount{}, f.err()
}
func (f *failing) ReplayFailures(context.Context, string, string, eventbus.FailureFilter) (admin.Job, error) {
	return admin.Job{}, f.err()
}
func (f *failing) DiscardFailures(context.Context, string, string, eventbus.FailureFilter) (admin.Job, error) {
	return admin.Job{}, f.err()
}
func (f *failing) ListDelayed(context.Context, string, string, eventbus.DelayedQuery) (eventbus.DelayedPage, error) {
	return eventbus.DelayedPage{}, f.err()
}
func (f *failing) ListUnreadable(context.Context, string, string, int) (eventbus.UnreadableEvents, error) {
	return eventbus.UnreadableEvents{}, f.err()
}
func (f *failing) SendBatch(context.Context, string, []eventbus.Message) ([]string, error) {
	return nil, f.err()
}

// Every call declares the exceptions that it can bring: one that it does not declare
// would be an internal error to a client in another language.
func TestCallsDeclareTheirExceptions(t *testing.T) {
	t.Parallel()
	api := &failing{}
	address, _ := serve(t, api, admin.ServerConfig{})
	c := client(t, admin.ClientConfig{Address: address})
	arguments := func(call reflect.Value) []reflect.Value {
		in := []reflect.Value{reflect.ValueOf(t.Context())}
		for i := 1; i < call.Type().NumIn(); i++ {
			v := reflect.Zero(call.Type().In(i))
			if v.Type() == reflect.TypeFor[eventbus.FailureFilter]() {
				v = reflect.ValueOf(eventbus.FailureFilter{All: true}) // an empty one the client refuses itself
			}
			in = append(in, v)
		}
		return in
	}
	for _, err := range []error{
		eventbus.ErrTopicNotFound, eventbus.ErrTopicDeleting, eventbus.ErrInvalidArgument, eventbus.ErrUnavailable, eventbus.ErrWrongType,
		eventbus.ErrClosed, eventbus.ErrRedisTooOld, eventbus.ErrLayoutMismatch,
	} {
		want := fmt.Errorf("on purpose: %w", err)
		api.with.Store(want)
		for i := range reflect.TypeOf(api).NumMethod() {
			name := reflect.TypeOf(api).Method(i).Name
			if _, own := reflect.TypeOf(&failing{}).MethodByName(name); !own || name == "Server" || name == "Ping" || name == "ListTopics" || name == "ListConsumers" || name == "GetJob" || name == "CancelJob" {
				continue // not of one topic
			}
			call := reflect.ValueOf(c).MethodByName(name)
			out := call.Call(arguments(call))
			got, _ := out[len(out)-1].Interface().(error)
			require.ErrorIs(t, got, err, name)
			require.Equal(t, want.Error(), got.Error(), name)
		}
	}
}

// An empty list is an answer.
func TestEmptyListsAreAnswers(t *testing.T) {
	t.Parallel()
	s, _ := service(t)
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
	require.NoError(t, s.RemoveGroup(t.Context(), topic, "default"))
	address, _ := serve(t, s, admin.ServerConfig{})
	transport := thrift.NewTFramedTransportConf(thrift.NewTSocketConf(address, nil), nil)
	require.NoError(t, transport.Open())
	defer transport.Close()
	p := thrift.NewTBinaryProtocolConf(transport, nil)
	// The generated client cannot tell no answer from an empty one; others do.
	require.NoError(t, p.WriteMessageBegin(t.Context(), "getStats", thrift.CALL, 1))
	require.NoError(t, (&thriftbus.EventAdminGetStatsArgs{Topic: topic}).Write(t.Context(), p))
	require.NoError(t, p.WriteMessageEnd(t.Context()))
	require.NoError(t, p.Flush(t.Context()))
	_, kind, _, err := p.ReadMessageBegin(t.Context())
	require.NoError(t, err)
	require.Equal(t, thrift.REPLY, kind)
	var result thriftbus.EventAdminGetStatsResult
	require.NoError(t, result.Read(t.Context(), p))
	require.NotNil(t, result.Success)
}

// A page in somebody's browser reaches the loopback, and can do nothing.
func TestBrowsersCannotCall(t *testing.T) {
	t.Parallel()
	s, _ := service(t)
	require.NoError(t, s.CreateTopic(t.Context(), topic, eventbus.TopicConfig{}))
	address, _ := serve(t, s, admin.ServerConfig{})
	call := thrift.NewTMemoryBuffer()
	p := thrift.NewTBinaryProtocolConf(call, nil)
	require.NoError(t, p.WriteMessageBegin(t.Context(), "deleteTopic", thrift.CALL, 1))
	require.NoError(t, (&thriftbus.EventAdminDeleteTopicArgs{Name: topic}).Write(t.Context(), p))
	require.NoError(t, p.WriteMessageEnd(t.Context()))
	post := func(change func(r *http.Request)) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/thrift", bytes.NewReader(call.Bytes()))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/x-thrift")
		change(r)
		answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		return answer.StatusCode
	}
	require.Equal(t, http.StatusUnsupportedMediaType, post(func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }))
	require.Equal(t, http.StatusUnsupportedMediaType, post(func(r *http.Request) { r.Header.Del("Content-Type") }))
	require.Equal(t, http.StatusForbidden, post(func(r *http.Request) { r.Host = "evil.example" }))
	require.Equal(t, http.StatusForbidden, post(func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }))
	require.Equal(t, http.StatusForbidden, post(func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }))
	_, err := s.GetTopic(t.Context(), topic)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, post(func(*http.Request) {}))
	_, err = s.GetTopic(t.Context(), topic)
	require.ErrorIs(t, err, eventbus.ErrTopicNotFound)
}
