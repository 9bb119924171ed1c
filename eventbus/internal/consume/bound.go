package consume

import (
	"context"
	"time"
)

// hardAfter is how long after StopTimeout the stop goes on to wait for Redis: the
// pool gives handlers a second to heed the end of their contexts, and what has
// ended then is still to be written.
const hardAfter = 1500 * time.Millisecond

// bound bounds a stop, whatever Redis does: a call that waits for a reply ends only
// at its own deadline, so that calls are cut off hardAfter after StopTimeout, from
// the end of ctx on, and so is what would repeat them. What they would have written stays in flight, and is taken by
// others once the lease has run out. The function that it returns ends the bounding,
// and lets calls be made again.
func (c *Consumer) bound(ctx context.Context, cutOff ...func()) (over func()) {
	ended, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-ctx.Done():
		case <-ended:
			return
		}
		timer := time.NewTimer(c.cfg.StopTimeout + hardAfter)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ended:
			return
		}
		c.cfg.Log.Warn("the stop has taken its time; calls to redis are cut off, and what is unwritten will run again elsewhere")
		for _, cut := range cutOff {
			cut()
		}
		resume := c.cfg.Store.Halt()
		<-ended
		resume()
	}()
	return func() { close(ended); <-watched }
}
