/* Lanes: threads that do queued work in order and count it.
 *
 * submitted - completed (modulo 2^32) pieces are queued, the one at work included. A piece leaves the
 * queue when it is complete. Dropping moves `completed` up to `submitted` in one step, once the thread has
 * let go of its piece.
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <string.h>

#include "ports/host/state.h"

static struct timespec after_us(clockid_t clock, uint32_t us)
{
    struct timespec when;
    (void)clock_gettime(clock, &when);
    when.tv_sec += (time_t)(us / 1000000u);
    when.tv_nsec += (long)(us % 1000000u) * 1000;
    if (when.tv_nsec >= 1000000000L) {
        when.tv_sec += 1;
        when.tv_nsec -= 1000000000L;
    }
    return when;
}

static int reached(uint32_t counter, uint32_t value)
{
    return (int32_t)(counter - value) >= 0;
}

static uint32_t next_random(ta_host_lane *lane)
{
    lane->random ^= lane->random << 13;
    lane->random ^= lane->random >> 17;
    lane->random ^= lane->random << 5;
    return lane->random;
}

/* May the lane begin its next piece? */
static int ready(const ta_host_lane *lane)
{
    if (lane->completed == lane->submitted || lane->fault != TA_OK)
        return 0;
    return !ta_host.lazy || reached(lane->released, lane->completed + 1u);
}

static ta_status injected(ta_host_lane *lane)
{
    if (!lane->fail_armed || lane->fail_skip-- != 0)
        return TA_OK;
    lane->fail_armed = 0;
    return lane->fail_status;
}

static ta_status call_core(const ta_core *core, const ta_dispatch *dispatch)
{
    ta_address operands[TA_MAX_OPERANDS];
    for (uint32_t i = 0; i < dispatch->ref_count; i++) {
        const ta_status status = ta_host_address(dispatch->instance, dispatch->refs[i], &operands[i]);
        if (status != TA_OK)
            return status;
    }
    return core->call(core, dispatch->kernel->function, operands, dispatch->ref_count);
}

/* Outside the lock, like `command`. */
static ta_status call(const ta_dispatch *dispatch)
{
    void *pointers[TA_MAX_OPERANDS];
    const ta_core *core = ta_host_core(dispatch->instance);
    if (core != NULL)
        return call_core(core, dispatch);
    const ta_status status = ta_host_pointers(dispatch, pointers);
    return status == TA_OK ? dispatch->kernel->function(pointers) : status;
}

/* The device works on a copy of its registers, which the host sees when it is done. TA_ERROR_TIMEOUT: it
 * hangs. */
static ta_status command(const ta_simulator *simulator, uint32_t instance, uint32_t *registers)
{
    ta_window windows[TA_HOST_MAX_WINDOWS];
    const uint32_t count = ta_host_windows(instance, windows);
    return simulator->run(registers, windows, count) == TA_OK ? TA_OK : TA_ERROR_TIMEOUT;
}

static void pause_us(uint32_t us)
{
    const struct timespec time = {0, (long)us * 1000};
    (void)nanosleep(&time, NULL);
}

/* Tell those who wait for the lane that something changed. */
static void tell(ta_host_lane *lane)
{
    __atomic_store_n(&lane->news, lane->news + 1u, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&lane->changed);
}

/* Until something changes, as far as `us` says without sleeping; or until the deadline, if there is one. The lock is
 * held on entry and on return. ETIMEDOUT, or 0. */
static int await(ta_host_lane *lane, uint32_t *us, const struct timespec *deadline)
{
    const uint32_t seen = lane->news;
    if (*us != 0) {
        pthread_mutex_unlock(&ta_host.lock);
        (void)ta_host_look(&lane->news, seen, us);
        ta_host_take(&ta_host.lock);
        if (lane->news != seen)
            return 0;
    }
    if (deadline == NULL)
        return pthread_cond_wait(&lane->changed, &ta_host.lock);
    return pthread_cond_timedwait(&lane->changed, &ta_host.lock, deadline);
}

/* Do one piece of work. The lock is held on entry and on return, and released in between. */
static ta_status do_work(ta_host_lane *lane)
{
    const ta_host_work work = lane->queue[lane->completed % TA_HOST_QUEUE_DEPTH];
    const uint32_t instance = lane->number - ta_host.soc->channel_count; /* of no meaning for a channel */
    const uint32_t delay_us = ta_host.jitter != 0 ? next_random(lane) % 200u : 0;
    uint32_t registers[TA_SIMULATOR_MAX_REGISTERS];
    const ta_status fault = injected(lane);
    ta_status status = TA_OK;
    if (fault != TA_OK && !lane->fail_late)
        return fault;
    if (work.command != NULL)
        (void)memcpy(registers, ta_host.instances[instance].registers, sizeof registers);
    pthread_mutex_unlock(&ta_host.lock);
    if (delay_us != 0)
        pause_us(delay_us);
    if (work.copy != NULL)
        ta_host_transfer(work.copy);
    else if (work.dispatch != NULL)
        status = call(work.dispatch);
    else
        status = command(work.command, instance, registers);
    ta_host_take(&ta_host.lock);
    if (work.command != NULL && status == TA_OK && !lane->dropping)
        (void)memcpy(ta_host.instances[instance].registers, registers, sizeof registers);
    return fault != TA_OK ? fault : status;
}

