/* Lanes: threads that do queued work in order and count it.
 *
 * submitted - completed (modulo 2^32) pieces are queued, the one at work included. A piece leaves the
 * queue when it is complete. Dropping moves `completed` up to `submitted` in one step, once the thread has
 * let go of its piece.
 *
 * A lane that is awake takes no lock while there is work and nothing fails: it empties places of its queue, and writes
 * `completed`. It falls asleep, and wakes, with the lock; so does the host. Who has news for the other reads next whether
 * that sleeps, without waiting until the news is visible, which takes longer than all else. So the other may fall asleep
 * beside it. Therefore a lane looks for work once more when it has slept a moment, and again whether the host sleeps when
 * it has no work.
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <string.h>

#include "ports/host/state.h"

#define MOMENT_US 1000u /* much longer than a written word takes to be seen */

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

/* The place of the queue where the lane's next order is, or will be. */
static ta_host_work *next_order(ta_host_lane *lane)
{
    return &lane->queue[lane->done % TA_HOST_QUEUE_DEPTH].order;
}

static int has_work(ta_host_lane *lane)
{
    return lane->left != 0 || TA_HOST_READ(next_order(lane)->count) != 0;
}

/* Must the lane leave its work alone? */
static int held(const ta_host_lane *lane)
{
    if (TA_HOST_READ(lane->dropping) || TA_HOST_READ(lane->leaving) || TA_HOST_READ(lane->fault) != TA_OK)
        return 1;
    return ta_host.lazy && !reached(TA_HOST_READ(lane->released), lane->done + 1u);
}

