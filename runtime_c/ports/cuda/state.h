/* Shared by the files of the CUDA port.
 *
 * Every timeline is a lane: a stream with a ring of events, one behind each piece of work, so that a fence is
 * an event that the driver says has happened.
 */
#ifndef TARGET_ARCH_PORT_CUDA_STATE_H
#define TARGET_ARCH_PORT_CUDA_STATE_H

#include "ports/cuda/cuda.h"
#include "ports/cuda/driver.h"
#include "target_arch/runtime.h"

#define TA_CUDA_QUEUE_DEPTH 64u /* a power of two, so that slots continue where counters wrap */
#define TA_CUDA_MAX_ARENAS 64u
#define TA_CUDA_NOBODY 0xffffffffu

typedef struct ta_cuda_lane {
    ta_cu_stream stream; /* NULL: not open */
    ta_cu_event events[TA_CUDA_QUEUE_DEPTH];
    uint32_t submitted;
    uint32_t completed;
    ta_status fault; /* of the work that completed the value `faulty` */
    uint32_t faulty;
} ta_cuda_lane;

typedef struct ta_cuda_port_state {
    const ta_soc *soc; /* NULL: not open */
    const ta_bundle *bundle;
    ta_cu_device device;
    ta_cu_context context;
    ta_cu_module module; /* NULL: not loaded */
    uint32_t owner;      /* the instance that it was loaded for */
    uint32_t started;
    uint32_t spoilt;     /* the context has seen a failure that it does not forget */
    uint32_t dispatching; /* the instance whose function is called now, or TA_CUDA_NOBODY */
    ta_cu_pointer memories[TA_MAX_TIMELINES];
    uint32_t pinned[TA_CUDA_MAX_ARENAS];
    ta_cuda_lane lanes[TA_MAX_TIMELINES];
} ta_cuda_port_state;

extern ta_cuda_port_state ta_cuda_state;

/* TA_OK for a result of 0, else `otherwise`, with the complaint kept. */
ta_status ta_cuda_judged(ta_cu_result result, const char *what, ta_status otherwise);

/* memory.c */

/* The address of a place, on whichever side it is; 0 where there is none. */
ta_cu_pointer ta_cuda_place(ta_ref where);
/* Back what the host does not see with device memory, and pin what it sees. */
ta_status ta_cuda_memory_open(void);
void ta_cuda_memory_close(void);
/* Queue a copy, whatever its shape. TA_ERROR_ARGUMENT: a place without memory. */
ta_status ta_cuda_queue_copy(const ta_copy *copy, ta_cu_stream stream);

/* lanes.c */

uint64_t ta_cuda_clock_us(void);
ta_status ta_cuda_lane_open(ta_cuda_lane *one);
void ta_cuda_lane_close(ta_cuda_lane *one);
/* Count what the driver says is done. */
void ta_cuda_lane_advance(uint32_t timeline);
/* Wait until the lane reached a value or a failure. */
ta_status ta_cuda_lane_wait(uint32_t timeline, uint32_t value, uint32_t timeout_us);
/* Wait for all of it, whatever becomes of it. TA_ERROR_TIMEOUT: something does not end. */
ta_status ta_cuda_lane_drain(uint32_t timeline);
int ta_cuda_lane_full(uint32_t timeline);
/* Put an event behind what was just queued. */
ta_status ta_cuda_lane_submit(uint32_t timeline);

#endif
