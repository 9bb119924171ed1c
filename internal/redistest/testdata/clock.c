// A clock that is wrong by so many seconds, for a process that loads this before
// its C library.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long skew(void) {
	const char *text = getenv("EVENTBUS_TEST_SKEW");
	return text ? atol(text) : 0;
}

int clock_gettime(clockid_t id, struct timespec *now) {
	int failed = syscall(SYS_clock_gettime, id, now);
	if (!failed && id == CLOCK_REALTIME) now->tv_sec += skew();
	return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
	struct timespec t;
	int failed = clock_gettime(CLOCK_REALTIME, &t);
	if (failed) return failed;
	now->tv_sec = t.tv_sec;
	now->tv_usec = t.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *now) {
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	if (now) *now = t.tv_sec;
	return t.tv_sec;
}
