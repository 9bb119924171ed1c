package consume

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// However many entries are put off for one handler, they come back one after
// another; those of other handlers do not wait for them, and the row begins anew
// once it has passed.
func TestWhatIsPutOffComesBackSpread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p putOffs
		a, b := row{address{"t", "a"}, time.Minute}, row{address{"t", "b"}, time.Minute}
		const many = 10_000
		for i := range many {
			require.Equal(t, time.Minute+time.Duration(i)*putOffEvery, p.after(a, time.Minute))
		}
		require.Equal(t, time.Minute, p.after(b, time.Minute))
		soon := row{a.address, time.Second}
		require.Equal(t, time.Second, p.after(soon, time.Second), "what is put off shortly does not wait for what is put off for long")
		<-time.After(time.Minute + many*putOffEvery)
		require.Equal(t, time.Second, p.after(a, time.Second))
	})
}

func TestPutOffsAreBounded(t *testing.T) {
	t.Parallel()
	var p putOffs
	for i := range 10 * maxPutOff {
		p.after(row{address{"t", string(rune(i))}, time.Second}, time.Second)
	}
	require.LessOrEqual(t, len(p.last), maxPutOff+1)
}
