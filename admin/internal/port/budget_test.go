package port

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// newTestBudget has a common part of three grains and a lane of eight.
func newTestBudget() *budget { return &budget{common: 3 * grain, lane: 8 * grain} }

func TestBudget_Free(t *testing.T) {
	t.Parallel()
	b := &budget{}
	a := b.open(nil)
	require.NoError(t, a.take(freeCost, time.Now()))
	require.ErrorIs(t, a.take(1, time.Now()), errTooCostly)
}

// Messages that together cost more than there is: one has the lane, the next
// one gets it when that is done, in the order of asking.
func TestBudget_Lane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTestBudget()
		until := time.Now().Add(time.Hour)
		accounts := []*account{b.open(nil), b.open(nil), b.open(nil)}
		for _, a := range accounts {
			require.NoError(t, a.take(grain+freeCost, until))
		}
		first := accounts[0]
		require.NoError(t, first.take(3*grain, until), "the lane")
		var order []int
		for i, a := range accounts[1:] {
			go func() {
				require.NoError(t, a.take(4*grain, until))
				order = append(order, i+1)
				a.close()
			}()
			synctest.Wait()
		}
		require.Empty(t, order)
		require.NoError(t, first.take(5*grain, until), "the whole lane")
		require.ErrorIs(t, first.take(1, until), errTooCostly)
		first.close()
		synctest.Wait()
		require.Equal(t, []int{1, 2}, order)
		require.EqualValues(t, 3*grain, b.common)
		require.Nil(t, b.holder)
	})
}

func TestBudget_GivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTestBudget()
		holder := b.open(nil)
		require.NoError(t, holder.take(4*grain, time.Now()))
		began := time.Now()
		late := b.open(nil)
		require.ErrorIs(t, late.take(4*grain, began.Add(time.Minute)), errNoMemory)
		require.Equal(t, time.Minute, time.Since(began))

		gone := make(chan struct{})
		close(gone)
		require.ErrorIs(t, b.open(gone).take(4*grain, began.Add(time.Hour)), errNoMemory)
		require.Equal(t, time.Minute, time.Since(began))
		require.Zero(t, b.waiting.Len())
		holder.close()
		require.NoError(t, late.take(4*grain, time.Now()))
	})
}

// Who wants little does not overtake who wants much, or that would never come;
// and is not held up by one that has given up.
func TestBudget_InOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTestBudget()
		holder, much, little := b.open(nil), b.open(nil), b.open(nil)
		require.NoError(t, holder.take(4*grain+freeCost, time.Now()))
		until := time.Now().Add(time.Minute)
		go func() { require.ErrorIs(t, much.take(4*grain+freeCost, until), errNoMemory) }()
		synctest.Wait()
		require.NoError(t, little.take(2*grain, until.Add(time.Minute)))
		require.Equal(t, until, time.Now(), "it took memory before who had asked first, or long after")
		little.close()
		holder.close()
	})
}
