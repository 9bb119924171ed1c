package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/show"
	"github.com/seed4933/eventbus/eventbus"
)

// topicView is a topic as JSON shows it. A limit of -1 means none, but for
// max_waiting and concurrency, where 0 does.
type topicView struct {
	Name        string      `json:"name"`
	Enabled     bool        `json:"enabled"`
	Delivery    string      `json:"delivery"`
	Wire        string      `json:"wire"`
	MaxWaiting  int64       `json:"max_waiting"`
	Concurrency int         `json:"concurrency"`
	DeadLimit   int64       `json:"dead_limit"`
	DeadAgeMS   int64       `json:"dead_age_ms"`
	OrderList   bool        `json:"redisson_order_list"`
	OldClients  bool        `json:"redisson_old_clients"`
	Groups      []groupView `json:"groups"`
	Revision    int64       `json:"revision"`
	Created     *time.Time  `json:"created"`
}

type groupView struct {
	Name     string `json:"name"`
	QueueKey string `json:"queue_key"`
}

func viewTopic(t eventbus.Topic) topicView {
	v := topicView{
		Name: t.Name, Enabled: !t.Disabled, Delivery: string(t.Delivery), Wire: string(t.Wire),
		MaxWaiting: t.MaxWaiting, Concurrency: t.Concurrency, DeadLimit: t.DeadLimit, DeadAgeMS: t.DeadAge.Milliseconds(),
		OrderList: t.RedissonOrderList, OldClients: t.RedissonOldClients,
		Groups: []groupView{}, Revision: t.Revision, Created: show.Moment(t.Created),
	}
	if t.DeadAge < 0 {
		v.DeadAgeMS = -1
	}
	for _, g := range t.Groups {
		v.Groups = append(v.Groups, groupView(g))
	}
	return v
}

func (v topicView) groups() string {
	names := make([]string, len(v.Groups))
	for i, g := range v.Groups {
		names[i] = g.Name
		if g.QueueKey != "" {
			names[i] += "=" + g.QueueKey
		}
	}
	return show.Or(strings.Join(names, ","))
}

func (v topicView) deadAge() string {
	return show.Exact(max(0, time.Duration(v.DeadAgeMS)*time.Millisecond))
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

var topicColumns = []show.Column[topicView]{
	{Head: "TOPIC", Text: func(v topicView) string { return v.Name }},
	{Head: "STATE", Text: func(v topicView) string { return onOff(v.Enabled) }},
	{Head: "DELIVERY", Text: func(v topicView) string { return v.Delivery }},
	{Head: "WIRE", Text: func(v topicView) string { return v.Wire }},
	{Head: "MAX WAITING", Text: func(v topicView) string { return show.Limit(v.MaxWaiting) }},
	{Head: "CONCURRENCY", Text: func(v topicView) string { return show.Limit(v.Concurrency) }},
	{Head: "DEAD LIMIT", Text: func(v topicView) string { return show.Limit(v.DeadLimit) }},
	{Head: "DEAD AGE", Text: topicView.deadAge},
	{Head: "GROUPS", Text: topicView.groups},
}

func (v topicView) sheet() []show.Row {
	rows := []show.Row{
		{Name: "Topic", Text: v.Name}, {Name: "State", Text: onOff(v.Enabled)}, {Name: "Delivery", Text: v.Delivery},
		{Name: "Wire", Text: v.Wire}, {Name: "Max waiting", Text: show.Limit(v.MaxWaiting)},
		{Name: "Concurrency", Text: show.Limit(v.Concurrency)}, {Name: "Dead limit", Text: show.Limit(v.DeadLimit)},
		{Name: "Dead age", Text: v.deadAge()}, {Name: "Redisson order list", Text: onOff(v.OrderList)},
		{Name: "Redisson old clients", Text: onOff(v.OldClients)}, {Name: "Revision", Text: fmt.Sprint(v.Revision)},
	}
	if v.Created != nil {
		rows = append(rows, show.Row{Name: "Created", Text: show.Time(*v.Created)})
	}
	for _, g := range v.Groups {
		text := g.Name
		if g.QueueKey != "" {
			text += "  queue key " + g.QueueKey
		}
		rows = append(rows, show.Row{Name: "Group", Text: text})
	}
	return rows
}
