/* The processors of this computer: how many this process may use, which one a core's thread runs on, and how long it
 * pays to look for news, or for a lock, before sleeping.
 *
 * Waking a thread that sleeps takes tens of microseconds, as long as a small kernel. So a thread that waits looks first,
 * for twice as long as before where news came meanwhile, and for half as long where none did.
 */
#define _GNU_SOURCE

#include <sched.h>
#include <unistd.h>

#include "ports/host/state.h"

#ifndef TA_HOST_SPIN_US
#define TA_HOST_SPIN_US 200u /* the longest look; with 0 every wait sleeps */
#endif
#ifndef TA_HOST_PIN
#define TA_HOST_PIN 1 /* with 0 the system moves threads as it likes */
#endif
#define LOOKS_PER_CLOCK 32u
#define TRIES 200u

static uint64_t now_ns(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Does `news` differ from `seen` within `us`? What comes at once comes without a look at the clock. */
static int look(const uint32_t *news, uint32_t seen, uint32_t us)
{
    uint64_t deadline = 0;
    do {
        for (uint32_t i = 0; i < LOOKS_PER_CLOCK; i++) {
            if (TA_HOST_READ(*news) != seen)
                return 1;
            relax();
        }
        if (deadline == 0)
            deadline = now_ns() + (uint64_t)us * 1000u;
    } while (now_ns() < deadline);
    return 0;
}

int ta_host_look(const uint32_t *news, uint32_t seen, uint32_t *us)
{
    const int came = look(news, seen, *us);
    const uint32_t next = came ? *us * 2u : *us / 2u;
    *us = next < 1u ? 1u : next > TA_HOST_SPIN_US ? TA_HOST_SPIN_US : next;
    return came;
}

void ta_host_take(pthread_mutex_t *lock)
{
    for (uint32_t i = 0; i < TRIES; i++) {
        if (pthread_mutex_trylock(lock) == 0)
            return;
        relax();
    }
    (void)pthread_mutex_lock(lock);
}

#if defined(__linux__)
static uint32_t usable(cpu_set_t *cpus)
{
    return sched_getaffinity(0, sizeof *cpus, cpus) == 0 ? (uint32_t)CPU_COUNT(cpus) : 1u;
}

uint32_t ta_host_looks(uint32_t cores)
{
    cpu_set_t cpus;
    return cores < usable(&cpus) ? TA_HOST_SPIN_US : 0;
}

/* The `core`-th usable processor behind the one on which the host's thread is now, round about. */
void ta_host_pin(pthread_t thread, uint32_t core)
{
    cpu_set_t cpus, one;
    const uint32_t count = usable(&cpus);
    const int here = sched_getcpu();
    uint32_t left = core + 1u;
    if (!TA_HOST_PIN || here < 0 || left >= count)
        return;
    for (uint32_t cpu = (uint32_t)here;;) {
        cpu = (cpu + 1u) % CPU_SETSIZE;
        if (!CPU_ISSET(cpu, &cpus) || --left != 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        (void)pthread_setaffinity_np(thread, sizeof one, &one); /* where it may not, it runs anywhere */
        return;
    }
}
#else
uint32_t ta_host_looks(uint32_t cores)
{
#ifdef _SC_NPROCESSORS_ONLN
    return (long)cores < sysconf(_SC_NPROCESSORS_ONLN) ? TA_HOST_SPIN_US : 0;
#else
    (void)cores;
    return 0;
#endif
}

void ta_host_pin(pthread_t thread, uint32_t core)
{
    (void)thread;
    (void)core;
}
#endif
