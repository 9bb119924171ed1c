package consume

// roomFor tells how many events of one topic may start now, so that no topic
// keeps another one waiting. Each of the other topics keeps a small reserve of
// slots: its part of a quarter of the pool, at least one, as far as it does not
// use them already; all reserves together are at most that quarter.
//
//	size     slots of the pool
//	running  events under way, of all topics
//	own      of them, those of this topic
//	limit    the topic's own limit, 0 for none
//	others   events under way of each other topic
//
// A slow topic can therefore always fill three quarters of the pool, and a topic
// of which nothing is under way finds a slot at once, as long as there are no more
// topics than a quarter of the pool has slots.
func roomFor(size, running, own, limit int, others []int) int {
	reserve, each := 0, 0
	if len(others) > 0 {
		quarter := size / 4
		each = max(1, quarter/(len(others)+1))
		for _, n := range others {
			reserve += max(0, each-n)
		}
		reserve = min(reserve, quarter)
	}
	// What is kept back from others is for those that have not had their part.
	room := max(size-running-reserve, min(each-own, size-running))
	if limit > 0 {
		room = min(room, limit-own)
	}
	return max(room, 0)
}
