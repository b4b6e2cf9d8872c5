/* Lanes: streams whose work is counted by events. */
#define _POSIX_C_SOURCE 200809L

#include <time.h>

#include "ports/cuda/state.h"

#define TA_CUDA_PATIENCE_US 2000000u /* for work that was ordered to end */
#define TA_CUDA_AWAKE_US 200u /* a small kernel is over long before a nap ends */
#define TA_CUDA_NAP_NS 20000

uint64_t ta_cuda_clock_us(void)
{
    struct timespec time;
    if (clock_gettime(CLOCK_MONOTONIC, &time) != 0)
        return 0;
    return (uint64_t)time.tv_sec * 1000000u + (uint64_t)time.tv_nsec / 1000u;
}

static int reached(uint32_t counter, uint32_t value)
{
    return (int32_t)(counter - value) >= 0;
}

static ta_status failure_of(uint32_t timeline)
{
    return timeline < ta_cuda_state.soc->channel_count ? TA_ERROR_DMA : TA_ERROR_DEVICE;
}

ta_status ta_cuda_lane_open(ta_cuda_lane *one)
{
    const ta_cu_result made = ta_cuda.stream_create(&one->stream, TA_CU_STREAM_NON_BLOCKING);
    ta_status status = ta_cuda_judged(made, "cuStreamCreate", TA_ERROR_DEVICE);
    for (uint32_t i = 0; i < TA_CUDA_QUEUE_DEPTH && status == TA_OK; i++) {
        const ta_cu_result event = ta_cuda.event_create(&one->events[i], TA_CU_EVENT_DISABLE_TIMING);
        status = ta_cuda_judged(event, "cuEventCreate", TA_ERROR_DEVICE);
    }
    return status;
}

void ta_cuda_lane_close(ta_cuda_lane *one)
{
    for (uint32_t i = 0; i < TA_CUDA_QUEUE_DEPTH; i++)
        if (one->events[i] != NULL)
            (void)ta_cuda.event_destroy(one->events[i]);
    if (one->stream != NULL)
        (void)ta_cuda.stream_destroy(one->stream);
}

void ta_cuda_lane_advance(uint32_t timeline)
{
    ta_cuda_lane *one = &ta_cuda_state.lanes[timeline];
    while (one->completed != one->submitted && one->fault == TA_OK) {
        const ta_cu_result result = ta_cuda.event_query(one->events[one->completed % TA_CUDA_QUEUE_DEPTH]);
        if (result == TA_CU_NOT_READY)
            return;
        one->completed++;
        if (result == 0)
            continue;
        one->fault = ta_cuda_judged(result, "cuEventQuery", failure_of(timeline));
        one->faulty = one->completed;
        ta_cuda_state.spoilt = 1;
    }
}

ta_status ta_cuda_lane_wait(uint32_t timeline, uint32_t value, uint32_t timeout_us)
{
    ta_cuda_lane *one = &ta_cuda_state.lanes[timeline];
    const uint64_t since = ta_cuda_clock_us();
    ta_cuda_lane_advance(timeline);
    while (!reached(one->completed, value) && one->fault == TA_OK) {
        const struct timespec nap = {0, TA_CUDA_NAP_NS};
        const uint64_t waited = ta_cuda_clock_us() - since;
        if (waited >= timeout_us)
            return TA_ERROR_TIMEOUT;
        if (waited >= TA_CUDA_AWAKE_US)
            (void)nanosleep(&nap, NULL);
        ta_cuda_lane_advance(timeline);
    }
    if (one->fault == TA_OK || !reached(value, one->faulty))
        return TA_OK;
    const ta_status fault = one->fault;
    one->fault = TA_OK;
    return fault;
}

ta_status ta_cuda_lane_drain(uint32_t timeline)
{
    ta_cuda_lane *one = &ta_cuda_state.lanes[timeline];
    while (one->completed != one->submitted)
        if (ta_cuda_lane_wait(timeline, one->submitted, TA_CUDA_PATIENCE_US) == TA_ERROR_TIMEOUT)
            return TA_ERROR_TIMEOUT;
    one->fault = TA_OK;
    return TA_OK;
}

int ta_cuda_lane_full(uint32_t timeline)
{
    const ta_cuda_lane *one = &ta_cuda_state.lanes[timeline];
    ta_cuda_lane_advance(timeline);
    return one->submitted - one->completed >= TA_CUDA_QUEUE_DEPTH;
}

ta_status ta_cuda_lane_submit(uint32_t timeline)
{
    ta_cuda_lane *one = &ta_cuda_state.lanes[timeline];
    const ta_cu_event event = one->events[one->submitted % TA_CUDA_QUEUE_DEPTH];
    const ta_cu_result result = ta_cuda.event_record(event, one->stream);
    const ta_status status = ta_cuda_judged(result, "cuEventRecord", failure_of(timeline));
    if (status == TA_OK)
        one->submitted++;
    return status;
}
