/* Shared by the files of the host port.
 *
 * A lane is a thread with a queue: one per DMA channel, one per started instance but the host's. Lanes are
 * numbered as timelines are. The host hands work to a lane that is awake in a place of its queue, and a lane tells of
 * completions by a counter. A lock guards what is rare: falling asleep and waking, faults, dropping, registers. Bytes
 * that were written before a place was filled or a counter moved are seen by the thread that reads it, so operands need
 * no lock of their own as long as the step table waits where it must: a thread sanitizer finds where it does not.
 */
#ifndef TARGET_ARCH_PORT_HOST_STATE_H
#define TARGET_ARCH_PORT_HOST_STATE_H

#include <pthread.h>
#include <time.h>

#include "ports/host/host.h"
#include "ports/host/simulator.h"
#include "target_arch/runtime.h"

#define TA_HOST_QUEUE_DEPTH 32u /* a power of two, so that slots continue where counters wrap */
#define TA_HOST_MAX_WINDOWS 64u
#ifndef TA_HOST_PATIENCE_US
#define TA_HOST_PATIENCE_US 2000000u /* for a device that was ordered to halt */
#endif

/* Different threads write what is before and behind this: it begins a line of the cache. */
#define TA_HOST_APART __attribute__((aligned(64)))

typedef struct ta_host_work {
    const ta_copy *copy;         /* a DMA transfer, */
    const ta_dispatch *dispatch; /* or C functions, one call behind the other, */
    const ta_simulator *command; /* or what the registers say */
    uint32_t count;              /* pieces of work: so many places of the queue, of which the first one has this */
} ta_host_work;

/* A place of a queue, in a line of its own. It is free while `count` is 0: the host writes that last, and the lane takes the
 * order and writes 0. */
typedef struct ta_host_place {
    TA_HOST_APART ta_host_work order;
} ta_host_place;

/* What two threads read and write without the lock. */
#define TA_HOST_READ(place) __atomic_load_n(&(place), __ATOMIC_ACQUIRE)
#define TA_HOST_WRITE(place, value) __atomic_store_n(&(place), (value), __ATOMIC_RELEASE)
/* The same for a pair of places, of which each of two threads writes one and then reads the other: one of them at least
 * sees what the other wrote, so that none sleeps while the other believes it awake. */
#define TA_HOST_READ_OTHER(place) __atomic_load_n(&(place), __ATOMIC_SEQ_CST)
#define TA_HOST_WRITE_FIRST(place, value) __atomic_store_n(&(place), (value), __ATOMIC_SEQ_CST)

typedef struct ta_host_lane {
    /* Seldom written: each thread has a copy of this in its cache. */
    pthread_t thread;
    pthread_cond_t changed;
    uint32_t number;
    uint32_t alive;   /* there is a thread */
    uint32_t leaving; /* it shall end */
    uint32_t fail_armed;
    uint32_t fail_skip;
    ta_status fail_status;
    uint32_t fail_late; /* it fails when the work is done */
    uint32_t random;
    uint32_t released; /* in lazy mode: the value of the farthest wait */
    uint32_t dropping; /* the present work and the queued work shall not complete */
    uint32_t waiting;  /* the host sleeps until something completes */
    uint32_t awake;    /* the lane may be at work, without the lock */
    ta_status fault;   /* of the last completed work, written before it completes; the lane halts until the host cleared it */
    /* The host's own. */
    TA_HOST_APART uint32_t submitted;
    uint32_t seen; /* so many are known to be complete, without a fault */
    uint32_t wait_us; /* how long it looks for completions before it sleeps; 0: not at all */
    /* Written by the host, and emptied by the lane. */
    ta_host_place queue[TA_HOST_QUEUE_DEPTH];
    /* Written by the lane, which does not read it: a host that looks for completions has taken the line meanwhile. While it
     * is not awake, written by the host. */
    TA_HOST_APART uint32_t completed;
    /* The lane's own. */
    TA_HOST_APART uint32_t done; /* what it wrote to `completed` */
    uint32_t idle_us; /* how long it looks for work before it sleeps */
    uint32_t left; /* pieces of its order behind the present one */
    ta_host_work order; /* the present piece */
} ta_host_lane;

typedef struct ta_host_instance {
    uint32_t loaded;
    uint32_t started;
    uint32_t reaches_all; /* it observes the memories of all arenas */
    uint32_t registers[TA_SIMULATOR_MAX_REGISTERS];
} ta_host_instance;

