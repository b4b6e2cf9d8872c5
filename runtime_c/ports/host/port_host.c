/* The host port: a whole SoC inside one process, to run and test bundles without the chip.
 *
 * DMA channels and devices are threads (lanes.c), memories that the host cannot see are arrays that it
 * cannot reach (memory.c), accelerators are simulators behind a register file. An image is checked by the load
 * process of its instance (images.c) and forgotten, since what a device does is linked in; only a core with a
 * program of its own takes it.
 */
#define _POSIX_C_SOURCE 200809L

#include <string.h>

#include "ports/host/state.h"

#ifndef TA_HOST_JITTER
#define TA_HOST_JITTER 0
#endif
#ifndef TA_HOST_LAZY
#define TA_HOST_LAZY 0
#endif

ta_host_state ta_host = {.lock = PTHREAD_MUTEX_INITIALIZER, .jitter = TA_HOST_JITTER, .lazy = TA_HOST_LAZY};

/* Take the lock, if the port is open. */
static ta_status enter(void)
{
    ta_host_take(&ta_host.lock);
    if (ta_host.soc != NULL)
        return TA_OK;
    pthread_mutex_unlock(&ta_host.lock);
    return TA_ERROR_STATE;
}

static ta_status leave(ta_status status)
{
    pthread_mutex_unlock(&ta_host.lock);
    return status;
}

static ta_host_lane *lane_of(uint32_t instance)
{
    return &ta_host.lanes[ta_host.soc->channel_count + instance];
}

static void reset_lane(uint32_t number)
{
    ta_host_lane *lane = &ta_host.lanes[number];
    (void)memset(lane, 0, sizeof *lane);
    lane->number = number;
    lane->submitted = lane->completed = lane->done = lane->seen = lane->released = ta_host.first_value;
    lane->random = (ta_host.jitter ^ (number + 1u) * 0x9e3779b9u) | 1u;
}

static ta_status stop_locked(uint32_t instance)
{
    const ta_core *core = ta_host_core(instance);
    ta_status status = ta_host_lane_close(lane_of(instance));
    if (status == TA_OK && core != NULL)
        status = core->stop(core);
    if (status == TA_OK) {
        ta_host.instances[instance].started = 0;
        ta_host.instances[instance].loaded = 0;
    }
    return status;
}

/* Ends all threads and halts all cores. The first failure. */
static ta_status close_lanes(void)
{
    const uint32_t channels = ta_host.soc->channel_count;
    ta_status first = TA_OK;
    for (uint32_t i = 0; i < ta_host.soc->timeline_count; i++) {
        const ta_status status = i < channels ? ta_host_lane_close(&ta_host.lanes[i]) : stop_locked(i - channels);
        if (first == TA_OK)
            first = status;
    }
    return first;
}

static ta_status open_locked(const ta_soc *soc, const ta_bundle *bundle)
{
    if (ta_host.soc != NULL)
        return TA_ERROR_STATE;
    ta_status status = ta_host.simulation == NULL ? TA_ERROR_STATE : ta_host_check(soc, bundle);
    if (status == TA_OK)
        status = ta_host_cache_open(soc, bundle);
    if (status != TA_OK)
        return status;
    ta_host.soc = soc;
    ta_host.bundle = bundle;
    (void)memset(ta_host.instances, 0, sizeof ta_host.instances);
    ta_host.all_visible = 0;
    for (uint32_t i = 0; i < soc->instance_count; i++) {
        ta_host.instances[i].reaches_all = (uint32_t)ta_host_reaches_all(i);
        if (soc->instances[i].is_host)
            ta_host.all_visible = ta_host.instances[i].reaches_all;
    }
    ta_host_poison();
    for (uint32_t i = 0; i < soc->timeline_count; i++)
        reset_lane(i);
    for (uint32_t i = 0; i < soc->channel_count && status == TA_OK; i++)
        status = ta_host_lane_open(i);
    if (status != TA_OK) {
        (void)close_lanes();
        ta_host.soc = NULL;
    }
    return status;
}

ta_status ta_host_simulate(const ta_simulation *simulation)
{
    ta_host_take(&ta_host.lock);
    if (ta_host.soc != NULL)
        return leave(TA_ERROR_STATE);
    ta_host.simulation = simulation;
    return leave(TA_OK);
}

static ta_status host_open(const ta_port *port, const ta_soc *soc, const ta_bundle *bundle)
{
    (void)port;
    ta_host_take(&ta_host.lock);
    return leave(open_locked(soc, bundle));
}

static ta_status host_close(const ta_port *port)
{
    (void)port;
    if (enter() != TA_OK)
        return TA_ERROR_STATE;
    const ta_status status = close_lanes();
    if (status == TA_OK)
        ta_host.soc = NULL;
    return leave(status); /* a thread that is still alive still needs the tables: the port stays open */
}

