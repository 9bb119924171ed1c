package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

var (
	unitless = regexp.MustCompile(`^[+-]?\d+(\.\d+)?$`)
	inDays   = regexp.MustCompile(`^[+-]?(\d+)d$`)
	duration = regexp.MustCompile(`^[+-]?((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$`)
)

// durationHint says what may be meant by a text that is no duration, of what is right;
// "" where nothing tells.
func durationHint(text string, right func(d time.Duration) bool) string {
	var meant []string
	suggest := func(text string) {
		if d, err := time.ParseDuration(text); err == nil && right(d) {
			meant = append(meant, text)
		}
	}
	why := "it is without a unit"
	if unitless.MatchString(text) {
		suggest(text + "s")
		suggest(text + "ms")
	} else if m := inDays.FindStringSubmatch(text); m != nil {
		why = "there are no days"
		if days, err := strconv.ParseInt(m[1], 10, 32); err == nil {
			suggest(fmt.Sprintf("%dh", 24*days))
		}
	}
	if len(meant) == 0 {
		return ""
	}
	return why + "; " + strings.Join(meant, " or ") + " may be meant"
}

// tooLong tells that a text is a duration, and longer than one can be.
func tooLong(text string) bool {
	_, err := time.ParseDuration(text)
	return err != nil && duration.MatchString(text)
}

// withHint puts what may be meant behind what is right.
func withHint(says, text string, right func(d time.Duration) bool) error {
	if hint := durationHint(text, right); hint != "" {
		return errors.New(says + "; " + hint)
	}
	return errors.New(says)
}

// localTime is a time as RFC 3339 has it, but for its time zone.
var localTime = regexp.MustCompile(`^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?$`)

// flagError says what is right of a flag whose own words for it are Go's.
func flagError(err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedName() == "admin-token" {
		return fmt.Errorf("%w, since the list of processes would show it; --admin-token-file FILE or %s gives the token", err, tokenVariable)
	}
	var wrong *pflag.InvalidValueError
	if !errors.As(err, &wrong) {
		return err
	}
	right := ""
	switch wrong.GetFlag().Value.Type() {
	case "bool":
		right = "true or false is right"
	case "int", "int64":
		right = "a whole number is right"
		if errors.Is(err, strconv.ErrRange) {
			right = "it is too large"
		}
	default:
		return err
	}
	return fmt.Errorf("invalid argument %q for %q flag: %s", wrong.GetValue(), "--"+wrong.GetFlag().Name, right)
}
