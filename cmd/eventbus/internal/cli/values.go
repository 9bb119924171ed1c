package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seed4933/eventbus/eventbus"
)

// ageValue is a duration, or -1 for no limit.
type ageValue time.Duration

func (v *ageValue) Type() string { return "duration" }

func (v *ageValue) String() string {
	if *v == 0 {
		return "" // so that help shows no default of its own
	}
	return time.Duration(*v).String()
}

func (v *ageValue) Set(text string) error {
	if text == "-1" {
		*v = -1
		return nil
	}
	right := func(d time.Duration) bool { return d > 0 }
	d, err := time.ParseDuration(text)
	if err != nil || !right(d) {
		return withHint("a duration above 0 such as 720h is right, or -1 for no limit", text, right)
	}
	*v = ageValue(d)
	return nil
}

// limitValue is a number above zero, or -1 for no limit.
type limitValue int64

func (v *limitValue) Type() string { return "number" }

func (v *limitValue) String() string {
	if *v == 0 {
		return "" // as above
	}
	return strconv.FormatInt(int64(*v), 10)
}

func (v *limitValue) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n != -1 && n < 1 {
		return errors.New("a number above zero is right, or -1 for no limit")
	}
	*v = limitValue(n)
	return nil
}

// maxSpan is the greatest duration that the bus takes for a handler: a year.
const maxSpan = 365 * 24 * time.Hour

// spanValue is a duration that a handler can have. It is checked as it is read,
// before a server is asked whether there is such a handler.
type spanValue time.Duration

func (v *spanValue) Type() string { return "duration" }

func (v *spanValue) String() string { return (*ageValue)(v).String() }

func (v *spanValue) Set(text string) error {
	right := func(d time.Duration) bool { return time.Millisecond <= d && d <= maxSpan }
	d, err := time.ParseDuration(text)
	if err != nil || !right(d) {
		return withHint(fmt.Sprintf("a duration from 1ms to %v, such as 5s, is right", maxSpan), text, right)
	}
	*v = spanValue(d)
	return nil
}

// countValue is a whole number that is not below least.
type countValue struct {
	to    *int
	least int
}

func (v *countValue) Type() string { return "number" }

func (v *countValue) String() string {
	if v.to == nil || *v.to == 0 {
		return "" // as above
	}
	return strconv.Itoa(*v.to)
}

func (v *countValue) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < v.least {
		return fmt.Errorf("a whole number of at least %d is right", v.least)
	}
	*v.to = n
	return nil
}

// timeValue is a moment: a time as RFC 3339 has it, or how long ago it was.
type timeValue time.Time

func (v *timeValue) Type() string { return "time" }

func (v *timeValue) String() string { return (*momentValue)(v).String() }

func (v *timeValue) Set(text string) error {
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		*v = timeValue(time.Now().Add(-ago))
		return nil
	}
	if err := (*momentValue)(v).Set(text); err != nil && localTime.MatchString(text) {
		return err
	} else if err != nil {
		return errors.New("a time such as 2026-01-31T12:00:00Z is right, or how long ago it was, such as 24h")
	}
	return nil
}

// momentValue is a time as RFC 3339 has it. A duration could be meant as one from
// now, and is none.
type momentValue time.Time

func (v *momentValue) Type() string { return "time" }

func (v *momentValue) String() string {
	if t := time.Time(*v); !t.IsZero() {
		return t.Format(time.RFC3339)
	}
	return ""
}

func (v *momentValue) Set(text string) error {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		if localTime.MatchString(text) {
			return fmt.Errorf("its time zone is missing; %[1]sZ, or one such as %[1]s+01:00, is right", strings.Replace(text, " ", "T", 1))
		}
		return errors.New("a time such as 2026-01-31T12:00:00Z is right; how long from now goes with --delay")
	}
	*v = momentValue(t)
	return nil
}

// delayValue is any duration.
type delayValue time.Duration

func (v *delayValue) Type() string { return "duration" }

func (v *delayValue) String() string { return (*ageValue)(v).String() }

func (v *delayValue) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		if tooLong(text) {
			return fmt.Errorf("at most %v, ten years, are right", eventbus.MaxDelay)
		}
		if _, err := time.Parse(time.RFC3339, text); err == nil || localTime.MatchString(text) {
			return errors.New("a duration such as 90s or 1h30m is right; a time goes with --at")
		}
		return withHint("a duration such as 90s or 1h30m is right", text, func(d time.Duration) bool { return d <= eventbus.MaxDelay })
	}
	*v = delayValue(d)
	return nil
}

// pauseValue is a time between two readings.
type pauseValue time.Duration

func (v *pauseValue) Type() string { return "duration" }

func (v *pauseValue) String() string { return time.Duration(*v).String() }

func (v *pauseValue) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return withHint("a duration such as 500ms or 5s is right", text, func(d time.Duration) bool { return d >= 0 })
	}
	*v = pauseValue(d)
	return nil
}
