package admin_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// declaration finds what an IDL declares at the beginning of a line: a type, a
// field, a value or a method.
var declaration = regexp.MustCompile(`^(?:(?:struct|union|exception|enum|service) (\w+)|\s+\d+: .*?(\w+)(?: = .*)?[,;]?\s*$|\s+(\w+) = \d+|\s+[\w<>, ]+ (\w+)\()`)

// bare returns what an IDL declares without a comment above it.
func bare(idl string) (names []string) {
	above, of := "", ""
	for line := range strings.Lines(idl) {
		line = strings.TrimRight(line, "\n")
		if m := declaration.FindStringSubmatch(line); m != nil && !strings.HasPrefix(strings.TrimSpace(line), "throws") {
			name := strings.Join(m[1:], "")
			if m[1] != "" {
				of = name
			} else {
				name = of + "." + name
			}
			if !strings.HasSuffix(above, "*/") {
				names = append(names, name)
			}
		}
		above = line
	}
	return names
}

// Who writes a client in another language has the IDL alone to read.
func TestIDLSaysOfEverythingWhatItIs(t *testing.T) {
	t.Parallel()
	idl, err := os.ReadFile("../thrift/eventbus.thrift")
	require.NoError(t, err)
	require.Empty(t, bare(string(idl)), "these have no comment above them")
}

func TestBareFindsEachKind(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		"S", "S.plain", "S.chosen", "S.list", "S.preset", "S.spaced", "E", "E.ONE", "E.TWO", "X.message", "V.call", "V.more",
	}, bare(`
struct S {
  1: string plain
  2: optional i64 chosen
  3: map<string, list<Group>> list,
  4: i32 preset = 5
  /** Not that of the next. */

  5: i32 spaced
  /** Its size in bytes. */
  6: i32 size
}
enum E {
  ONE = 1
  TWO = 2,
  /** The last. */
  THREE = 3
}
/** It is wrong. */
exception X {
  1: string message
  /**
   * Why.
   */
  2: string code
}
/** What there is to do. */
service V extends U {
  Topic call(1: string name)
    throws (1: X wrong)
  list<string> more(1: string name, 2: i64 n) throws (1: X wrong)
  /** Has no answer. */
  oneway void less(1: string name)
}
`))
}
