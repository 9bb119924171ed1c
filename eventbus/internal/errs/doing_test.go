package errs_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed4933/eventbus/eventbus/internal/errs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDoingSaysItOnce(t *testing.T) {
	t.Parallel()
	step := errs.Doing(errs.TopicNotFound, `change topic "a"`)
	require.EqualError(t, step, `change topic "a": topic not found`)
	whole := errs.Doing(errs.Doing(step, "remove topic"), `delete topic "a"`)
	require.EqualError(t, whole, `delete topic "a": topic not found`)
	require.ErrorIs(t, whole, errs.TopicNotFound)
	require.Same(t, errs.TopicNotFound, errs.Cause(whole))
	require.Same(t, errs.TopicNotFound, errs.Cause(errs.TopicNotFound))

	kept := errs.Doing(fmt.Errorf("half done: %w", step), "delete topic")
	require.EqualError(t, kept, `delete topic: half done: change topic "a": topic not found`)

	require.NoError(t, errs.Doing(nil, "delete topic"))
	require.NoError(t, errs.Cause(nil))
	require.Equal(t, []error{errors.Unwrap(step)}, []error{errs.TopicNotFound})
}
