package port

import (
	"sync/atomic"
	"time"
)

// warnEvery is how often what strangers do is worth a warning.
const warnEvery = time.Minute

// Seldom tells which of the things that strangers can make happen at will are worth a
// warning: the first, and then one a minute. The others belong at level debug, or they
// would fill the log.
type Seldom struct{ last atomic.Int64 }

// Worth reports whether this one is. It may be called by several goroutines at once.
func (s *Seldom) Worth() bool {
	now, last := time.Now().UnixNano(), s.last.Load()
	return (last == 0 || now-last >= int64(warnEvery)) && s.last.CompareAndSwap(last, now)
}
