// Package settings reads the settings file: strict YAML, in which an unknown
// key or a wrong value is an error that names its line and says what would be
// right. All that is wrong is found in one reading, and nothing is opened,
// connected to or changed by it.
package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/seed4933/eventbus/admin"
	"github.com/seed4933/eventbus/eventbus"
)

// maxSize bounds what is read, in bytes.
const maxSize = 4 << 20

// Where the HTTP side and the Thrift admin service listen unless the file says
// otherwise.
const (
	DefaultListen = "127.0.0.1:8080"
	DefaultAdmin  = admin.DefaultListen
)

// File is a settings file. A zero field was left out.
type File struct {
	Path        string
	Redis       string
	Namespace   string
	Group       string
	Concurrency int
	MaxPayload  int // bytes
	StopTimeout time.Duration
	HTTP        HTTP
	Admin       Admin
	Topics      []Topic

	redisLine int
}

// HTTP is the HTTP side.
type HTTP struct {
	// Listen is host:port; "" for none. Defaults to DefaultListen.
	Listen string
	line   int
}

// Admin is the Thrift admin service.
type Admin struct {
	// Listen is host:port; "" for none. Defaults to DefaultAdmin.
	Listen string
	Token  string
	// Cert, Key and ClientCA are files, "" for none. With Cert and Key, clients speak
	// TLS; with ClientCA they need certificates.
	Cert, Key, ClientCA string
	line                int
}

// Topic is one topic of the file.
type Topic struct {
	Name string
	// Update and Wire hold what the file says of it; the rest is nil.
	Update eventbus.TopicUpdate
	Wire   *eventbus.Wire
	// QueueKey is the list that the group of the file is to use; nil when the
	// file does not say.
	QueueKey *string
	Handlers []Handler

	line int
}

// Type is a type of ready-made handler.
type Type string

// Types of handlers.
const (
	TypeFile    Type = "file"
	TypeLog     Type = "log"
	TypeWebhook Type = "webhook"
	TypeThrift  Type = "thrift"
)

// Handler is one handler of a topic.
type Handler struct {
	ID      string
	Type    Type
	Path    string            // of TypeFile
	URL     string            // of TypeWebhook
	Headers map[string]string // of TypeWebhook
	Thrift  Thrift            // of TypeThrift
	Config  eventbus.HandleConfig

	line int
}

// Problem is one thing that is wrong, and what would be right.
type Problem struct {
	Line int // 0 when it is not of one line
	Text string
	err  error
}

// Error is all that is wrong with a file.
type Error struct {
	Path     string
	Problems []Problem
}

// shownProblems is how many are told in full.
const shownProblems = 5

func (e *Error) Error() string {
	var parts []string
	for _, p := range e.Problems[:min(len(e.Problems), shownProblems)] {
		where := e.Path
		if p.Line > 0 {
			where = fmt.Sprintf("%s:%d", e.Path, p.Line)
		}
		parts = append(parts, where+": "+p.Text)
	}
	if more := len(e.Problems) - shownProblems; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}

// Unwrap gives the errors behind the problems, where there are any.
func (e *Error) Unwrap() []error {
	var all []error
	for _, p := range e.Problems {
		if p.err != nil {
			all = append(all, p.err)
		}
	}
	return all
}

// At returns err as a problem of the line where the topic stands.
func (f *File) At(t *Topic, err error) error { return f.problem(t.line, err) }

// AtHandler returns err as a problem of the line where the handler stands.
func (f *File) AtHandler(h *Handler, err error) error { return f.problem(h.line, err) }

// AtRedis returns err as a problem of the line that says where Redis is.
func (f *File) AtRedis(err error) error { return f.problem(f.redisLine, err) }

// AtHTTP returns err as a problem of the line that says where to listen.
func (f *File) AtHTTP(err error) error {
	if f.HTTP.line == 0 {
		return err
	}
	return f.problem(f.HTTP.line, err)
}

// AtAdmin returns err as a problem of the section admin.
func (f *File) AtAdmin(err error) error {
	if f.Admin.line == 0 {
		return err
	}
	return f.problem(f.Admin.line, err)
}

func (f *File) problem(line int, err error) error {
	return &Error{Path: f.Path, Problems: []Problem{{Line: line, Text: inKeys(err), err: err}}}
}

// Load reads and checks a settings file. What is wrong in it is an *Error.
func Load(path string) (*File, error) {
	text, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("read settings file: %w", err)
	}
	return Parse(path, text)
}

func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read from
	text, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxSize {
		return nil, fmt.Errorf("%s is larger than %d bytes; it is no settings file", path, maxSize)
	}
	return text, nil
}

// Parse reads the text of a settings file; path is only what errors say.
func Parse(path string, text []byte) (*File, error) {
	f := &File{Path: path, HTTP: HTTP{Listen: DefaultListen}, Admin: Admin{Listen: DefaultAdmin}}
	d := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return f, nil // an empty file says nothing
	case err != nil:
		return nil, f.syntax(err)
	}
	switch err := d.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, f.syntax(err)
	default:
		return nil, f.problem(second.Line, errors.New("a second document begins; one is right"))
	}
	r := newReader()
	defer r.close()
	r.file(f, doc.Content[0])
	if len(r.problems) > 0 {
		return nil, &Error{Path: path, Problems: r.problems}
	}
	return f, nil
}

// syntax passes on what the YAML parser says, which holds the line.
func (f *File) syntax(err error) error {
	return &Error{Path: f.Path, Problems: []Problem{{Text: "this is not YAML: " + strings.TrimPrefix(err.Error(), "yaml: "), err: err}}}
}