static ta_status load_locked(uint32_t instance, const uint8_t *image, uint32_t bytes)
{
    const ta_core *core = ta_host_core(instance);
    if (ta_host.instances[instance].started)
        return TA_ERROR_STATE;
    ta_status status = ta_host_image(instance, image, bytes);
    if (status == TA_OK && core != NULL)
        status = core->load(core, ta_host.soc, image, bytes);
    ta_host.instances[instance].loaded = status == TA_OK;
    return status;
}

static ta_status host_load(const ta_port *port, uint32_t instance, const uint8_t *image, uint32_t bytes)
{
    (void)port;
    return enter() != TA_OK ? TA_ERROR_STATE : leave(load_locked(instance, image, bytes));
}

static ta_status start_locked(uint32_t instance)
{
    ta_host_instance *state = &ta_host.instances[instance];
    const ta_core *core = ta_host_core(instance);
    if (state->started)
        return TA_OK;
    if (!state->loaded && ta_takes_program(ta_host.soc->instances[instance].load_process))
        return TA_ERROR_STATE;
    (void)memset(state->registers, 0, sizeof state->registers);
    ta_status status = core == NULL ? TA_OK : core->start(core);
    if (status == TA_OK)
        status = ta_host_lane_open(ta_host.soc->channel_count + instance);
    state->started = status == TA_OK;
    return status;
}

static ta_status host_start(const ta_port *port, uint32_t instance)
{
    (void)port;
    return enter() != TA_OK ? TA_ERROR_STATE : leave(start_locked(instance));
}

static ta_status host_stop(const ta_port *port, uint32_t instance)
{
    (void)port;
    return enter() != TA_OK ? TA_ERROR_STATE : leave(stop_locked(instance));
}

static ta_status host_copy(const ta_port *port, const ta_copy *copy)
{
    (void)port;
    if (ta_host.soc == NULL)
        return TA_ERROR_STATE;
    uint8_t *target = ta_pointer(ta_host.bundle, copy->target);
    const uint8_t *source = ta_pointer(ta_host.bundle, copy->source);
    if (source == NULL || target == NULL)
        return TA_ERROR_ARGUMENT; /* the CPU does not reach it */
    ta_host_cache_evict();
    ta_host_rows(copy, target, source);
    return TA_OK;
}

static ta_status host_copy_async(const ta_port *port, uint32_t channel, const ta_copy *copy)
{
    (void)port;
    if (ta_host.soc == NULL)
        return TA_ERROR_STATE;
    const ta_host_work work = {copy, NULL, NULL, 1};
    ta_host_cache_evict();
    return ta_host_lane_submit(&ta_host.lanes[channel], work);
}

static ta_status host_dispatch(const ta_port *port, const ta_dispatch *dispatch)
{
    (void)port;
    void *pointers[TA_MAX_OPERANDS];
    if (ta_host.soc == NULL)
        return TA_ERROR_STATE;
    if (!ta_host.soc->instances[dispatch->instance].is_host) {
        const ta_host_work work = {NULL, dispatch, NULL, 1};
        if (!ta_host_reaches(dispatch))
            return TA_ERROR_ARGUMENT;
        return ta_host_lane_submit(lane_of(dispatch->instance), work);
    }
    const ta_status status = ta_host_pointers(dispatch, pointers);
    if (status != TA_OK)
        return status;
    ta_host_cache_evict();
    return dispatch->kernel->function(pointers);
}

static ta_status host_dispatch_all(const ta_port *port, const ta_dispatch *calls, uint32_t count)
{
    (void)port;
    const ta_host_work work = {NULL, calls, NULL, count};
    if (ta_host.soc == NULL)
        return TA_ERROR_STATE;
    for (uint32_t i = 0; i < count; i++)
        if (!ta_host_reaches(&calls[i]))
            return TA_ERROR_ARGUMENT;
    return ta_host_lane_submit(lane_of(calls->instance), work);
}

static ta_status host_address(const ta_port *port, uint32_t instance, ta_ref where, ta_address *address)
{
    (void)port;
    return ta_host.soc == NULL ? TA_ERROR_STATE : ta_host_address(instance, where, address);
}

static ta_status host_read_timeline(const ta_port *port, uint32_t timeline, uint32_t *value)
{
    (void)port;
    if (ta_host.soc == NULL)
        return TA_ERROR_STATE;
    *value = TA_HOST_READ(ta_host.lanes[timeline].completed);
    return TA_OK;
}

static ta_status host_wait(const ta_port *port, uint32_t timeline, uint32_t value, uint32_t timeout_us)
{
    (void)port;
    if (ta_host.soc == NULL)
        return TA_ERROR_STATE;
    ta_host_cache_evict();
    return ta_host_lane_wait(&ta_host.lanes[timeline], value, timeout_us);
}

static ta_status host_succeeded(const ta_port *port, uint32_t timeline, uint32_t value)
{
    (void)port;
    return ta_host.soc == NULL ? TA_ERROR_STATE : ta_host_lane_succeeded(&ta_host.lanes[timeline], value);
}

static ta_status host_cancel(const ta_port *port, uint32_t timeline)
{
    (void)port;
    return enter() != TA_OK ? TA_ERROR_STATE : leave(ta_host_lane_drop(&ta_host.lanes[timeline]));
}

