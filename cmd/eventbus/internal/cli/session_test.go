package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
)

// pagedAPI has lists of three pages of two elements.
type pagedAPI struct {
	admin.API // everything else panics
	failing   error
}

func (p *pagedAPI) page(page admin.Page) (ids []string, next string, err error) {
	from, _ := strconv.Atoi(page.Cursor)
	if from == 4 && p.failing != nil {
		return nil, "", p.failing
	}
	if from < 4 {
		next = fmt.Sprint(from + 2)
	}
	return []string{fmt.Sprint("e", from), fmt.Sprint("e", from+1)}, next, nil
}

func (p *pagedAPI) ListTopics(_ context.Context, page admin.Page) (t admin.TopicPage, err error) {
	ids, next, err := p.page(page)
	for _, id := range ids {
		t.Topics = append(t.Topics, eventbus.Topic{Name: id})
	}
	t.Next = next
	return t, err
}

func (p *pagedAPI) ListHandlers(_ context.Context, _, _ string, page admin.Page) (h admin.HandlerPage, err error) {
	ids, next, err := p.page(page)
	for _, id := range ids {
		h.Handlers = append(h.Handlers, eventbus.HandlerInfo{ID: id})
	}
	h.Next = next
	return h, err
}

func (p *pagedAPI) ListConsumers(_ context.Context, page admin.Page) (c admin.ConsumerPage, err error) {
	ids, next, err := p.page(page)
	for _, id := range ids {
		c.Consumers = append(c.Consumers, eventbus.Consumer{ID: id})
	}
	c.Next = next
	return c, err
}

// Lists that come in pages are read to their end.
func TestListsAreWhole(t *testing.T) {
	t.Parallel()
	api := &pagedAPI{}
	s := &session{api: api, group: "default"}
	for name, list := range map[string]func() ([]string, error){
		"topics": func() ([]string, error) { return (&readings{api: api}).topics(t.Context()) },
		"handlers": func() (ids []string, err error) {
			all, err := s.handlers(t.Context(), "orders")
			for _, h := range all {
				ids = append(ids, h.ID)
			}
			return ids, err
		},
		"consumers": func() (ids []string, err error) {
			all, err := s.consumers(t.Context())
			for _, c := range all {
				ids = append(ids, c.ID)
			}
			return ids, err
		},
	} {
		api.failing = nil
		ids, err := list()
		require.NoError(t, err, name)
		require.Equal(t, []string{"e0", "e1", "e2", "e3", "e4", "e5"}, ids, name)
		api.failing = errors.New("no")
		_, err = list()
		require.ErrorIs(t, err, api.failing, name)
	}
}