/* How the next piece shall fail; `late`: only when it is done. */
static ta_status injected(ta_host_lane *lane, uint32_t *late)
{
    ta_status status = TA_OK;
    *late = 0;
    if (!TA_HOST_READ(lane->fail_armed))
        return TA_OK;
    ta_host_take(&ta_host.lock);
    if (lane->fail_skip-- == 0) {
        TA_HOST_WRITE(lane->fail_armed, 0u);
        *late = lane->fail_late;
        status = lane->fail_status;
    }
    pthread_mutex_unlock(&ta_host.lock);
    return status;
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
static ta_status command(const ta_host_lane *lane, const ta_simulator *simulator)
{
    const uint32_t instance = lane->number - ta_host.soc->channel_count;
    uint32_t *const visible = ta_host.instances[instance].registers;
    uint32_t registers[TA_SIMULATOR_MAX_REGISTERS];
    ta_window windows[TA_HOST_MAX_WINDOWS];
    const uint32_t count = ta_host_windows(instance, windows);
    ta_host_take(&ta_host.lock);
    (void)memcpy(registers, visible, sizeof registers);
    pthread_mutex_unlock(&ta_host.lock);
    if (simulator->run(registers, windows, count) != TA_OK)
        return TA_ERROR_TIMEOUT;
    ta_host_take(&ta_host.lock);
    if (!lane->dropping)
        (void)memcpy(visible, registers, sizeof registers);
    pthread_mutex_unlock(&ta_host.lock);
    return TA_OK;
}

static void pause_us(uint32_t us)
{
    const struct timespec time = {0, (long)us * 1000};
    (void)nanosleep(&time, NULL);
}

/* The next piece, which is there: of the order that the lane is at, or the first one of the next order. */
static const ta_host_work *next_piece(ta_host_lane *lane)
{
    if (lane->left == 0) {
        lane->order = *next_order(lane);
        lane->left = lane->order.count;
        TA_HOST_WRITE(next_order(lane)->count, 0u);
    } else {
        lane->order.dispatch++;
    }
    lane->left--;
    return &lane->order;
}

static ta_status do_work(ta_host_lane *lane, const ta_host_work *work)
{
    uint32_t late = 0;
    const ta_status fault = injected(lane, &late);
    ta_status status = TA_OK;
    if (fault != TA_OK && !late)
        return fault;
    if (ta_host.jitter != 0)
        pause_us(next_random(lane) % 200u);
    if (work->copy != NULL)
        ta_host_transfer(work->copy);
    else if (work->dispatch != NULL)
        status = call(work->dispatch);
    else
        status = command(lane, work->command);
    return fault != TA_OK ? fault : status;
}

/* Another piece is complete. */
static void complete(ta_host_lane *lane)
{
    lane->done++;
    TA_HOST_WRITE(lane->completed, lane->done);
}

/* What failed, or is dropped, or never ends. */
static void end_badly(ta_host_lane *lane, ta_status status)
{
    ta_host_take(&ta_host.lock);
    pthread_cond_broadcast(&lane->changed); /* of what completed before */
    while (status == TA_ERROR_TIMEOUT && !lane->dropping)
        pthread_cond_wait(&lane->changed, &ta_host.lock);
    if (!lane->dropping) {
        TA_HOST_WRITE(lane->fault, status);
        complete(lane);
    }
    pthread_cond_broadcast(&lane->changed);
    pthread_mutex_unlock(&ta_host.lock);
}

static void wake(ta_host_lane *lane)
{
    ta_host_take(&ta_host.lock);
    pthread_cond_broadcast(&lane->changed);
    pthread_mutex_unlock(&ta_host.lock);
}

static void do_next(ta_host_lane *lane)
{
    const ta_status status = do_work(lane, next_piece(lane));
    if (status != TA_OK || TA_HOST_READ(lane->dropping)) {
        end_badly(lane, status);
        return;
    }
    complete(lane);
    if (TA_HOST_READ(lane->waiting))
        wake(lane);
}

/* Does work come while it looks for it? Nothing that the host sleeps for is kept from it meanwhile. */
static int finds_work(ta_host_lane *lane)
{
    TA_HOST_WRITE_FIRST(lane->completed, lane->done);
    if (TA_HOST_READ_OTHER(lane->waiting))
        wake(lane);
    return ta_host_look(&next_order(lane)->count, 0, &lane->idle_us);
}

/* Work as long as there is any, and look for more. To wake a lane that is called off, the place of its next order is filled,
 * which is no work. `dropping` is written before it, so a lane that looks at the place first, and then asks, knows. */
static void be_awake(ta_host_lane *lane)
{
    for (;;) {
        const int work = has_work(lane);
        if (held(lane))
            return;
        if (work) {
            do_next(lane);
            continue;
        }
        if (lane->idle_us == 0 || !finds_work(lane))
            return;
    }
}

/* Sleep until there may be work; only for a moment if the host may believe it awake. Does it no longer? */
static int sleep_on(ta_host_lane *lane, int known)
{
    if (!known) {
        const struct timespec soon = after_us(CLOCK_MONOTONIC, MOMENT_US);
        return pthread_cond_timedwait(&lane->changed, &ta_host.lock, &soon) == ETIMEDOUT;
    }
    pthread_cond_wait(&lane->changed, &ta_host.lock);
    return 1;
}

static void *lane_main(void *argument)
{
    ta_host_lane *lane = argument;
    int known = 1; /* that it sleeps */
    ta_host_take(&ta_host.lock);
    while (!lane->leaving) {
        if (held(lane) || !has_work(lane)) {
            known = sleep_on(lane, known);
            continue;
        }
        TA_HOST_WRITE(lane->awake, 1u);
        pthread_mutex_unlock(&ta_host.lock);
        be_awake(lane);
        ta_host_take(&ta_host.lock);
        TA_HOST_WRITE(lane->awake, 0u);
        known = 0;
        pthread_cond_broadcast(&lane->changed);
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
    lane->awake = 0;
    lane->waiting = 0;
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

/* All places of the queue are free. The lane sleeps. */
static void empty(ta_host_lane *lane)
{
    for (uint32_t i = 0; i < TA_HOST_QUEUE_DEPTH; i++)
        TA_HOST_WRITE(lane->queue[i].order.count, 0u);
    lane->left = 0;
    lane->completed = lane->done = lane->submitted;
}

/* Have it look up, from its work or from its search for more, and see that it is dropped. The caller holds the lock. */
static void call_off(ta_host_lane *lane)
{
    const uint32_t queued = lane->submitted - TA_HOST_READ(lane->completed);
    const ta_core *core = ta_host_lane_core(lane);
    TA_HOST_WRITE(lane->dropping, 1u);
    if (lane->awake && queued != 0 && core != NULL)
        core->halt(core); /* it would not see that no wait is left */
    if (queued == 0)
        TA_HOST_WRITE(lane->queue[lane->submitted % TA_HOST_QUEUE_DEPTH].order.count, 1u);
    pthread_cond_broadcast(&lane->changed);
}

ta_status ta_host_lane_drop(ta_host_lane *lane)
{
    const struct timespec deadline = after_us(CLOCK_MONOTONIC, TA_HOST_PATIENCE_US);
    if (!lane->alive)
        return TA_OK;
    call_off(lane);
    while (lane->awake)
        if (pthread_cond_timedwait(&lane->changed, &ta_host.lock, &deadline) == ETIMEDOUT && lane->awake)
            return TA_ERROR_TIMEOUT; /* still dropping: whenever it ends, nothing more begins */
    empty(lane);
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
    TA_HOST_WRITE(lane->leaving, 1u);
    pthread_cond_broadcast(&lane->changed);
    pthread_mutex_unlock(&ta_host.lock);
    (void)pthread_join(lane->thread, NULL);
    ta_host_take(&ta_host.lock);
    (void)pthread_cond_destroy(&lane->changed);
    lane->alive = 0;
    return TA_OK;
}

/* What the lane writes is read where that decides: to read it fetches it from the other core's cache. */
static void see(ta_host_lane *lane)
{
    const uint32_t completed = TA_HOST_READ(lane->completed);
    if (TA_HOST_READ(lane->fault) == TA_OK)
        lane->seen = completed;
}

static int has_room(ta_host_lane *lane, uint32_t count)
{
    if (count > TA_HOST_QUEUE_DEPTH)
        return 0;
    if (lane->submitted - lane->seen > TA_HOST_QUEUE_DEPTH - count)
        see(lane);
    return lane->submitted - lane->seen <= TA_HOST_QUEUE_DEPTH - count;
}

ta_status ta_host_lane_submit(ta_host_lane *lane, ta_host_work work)
{
    if (!lane->alive)
        return TA_ERROR_STATE;
    if (lane->dropping || !has_room(lane, work.count))
        return TA_ERROR_BUSY;
    ta_host_work *place = &lane->queue[lane->submitted % TA_HOST_QUEUE_DEPTH].order;
    place->copy = work.copy;
    place->dispatch = work.dispatch;
    place->command = work.command;
    TA_HOST_WRITE(place->count, work.count);
    lane->submitted += work.count;
    if (!TA_HOST_READ(lane->awake))
        wake(lane);
    return TA_OK;
}

/* Is the value not reached, and has nothing failed before it? */
static int is_open(const ta_host_lane *lane, uint32_t value)
{
    return !reached(TA_HOST_READ_OTHER(lane->completed), value) && TA_HOST_READ(lane->fault) == TA_OK;
}

/* Until the value is reached or something fails, without sleeping, as far as that pays. */
static void look_for(ta_host_lane *lane, uint32_t value)
{
    int came = lane->wait_us != 0 ? 1 : 0;
    while (came) {
        const uint32_t seen = TA_HOST_READ(lane->completed);
        if (!is_open(lane, value))
            return;
        came = ta_host_look(&lane->completed, seen, &lane->wait_us);
    }
}

/* The same, asleep. The lock is held on entry and on return. */
static ta_status sleep_until(ta_host_lane *lane, uint32_t value, uint32_t timeout_us)
{
    const struct timespec deadline = after_us(CLOCK_MONOTONIC, timeout_us);
    int late = lane->alive ? 0 : 1;
    TA_HOST_WRITE_FIRST(lane->waiting, 1u);
    while (is_open(lane, value) && !late)
        late = pthread_cond_timedwait(&lane->changed, &ta_host.lock, &deadline) == ETIMEDOUT ? 1 : 0;
    TA_HOST_WRITE(lane->waiting, 0u);
    return is_open(lane, value) ? TA_ERROR_TIMEOUT : TA_OK;
}

/* The failure of work up to the value, once. The caller holds the lock. */
static ta_status take_fault(ta_host_lane *lane, uint32_t value)
{
    const ta_status fault = lane->fault;
    if (fault == TA_OK || !reached(value, lane->completed))
        return TA_OK;
    TA_HOST_WRITE(lane->fault, TA_OK);
    pthread_cond_broadcast(&lane->changed);
    return fault;
}

/* In lazy mode: the lane may go on so far. */
static void release(ta_host_lane *lane, uint32_t value)
{
    ta_host_take(&ta_host.lock);
    TA_HOST_WRITE(lane->released, value);
    pthread_cond_broadcast(&lane->changed);
    pthread_mutex_unlock(&ta_host.lock);
}

ta_status ta_host_lane_wait(ta_host_lane *lane, uint32_t value, uint32_t timeout_us)
{
    if (ta_host.lazy && !reached(lane->released, value))
        release(lane, value);
    if (reached(lane->seen, value))
        return TA_OK;
    if (timeout_us != 0 && lane->alive)
        look_for(lane, value);
    see(lane);
    const int over = reached(lane->seen, value);
    if (TA_HOST_READ(lane->fault) == TA_OK && (over || timeout_us == 0))
        return over ? TA_OK : TA_ERROR_TIMEOUT;
    ta_host_take(&ta_host.lock);
    ta_status status = sleep_until(lane, value, timeout_us);
    if (status == TA_OK)
        status = take_fault(lane, value);
    pthread_mutex_unlock(&ta_host.lock);
    return status;
}

ta_status ta_host_lane_succeeded(ta_host_lane *lane, uint32_t value)
{
    if (!reached(lane->seen, value))
        see(lane);
    return reached(lane->seen, value) ? TA_OK : TA_ERROR_BUSY;
}
