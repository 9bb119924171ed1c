package admin

import (
	thriftbus "github.com/seed4933/eventbus/gen-go/eventbusv1"
	"github.com/seed4933/eventbus/internal/idl"
)

func fromPage(p *thriftbus.Page) Page {
	if p == nil {
		return Page{}
	}
	return Page{Limit: int(deref(p.Limit)), Cursor: deref(p.Cursor)}
}

func toPage(p Page) *thriftbus.Page {
	limit := idl.Int32(p.Limit)
	out := &thriftbus.Page{Cursor: &p.Cursor}
	if limit != 0 {
		out.Limit = &limit
	}
	return out
}