/* Is this a register of a started device? */
static ta_status check_register(uint32_t instance, uint32_t offset)
{
    const ta_simulator *simulator = ta_host_simulator(instance);
    if (simulator == NULL || offset % 4u != 0 || offset / 4u >= simulator->register_count)
        return TA_ERROR_ARGUMENT;
    return ta_host.instances[instance].started ? TA_OK : TA_ERROR_STATE;
}

static ta_status host_mmio_read32(const ta_port *port, uint32_t instance, uint32_t offset, uint32_t *value)
{
    (void)port;
    if (enter() != TA_OK)
        return TA_ERROR_STATE;
    const ta_status status = check_register(instance, offset);
    if (status == TA_OK)
        *value = ta_host.instances[instance].registers[offset / 4u];
    return leave(status);
}

/* Write a register of a device that does nothing at present. */
static ta_status write_locked(uint32_t instance, uint32_t offset, uint32_t value)
{
    const ta_status status = check_register(instance, offset);
    const ta_host_lane *lane = lane_of(instance);
    if (status != TA_OK)
        return status;
    if (TA_HOST_READ(lane->completed) != lane->submitted)
        return TA_ERROR_BUSY;
    ta_host.instances[instance].registers[offset / 4u] = value;
    return TA_OK;
}

static ta_status host_mmio_write32(const ta_port *port, uint32_t instance, uint32_t offset, uint32_t value)
{
    (void)port;
    const ta_status status = enter() != TA_OK ? TA_ERROR_STATE : leave(write_locked(instance, offset, value));
    if (status != TA_OK || offset != ta_host_simulator(instance)->start_offset)
        return status;
    const ta_host_work work = {NULL, NULL, ta_host_simulator(instance), 1};
    return ta_host_lane_submit(lane_of(instance), work);
}

static ta_status host_cache_clean(const ta_port *port, const void *start, uint32_t bytes)
{
    (void)port;
    ta_host_cache_evict();
    ta_host_cache_maintain(start, bytes, 1);
    return TA_OK;
}

static ta_status host_cache_invalidate(const ta_port *port, void *start, uint32_t bytes)
{
    (void)port;
    ta_host_cache_evict();
    ta_host_cache_maintain(start, bytes, 0);
    return TA_OK;
}

static ta_status host_now_us(const ta_port *port, uint64_t *now)
{
    struct timespec time;
    (void)port;
    if (clock_gettime(CLOCK_MONOTONIC, &time) != 0)
        return TA_ERROR_UNSUPPORTED;
    *now = (uint64_t)time.tv_sec * 1000000u + (uint64_t)time.tv_nsec / 1000u;
    return TA_OK;
}

static ta_status host_crc32c(const ta_port *port, const void *start, uint32_t bytes, uint32_t *crc)
{
    (void)port;
    return ta_host_crc32c(start, bytes, crc);
}

const ta_port ta_port_host = {
    .version = TA_PORT_VERSION,
    .name = "host",
    .open = host_open,
    .close = host_close,
    .load = host_load,
    .start = host_start,
    .stop = host_stop,
    .copy = host_copy,
    .copy_async = host_copy_async,
    .dispatch = host_dispatch,
    .address = host_address,
    .read_timeline = host_read_timeline,
    .wait = host_wait,
    .cancel = host_cancel,
    .mmio_read32 = host_mmio_read32,
    .mmio_write32 = host_mmio_write32,
    .cache_clean = host_cache_clean,
    .cache_invalidate = host_cache_invalidate,
    .now_us = host_now_us,
    .crc32c = host_crc32c,
    .dispatch_all = host_dispatch_all,
    .succeeded = host_succeeded,
};

void ta_host_set_jitter(uint32_t seed)
{
    ta_host.jitter = seed;
}

void ta_host_set_lazy(uint32_t lazy)
{
    ta_host.lazy = lazy;
}

void ta_host_set_counters(uint32_t value)
{
    ta_host.first_value = value;
}

static void arm(uint32_t timeline, uint32_t skip, ta_status status, uint32_t late)
{
    ta_host_take(&ta_host.lock);
    ta_host.lanes[timeline].fail_skip = skip;
    ta_host.lanes[timeline].fail_status = status;
    ta_host.lanes[timeline].fail_late = late;
    TA_HOST_WRITE(ta_host.lanes[timeline].fail_armed, 1u);
    pthread_mutex_unlock(&ta_host.lock);
}

void ta_host_fail(uint32_t timeline, uint32_t skip, ta_status status)
{
    arm(timeline, skip, status, 0);
}

void ta_host_signal(uint32_t timeline)
{
    ta_host_take(&ta_host.lock);
    if (ta_host.lanes[timeline].alive)
        pthread_cond_broadcast(&ta_host.lanes[timeline].changed);
    pthread_mutex_unlock(&ta_host.lock);
}

void ta_host_lose(uint32_t timeline, uint32_t skip)
{
    arm(timeline, skip, TA_ERROR_TIMEOUT, 1);
}
