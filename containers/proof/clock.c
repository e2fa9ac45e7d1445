/* Shifts the wall clock of the programs that load it, by TERMFORGE_CLOCK_OFFSET seconds. Monotonic clocks, sleeps and time-outs
   keep their pace: whoever waits until a moment of the shifted clock waits as long as it meant to. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long shift(void) {
  static long seconds;
  static int known;
  if (!known) {
    const char *text = getenv("TERMFORGE_CLOCK_OFFSET");
    seconds = text ? atol(text) : 0;
    known = 1;
  }
  return seconds;
}

static int is_wall(clockid_t id) { return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE || id == CLOCK_TAI; }

int clock_gettime(clockid_t id, struct timespec *at) {
  int result = (int)syscall(SYS_clock_gettime, id, at);
  if (result == 0 && is_wall(id)) at->tv_sec += shift();
  return result;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
  int result = (int)syscall(SYS_gettimeofday, at, zone);
  if (result == 0 && at) at->tv_sec += shift();
  return result;
}

time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}

int timespec_get(struct timespec *at, int base) {
  return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, at) == 0 ? base : 0;
}

static struct timespec back(const struct timespec *until) {
  struct timespec real = *until;
  real.tv_sec -= shift();
  return real;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int pthread_cond_timedwait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m, const struct timespec *restrict until) {
  struct timespec now, real = back(until);
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now); /* a condition on the monotonic clock has deadlines near that one */
  return NEXT(pthread_cond_timedwait)(c, m, labs(until->tv_sec - now.tv_sec) < 10000000 ? until : &real);
}

int pthread_mutex_timedlock(pthread_mutex_t *restrict m, const struct timespec *restrict until) {
  struct timespec real = back(until);
  return NEXT(pthread_mutex_timedlock)(m, &real);
}

int sem_timedwait(sem_t *restrict s, const struct timespec *restrict until) {
  struct timespec real = back(until);
  return NEXT(sem_timedwait)(s, &real);
}

int clock_nanosleep(clockid_t id, int flags, const struct timespec *wanted, struct timespec *left) {
  struct timespec real = *wanted;
  if ((flags & TIMER_ABSTIME) && is_wall(id)) real = back(wanted);
  return NEXT(clock_nanosleep)(id, flags, &real, left);
}
