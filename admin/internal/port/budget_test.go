package port

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// newTestBudget has a common part of three grains and a lane of eight.
func newTestBudget() *budget {
	return &budget{common: 3 * grain, lane: 8 * grain, owners: map[*account]struct{}{}}
}

func TestBudget_Free(t *testing.T) {
	t.Parallel()
	b := &budget{}
	a := b.open(nil, nil)
	require.NoError(t, a.take(freeCost, time.Now()))
	require.ErrorIs(t, a.take(1, time.Now()), errTooCostly)
}

// Messages that together cost more than there is: one has the lane, and when that is
// done the others get it, by turns the one that has begun last and who has asked first.
func TestBudget_Lane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTestBudget()
		until := time.Now().Add(time.Hour)
		accounts := []*account{b.open(nil, nil), b.open(nil, nil), b.open(nil, nil), b.open(nil, nil)}
		for _, a := range accounts[:3] {
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
		require.Equal(t, []int{3, 1, 2}, order)
		require.EqualValues(t, 3*grain, b.common)
		require.Nil(t, b.holder)
	})
}

// Every other time the smallest message has the lane, in MiB; one whose size is not known
// counts as the largest.
func TestBudget_Smallest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTestBudget()
		b.common = 0
		until := time.Now().Add(time.Hour)
		holder := b.open(nil, nil)
		require.NoError(t, holder.take(grain, until))
		var order []int
		for i, size := range []int{15 << 20, 3 << 20, 100, 2 << 20, 1000, unsized} {
			a := b.open(nil, nil)
			a.size = size
			go func() {
				require.NoError(t, a.take(4*grain, until))
				order = append(order, i)
				a.close()
			}()
			synctest.Wait()
		}
		holder.close()
		synctest.Wait()
		require.Equal(t, []int{4, 0, 2, 1, 3, 5}, order)
	})
}

// Who pauses on the lane loses it to the next, with little of it taken; who is behind
// loses its connection, and so does who is waited for in the lane for too long.
func TestBudget_Hurry(t *testing.T) {
	t.Parallel()
	const ahead = -time.Hour
	for _, c := range []struct {
		lag, after time.Duration
		slow, next bool // what becomes of the holder, and whether the next has the lane
	}{
		{ahead, mayHold, false, false},
		{ahead, mayHold + 2*hurryEvery, true, false}, // not before the holder gives it back
		{mayPause + 1, time.Minute, false, true},
		{mayLag + 1, time.Minute, true, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newTestBudget()
			client, _ := net.Pipe()
			holder := b.open(newTable(1).add(client), &pace{lag: c.lag, waited: time.Hour, bytes: 1 << 40, since: time.Now()})
			require.NoError(t, holder.take(4*grain+freeCost, time.Now()))
			next := b.open(nil, nil)
			err := next.take(4*grain+freeCost, time.Now().Add(c.after))
			require.Equal(t, c.slow, holder.slow.Load(), c)
			closed := false
			select {
			case <-holder.entry.gone:
				closed = true
			default:
			}
			require.Equal(t, c.slow, closed)
			if !c.next {
				require.ErrorIs(t, err, errNoMemory)
			} else {
				require.NoError(t, err)
				require.EqualValues(t, -grain, b.common, "three grains are there, four were taken")
				require.Equal(t, b.holder, next)
			}
			next.close()
			holder.close()
			require.EqualValues(t, 3*grain, b.common)
			require.Empty(t, b.owners)
		})
	}
}

// Only so much may be owed.
func TestBudget_Debt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(0, 2*maxDebt)
		client, _ := net.Pipe()
		holder := b.open(newTable(1).add(client), &pace{lag: mayLag, since: time.Now()})
		require.NoError(t, holder.take(maxDebt+freeCost+1, time.Now()))
		require.ErrorIs(t, b.open(nil, nil).take(grain+freeCost, time.Now().Add(time.Minute)), errNoMemory)
		require.Equal(t, b.holder, holder)
	})
}

func TestBudget_GivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTestBudget()
		holder := b.open(nil, nil)
		require.NoError(t, holder.take(4*grain, time.Now()))
		began := time.Now()
		late := b.open(nil, nil)
		require.ErrorIs(t, late.take(4*grain, began.Add(time.Minute)), errNoMemory)
		require.Equal(t, time.Minute, time.Since(began))

		gone := enter(t, newTable(1), calling)
		gone.close()
		require.ErrorIs(t, b.open(gone, nil).take(4*grain, began.Add(time.Hour)), errNoMemory)
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
		holder, much, little := b.open(nil, nil), b.open(nil, nil), b.open(nil, nil)
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

// A call that needs room has it, or the lane: one at a time.
func TestBudget_Room(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTestBudget()
		until := time.Now().Add(time.Minute)
		little, much, more := b.open(nil, nil), b.open(nil, nil), b.open(nil, nil)
		require.NoError(t, little.room(3*grain, until))
		require.Zero(t, b.common)
		require.NoError(t, much.room(1000*grain, until))
		require.Equal(t, b.holder, much)
		require.NoError(t, much.room(1000*grain, until), "it has all there is")
		require.NoError(t, much.take(8*grain, until), "there is room for its answer")
		require.ErrorIs(t, more.room(1000*grain, until), errNoMemory)
		until = until.Add(time.Minute)
		go much.close()
		require.NoError(t, more.room(1000*grain, until))
		little.close()
		more.close()
		require.EqualValues(t, 3*grain, b.common)
		require.Nil(t, b.holder)

		more.barred = errLongHead
		require.ErrorIs(t, more.room(1, until), errLongHead)
	})
}
