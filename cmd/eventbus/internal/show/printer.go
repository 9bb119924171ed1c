package show

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// WriteError says that an answer could not be written.
type WriteError struct{ Err error }

func (e *WriteError) Error() string { return "write the answer: " + e.Err.Error() }
func (e *WriteError) Unwrap() error { return e.Err }

// output has its errors told as those of an answer.
type output struct{ w io.Writer }

func (o output) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	if err != nil {
		err = &WriteError{err}
	}
	return n, err
}

// Printer writes one command's answer. Nothing is written before Flush, or
// before a few kilobytes have come together.
type Printer struct {
	out  *bufio.Writer
	json bool
}

// NewPrinter writes to w, JSON or tables.
func NewPrinter(w io.Writer, asJSON bool) *Printer {
	return &Printer{out: bufio.NewWriterSize(output{w}, 32<<10), json: asJSON}
}

// JSON tells whether the answer is for programs.
func (p *Printer) JSON() bool { return p.json }

// Flush writes what has come together. Once that has failed, it fails again with
// the same *WriteError, and so does everything else.
func (p *Printer) Flush() error { return p.out.Flush() }

// FlushAfter flushes after what has come to err, and returns both, but no
// failure twice: what made err may have been that nothing can be written.
func (p *Printer) FlushAfter(err error) error {
	flushed := p.Flush()
	switch {
	case err == nil:
		return flushed
	case flushed == nil, errors.Is(err, flushed):
		return err
	}
	return errors.Join(err, flushed)
}

// Object writes v as one line of JSON, followed by more members, each a name
// and JSON text of one line that is taken as it is.
func (p *Printer) Object(v any, more ...Member) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("write the answer as JSON: %w", err)
	}
	line := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	for _, m := range more {
		line = append(line[:len(line)-1], fmt.Sprintf(`,%q:`, m.Name)...)
		line = append(append(line, m.JSON...), '}')
	}
	_, err := p.out.Write(append(escapeJSON(line), '\n'))
	return err
}

// Member is one member of an object, its value written already.
type Member struct {
	Name string
	JSON []byte
}

// Column is one column of a table of Ts.
type Column[T any] struct {
	Head string
	Text func(T) string
}

// List writes items: as objects, or as a table with one row each. An empty
// table has only its head, which is left out when head is false: for rows that go
// on under an earlier one, with the columns that they would have under it.
func List[T any](p *Printer, head bool, columns []Column[T], items []T) error {
	if p.json {
		for _, item := range items {
			if err := p.Object(item); err != nil {
				return err
			}
		}
		return nil
	}
	var out io.Writer = p.out
	if !head {
		out = &headless{out: out}
	}
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for i, c := range columns {
		cell(t, i, len(columns), c.Head)
	}
	for _, item := range items {
		for i, c := range columns {
			cell(t, i, len(columns), Text(c.Text(item)))
		}
	}
	return t.Flush()
}

// headless passes on all but the first line.
type headless struct {
	out  io.Writer
	past bool
}

func (h *headless) Write(b []byte) (int, error) {
	n := len(b)
	if !h.past {
		_, b, h.past = bytes.Cut(b, []byte("\n"))
	}
	_, err := h.out.Write(b)
	return n, err
}

// cell leaves no blanks at the end of a line.
func cell(w io.Writer, i, n int, text string) {
	end := "\t"
	if i == n-1 {
		end = "\n"
	}
	fmt.Fprint(w, text, end)
}

// Row is one line of a sheet.
type Row struct{ Name, Text string }

// Sheet writes one thing: as an object, or as a list of names and texts.
func (p *Printer) Sheet(v any, rows []Row, more ...Member) error {
	if p.json {
		return p.Object(v, more...)
	}
	t := tabwriter.NewWriter(p.out, 0, 8, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\n", r.Name, Text(r.Text))
	}
	return t.Flush()
}

// Say writes v as an object, or else the text as one line.
func (p *Printer) Say(v any, text string, args ...any) error {
	if p.json {
		return p.Object(v)
	}
	_, err := p.out.WriteString(Line(fmt.Sprintf(text, args...)) + "\n")
	return err
}

// Raw writes bytes as they are.
func (p *Printer) Raw(b []byte) error {
	_, err := p.out.Write(b)
	return err
}

// Exact shows d as it is, "-" for none.
func Exact(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return short(d)
}

const (
	day  = 24 * time.Hour
	year = 365 * day
)

// Duration shows d in at most three digits or so, "-" for none: from two days on in
// days and hours, from a year of 365 days on in years and days.
func Duration(d time.Duration) string {
	switch {
	case d == 0:
		return "-"
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return short(d.Round(100 * time.Millisecond))
	case d < 2*day:
		return short(d.Round(time.Second))
	case d < year:
		d = d.Round(time.Hour)
		return parts(d/day, "d", d%day/time.Hour, "h")
	default:
		d = d.Round(day)
		return parts(d/year, "y", d%year/day, "d")
	}
}

func parts(n time.Duration, unit string, rest time.Duration, of string) string {
	if rest == 0 {
		return fmt.Sprintf("%d%s", n, unit)
	}
	return fmt.Sprintf("%d%s%d%s", n, unit, rest, of)
}

// short leaves out the zeros with which a Duration's text ends: 1h0m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// Time shows a time to the second, in UTC, "-" for none.
func Time(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// Moment returns t for JSON: nil, which is null, when there is none.
func Moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Millisecond)
	return &t
}

// Or returns text, or "-" when there is none.
func Or(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// Count names n things by what one of them is called.
func Count[T int | int64](n T, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// Limit shows a limit of which 0 or less means none.
func Limit[T int | int64](n T) string {
	if n <= 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