typedef struct ta_host_state {
    pthread_mutex_t lock;
    const ta_simulation *simulation; /* NULL: not set; the port does not open */
    const ta_soc *soc; /* NULL: not open */
    const ta_bundle *bundle;
    uint32_t all_visible; /* the host sees the memories of all arenas */
    uint32_t jitter;
    uint32_t lazy;
    uint32_t first_value;
    ta_host_lane lanes[TA_MAX_TIMELINES];
    ta_host_instance instances[TA_MAX_TIMELINES];
} ta_host_state;

extern ta_host_state ta_host;

/* memory.c: the places of memories. Nothing here locks; tables do not change while the port is open. */

/* TA_ERROR_ARGUMENT where the simulation lacks a memory, or a simulator, that the bundle needs. */
ta_status ta_host_check(const ta_soc *soc, const ta_bundle *bundle);
/* Fill every memory the host cannot see with TA_POISON, so that bytes that were not copied there are noticed. */
void ta_host_poison(void);
/* The byte itself, for a DMA channel, which reaches all memories. NULL where nothing backs it. */
uint8_t *ta_host_byte(ta_ref where);
/* TA_ERROR_ARGUMENT where the instance does not observe the memory; else where it sees the place. */
ta_status ta_host_address(uint32_t instance, ta_ref where, ta_address *address);
/* The memories that the instance observes. `windows` holds TA_HOST_MAX_WINDOWS. */
uint32_t ta_host_windows(uint32_t instance, ta_window *windows);
/* Pointers for a C function that runs on the instance. TA_ERROR_ARGUMENT as in ta_host_address. */
ta_status ta_host_pointers(const ta_dispatch *dispatch, void **pointers);
/* Does the instance observe the memories of all arenas? */
int ta_host_reaches_all(uint32_t instance);
/* Does it observe those of all operands? */
int ta_host_reaches(const ta_dispatch *dispatch);
/* Move the rows of a copy that begins at these bytes. Runs of one row may overlap. */
void ta_host_rows(const ta_copy *copy, uint8_t *target, const uint8_t *source);
/* The simulator of an instance; NULL where it runs C functions. */
const ta_simulator *ta_host_simulator(uint32_t instance);
/* The core of an instance that does not share this program; NULL for any other, and for channels' lanes. */
const ta_core *ta_host_core(uint32_t instance);
const ta_core *ta_host_lane_core(const ta_host_lane *lane);

/* cache.c: the host's cache, where the program asked for one. Only the core's thread calls these, but for
 * ta_host_transfer. */

/* TA_ERROR_ARGUMENT where the store is too small for the cached arenas. */
ta_status ta_host_cache_open(const ta_soc *soc, const ta_bundle *bundle);
/* Write back a few lines and fetch them again, as a cache may at any time. */
void ta_host_cache_evict(void);
/* Write back the lines that hold these bytes, or drop them. */
void ta_host_cache_maintain(const uint8_t *start, uint32_t bytes, int clean);
/* A copy by a DMA channel: it sees what is behind the cache. */
void ta_host_transfer(const ta_copy *copy);

/* images.c: TA_ERROR_IMAGE where an image is not what the load process of the instance takes. */
ta_status ta_host_image(uint32_t instance, const uint8_t *image, uint32_t bytes);

/* checksum.c: as the port's crc32c. */
ta_status ta_host_crc32c(const void *start, uint32_t bytes, uint32_t *crc);

/* cpus.c. */

/* Take a lock. Who has it lets go of it within a microsecond, and to sleep until then takes tens: so try first. */
void ta_host_take(pthread_mutex_t *lock);
/* Wait up to `us` for `news` to differ from `seen`, without sleeping; 1 if it does. `us` follows what paid. */
int ta_host_look(const uint32_t *news, uint32_t seen, uint32_t *us);
/* How long to look at first where so many cores have threads of their own: 0 where the host leaves them no processor. */
uint32_t ta_host_looks(uint32_t cores);
/* Give the thread of a core a processor of its own, numbered from 0 behind the caller's, where there are enough. */
void ta_host_pin(pthread_t thread, uint32_t core);

/* lanes.c. */

/* The caller holds the lock in these, and they release it while they wait. */
ta_status ta_host_lane_open(uint32_t number);
/* Ends the thread, dropping what is queued. TA_ERROR_TIMEOUT: it did not let go of its work. */
ta_status ta_host_lane_close(ta_host_lane *lane);
ta_status ta_host_lane_drop(ta_host_lane *lane);

/* Without the lock, which they take where one of both threads sleeps. */
ta_status ta_host_lane_submit(ta_host_lane *lane, ta_host_work work);
/* TA_OK: the lane completed this piece and those before it, without a failure that `wait` did not say. Takes no lock. */
ta_status ta_host_lane_succeeded(ta_host_lane *lane, uint32_t value);
ta_status ta_host_lane_wait(ta_host_lane *lane, uint32_t value, uint32_t timeout_us);

#endif
