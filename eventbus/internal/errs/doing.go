package errs

// An error says once what was being done. What does something for the bus's user
// calls others that say themselves what they do, since the log has their words
// alone; to the user those are steps, of which he has asked for none, and "delete
// topic: change topic:" would make him look for a change. So the words of the whole
// stand in place of those of the step that has failed.

// Doing returns err behind the words for what was being done, and in place of such
// words that err begins with; nil for nil.
func Doing(err error, what string) error {
	if err == nil {
		return nil
	}
	return &doing{what, Cause(err)}
}

// Cause returns err without the words that Doing has given it.
func Cause(err error) error {
	if d, ok := err.(*doing); ok { // not one further down: what stands before that belongs to it
		return d.err
	}
	return err
}

type doing struct {
	what string
	err  error
}

func (d *doing) Error() string { return d.what + ": " + d.err.Error() }
func (d *doing) Unwrap() error { return d.err }
