package cli

import (
	"strings"

	"github.com/seed4933/eventbus/cmd/eventbus/internal/redisurl"
)

// reachFlags are those of this call by which another one reaches the same server
// and group. What the environment says is there for the other one too; a URL that
// may hold a password is left to whoever knows it.
func (a *app) reachFlags() []string {
	var all []string
	for _, name := range []string{"redis", "namespace", "group", "config"} {
		f := a.flags.set.Lookup(name)
		value := f.Value.String()
		if !f.Changed || name == "redis" && (value == redisurl.Embedded || strings.ContainsAny(value, "@?")) {
			continue
		}
		all = append(all, "--"+name, shellWord(value))
	}
	return all
}

// shellWord quotes a word that a shell would take apart or read otherwise.
func shellWord(text string) string {
	if !strings.ContainsAny(text, " \t\n\"'\\$`&|;<>()*?[]#~!{}") {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