static void *lane_main(void *argument)
{
    ta_host_lane *lane = argument;
    ta_host_take(&ta_host.lock);
    while (!lane->leaving) {
        if (!ready(lane) || lane->dropping) {
            (void)await(lane, &lane->idle_us, NULL);
            continue;
        }
        lane->busy = 1;
        const ta_status status = do_work(lane);
        while (status == TA_ERROR_TIMEOUT && !lane->dropping)
            pthread_cond_wait(&lane->changed, &ta_host.lock);
        lane->busy = 0;
        if (!lane->dropping) {
            lane->completed++;
            lane->fault = status;
        }
        tell(lane);
    }
    pthread_mutex_unlock(&ta_host.lock);
    return NULL;
}

static ta_status make_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return TA_ERROR_DEVICE;
    int failed = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (failed == 0)
        failed = pthread_cond_init(condition, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    return failed == 0 ? TA_OK : TA_ERROR_DEVICE;
}

/* Is this the lane of a core that executes functions of this program? Those are worth a processor each. */
static int runs_functions(uint32_t number)
{
    const uint32_t channels = ta_host.soc->channel_count;
    const uint32_t instance = number - channels;
    if (number < channels || instance >= ta_host.soc->instance_count)
        return 0;
    const ta_instance_info *info = &ta_host.soc->instances[instance];
    return !info->is_host && info->driver == NULL && ta_host_core(instance) == NULL;
}

static uint32_t cores_up_to(uint32_t number)
{
    uint32_t cores = 0;
    for (uint32_t i = 0; i <= number && i < ta_host.soc->timeline_count; i++)
        cores += (uint32_t)runs_functions(i);
    return cores;
}

ta_status ta_host_lane_open(uint32_t number)
{
    ta_host_lane *lane = &ta_host.lanes[number];
    const ta_status status = make_condition(&lane->changed);
    if (status != TA_OK)
        return status;
    lane->leaving = 0;
    lane->busy = 0;
    lane->dropping = 0;
    lane->fault = TA_OK;
    lane->released = lane->completed;
    lane->idle_us = lane->wait_us = runs_functions(number) ? ta_host_looks(cores_up_to(TA_MAX_TIMELINES)) : 0;
    if (pthread_create(&lane->thread, NULL, lane_main, lane) != 0) {
        (void)pthread_cond_destroy(&lane->changed);
        return TA_ERROR_DEVICE;
    }
    lane->alive = 1;
    if (runs_functions(number))
        ta_host_pin(lane->thread, cores_up_to(number) - 1u);
    return TA_OK;
}

ta_status ta_host_lane_drop(ta_host_lane *lane)
{
    const struct timespec deadline = after_us(CLOCK_MONOTONIC, TA_HOST_PATIENCE_US);
    if (!lane->alive)
        return TA_OK;
    lane->dropping = 1;
    if (lane->busy && ta_host_lane_core(lane) != NULL)
        ta_host_lane_core(lane)->halt(ta_host_lane_core(lane)); /* it would not see that no wait is left */
    tell(lane);
    while (lane->busy)
        if (pthread_cond_timedwait(&lane->changed, &ta_host.lock, &deadline) == ETIMEDOUT && lane->busy)
            return TA_ERROR_TIMEOUT; /* still dropping: whenever it ends, nothing more begins */
    lane->completed = lane->submitted;
    lane->fault = TA_OK;
    lane->dropping = 0;
    return TA_OK;
}

ta_status ta_host_lane_close(ta_host_lane *lane)
{
    if (!lane->alive)
        return TA_OK;
    const ta_status status = ta_host_lane_drop(lane);
    if (status != TA_OK)
        return status;
    lane->leaving = 1;
    tell(lane);
    pthread_mutex_unlock(&ta_host.lock);
    (void)pthread_join(lane->thread, NULL);
    ta_host_take(&ta_host.lock);
    (void)pthread_cond_destroy(&lane->changed);
    lane->alive = 0;
    return TA_OK;
}

ta_status ta_host_lane_submit(ta_host_lane *lane, ta_host_work work)
{
    if (!lane->alive)
        return TA_ERROR_STATE;
    if (lane->dropping || lane->submitted - lane->completed >= TA_HOST_QUEUE_DEPTH)
        return TA_ERROR_BUSY;
    lane->queue[lane->submitted % TA_HOST_QUEUE_DEPTH] = work;
    lane->submitted++;
    tell(lane);
    return TA_OK;
}

ta_status ta_host_lane_wait(ta_host_lane *lane, uint32_t value, uint32_t timeout_us)
{
    if (!reached(lane->released, value)) {
        lane->released = value;
        if (lane->alive && ta_host.lazy)
            tell(lane);
    }
    if (reached(lane->completed, value) && lane->fault == TA_OK)
        return TA_OK;
    const struct timespec deadline = after_us(CLOCK_MONOTONIC, timeout_us);
    int late = timeout_us == 0 ? 1 : 0;
    while (!reached(lane->completed, value) && lane->fault == TA_OK) {
        if (late || !lane->alive)
            return TA_ERROR_TIMEOUT;
        late = await(lane, &lane->wait_us, &deadline) == ETIMEDOUT ? 1 : 0;
    }
    if (lane->fault == TA_OK || !reached(value, lane->completed))
        return TA_OK;
    const ta_status fault = lane->fault;
    lane->fault = TA_OK;
    tell(lane);
    return fault;
}
