package eventbus

// Validate returns what is wrong with the filter, as Replay and Discard do before
// they touch anything: ErrInvalidArgument, nil when it can be used.
func (filter FailureFilter) Validate() error {
	fallback(&filter.State, Dead)
	return filter.check()
}
