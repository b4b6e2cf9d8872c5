/* init, run, stop: the order of actions, and how they are undone after a failure. */
#include "core/internal.h"

static int mismatched(const ta_bundle *bundle, const ta_soc *soc, const ta_port *port)
{
    return bundle->abi_version != TA_ABI_VERSION || soc->abi_version != TA_ABI_VERSION ||
           port->version != TA_PORT_VERSION || bundle->abi_hash != soc->abi_hash;
}

static ta_status first_failure(ta_status earlier, ta_status later)
{
    return earlier != TA_OK ? earlier : later;
}

static uint32_t load_steps(const ta_bundle *bundle)
{
    uint32_t count = 0;
    while (count < bundle->step_count && bundle->steps[count].kind == (uint32_t)TA_STEP_LOAD)
        count++;
    return count;
}

static ta_status bring_up(const ta_runtime *rt, const ta_load *load)
{
    const ta_instance_info *instance = &rt->soc->instances[load->instance];
    ta_status status = TA_OK;
    if (instance->is_host != 0u)
        return TA_OK; /* it is what executes this */
    if (load->image != NULL && ta_crc32(load->image, load->image_bytes) != load->image_crc32)
        return TA_ERROR_IMAGE;
    if (ta_takes_program(instance->load_process))
        status = rt->port->load(rt->port, load->instance, load->image, load->image_bytes);
    return status != TA_OK ? status : rt->port->start(rt->port, load->instance);
}

/* Stop the instances of the first `count` LOAD steps, last one first, whatever they answer. */
static ta_status take_down(const ta_runtime *rt, uint32_t count)
{
    ta_status status = TA_OK;
    while (count-- > 0) {
        const uint32_t instance = rt->bundle->loads[rt->bundle->steps[count].index].instance;
        if (!rt->soc->instances[instance].is_host)
            status = first_failure(status, rt->port->stop(rt->port, instance));
    }
    return status;
}

static ta_status bring_all_up(ta_runtime *rt)
{
    const uint32_t count = load_steps(rt->bundle);
    for (uint32_t i = 0; i < count; i++) {
        const ta_status status = bring_up(rt, &rt->bundle->loads[rt->bundle->steps[i].index]);
        if (status != TA_OK) {
            ta_blame(rt, i);
            (void)take_down(rt, i + 1u); /* the first failure is the one to tell */
            return status;
        }
    }
    return TA_OK;
}

static ta_status read_timelines(ta_runtime *rt)
{
    for (uint32_t t = 0; t < TA_MAX_TIMELINES; t++) {
        const ta_progress fresh = {0, 0, 0, 0};
        rt->progress[t] = fresh;
        if (t >= rt->soc->timeline_count || rt->port->read_timeline == NULL)
            continue;
        const ta_status status = rt->port->read_timeline(rt->port, t, &rt->progress[t].base);
        if (status != TA_OK)
            return status;
    }
    return TA_OK;
}

ta_status ta_init(ta_runtime *rt, const ta_bundle *bundle, const ta_soc *soc, const ta_port *port)
{
    if (rt == NULL || bundle == NULL || soc == NULL || port == NULL)
        return TA_ERROR_ARGUMENT;
    if (rt->state != TA_STATE_STOPPED)
        return TA_ERROR_STATE;
    rt->failed_step = TA_NO_STEP;
    rt->bundle = NULL; /* whatever it was: nothing of it is to blame any more */
    if (mismatched(bundle, soc, port))
        return TA_ERROR_ABI_MISMATCH;
    ta_status status = ta_validate(bundle, soc, port, &rt->failed_step);
    if (status != TA_OK)
        return status;
    rt->bundle = bundle;
    rt->soc = soc;
    rt->port = port;
    rt->timeout_us = TA_DEFAULT_TIMEOUT_US;
    rt->run_us = 0;
    rt->filled = NULL;
    rt->lost = 0u;
    status = port->open(port, soc, bundle);
    if (status != TA_OK)
        return status;
    status = bring_all_up(rt);
    if (status == TA_OK)
        status = read_timelines(rt);
    if (status != TA_OK) {
        (void)port->close(port);
        return status;
    }
    rt->state = TA_STATE_READY;
    return TA_OK;
}

static void begin_run(ta_runtime *rt)
{
    rt->failed_step = TA_NO_STEP;
    for (uint32_t t = 0; t < rt->soc->timeline_count; t++) {
        ta_progress *progress = &rt->progress[t];
        progress->base += progress->issued;
        progress->issued = 0;
        progress->settled = 0;
        progress->cursor = 0;
    }
}

/* Wait for all that is in flight. The first failure, if any; then other timelines are not looked at. */
static ta_status settle_all(ta_runtime *rt)
{
    for (uint32_t t = 0; t < rt->soc->timeline_count; t++) {
        const ta_status status = ta_settle(rt, t, rt->progress[t].issued, rt->timeout_us);
        if (status != TA_OK)
            return status;
    }
    return TA_OK;
}

/* From one state to another, where it is in the first: atomic, for another thread may try the same. */
static int change_state(ta_runtime *rt, uint32_t from, uint32_t to)
{
#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_4
    return __atomic_compare_exchange_n(&rt->state, &from, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
#else
    if (rt->state != from)
        return 0;
    rt->state = to;
    return 1;
#endif
}

/* After a failure: wait for one timeline's work, whatever it answers, and cancel what does not end. */
static void quiesce(ta_runtime *rt, uint32_t timeline, uint32_t timeout_us)
{
    ta_progress *progress = &rt->progress[timeline];
    while (progress->settled < progress->issued) {
        const uint32_t before = progress->settled;
        (void)ta_settle(rt, timeline, progress->issued, timeout_us);
        if (progress->settled == before) {
            (void)rt->port->cancel(rt->port, timeline);
            (void)change_state(rt, TA_STATE_RUNNING, TA_STATE_BROKEN);
            return;
        }
    }
}

static void abandon(ta_runtime *rt, ta_status reason)
{
    /* After a timeout something must be cancelled anyway, so nothing else is waited for. */
    const uint32_t timeout_us = reason == TA_ERROR_TIMEOUT ? 0u : rt->timeout_us;
    for (uint32_t t = 0; t < rt->soc->timeline_count; t++)
        quiesce(rt, t, timeout_us);
}

/* Do all inputs or outputs have bytes? The caller may not have lent any. */
static int all_there(const ta_bundle *bundle, const ta_tensor *tensors, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (ta_pointer(bundle, tensors[i].where) == NULL)
            return 0;
    return 1;
}

static ta_status watched(ta_runtime *rt, uint32_t step)
{
    return rt->watch != NULL ? rt->watch(rt->watch_context, step) : TA_OK;
}

static ta_status execute_all(ta_runtime *rt)
{
    for (uint32_t i = load_steps(rt->bundle); i < rt->bundle->step_count; i++) {
        ta_status status = watched(rt, i);
        if (status == TA_OK)
            status = ta_execute(rt, i);
        if (status != TA_OK) {
            ta_blame(rt, i);
            return status;
        }
    }
    const ta_status status = watched(rt, rt->bundle->step_count);
    return status == TA_OK ? settle_all(rt) : status;
}

static uint64_t now(const ta_port *port)
{
    uint64_t time = 0;
    if (port->now_us == NULL || port->now_us(port, &time) != TA_OK)
        return 0;
    return time;
}

int ta_claim(ta_runtime *rt)
{
    return change_state(rt, TA_STATE_READY, TA_STATE_RUNNING);
}

void ta_release(ta_runtime *rt)
{
    (void)change_state(rt, TA_STATE_RUNNING, TA_STATE_READY);
}

ta_status ta_run_claimed(ta_runtime *rt)
{
    if (!all_there(rt->bundle, rt->bundle->inputs, rt->bundle->input_count) ||
        !all_there(rt->bundle, rt->bundle->outputs, rt->bundle->output_count))
        return TA_ERROR_ARGUMENT;
    rt->run_us = now(rt->port);
    begin_run(rt);
    const ta_status status = execute_all(rt);
    if (status != TA_OK)
        abandon(rt, status);
    rt->run_us = now(rt->port) - rt->run_us;
    return status;
}

ta_status ta_run(ta_runtime *rt)
{
    if (rt == NULL)
        return TA_ERROR_ARGUMENT;
    if (!ta_claim(rt))
        return TA_ERROR_STATE;
    const ta_status status = ta_run_claimed(rt);
    ta_release(rt);
    return status;
}

ta_status ta_stop(ta_runtime *rt)
{
    if (rt == NULL)
        return TA_ERROR_ARGUMENT;
    if (rt->state == TA_STATE_STOPPED)
        return TA_OK;
    if (rt->state == TA_STATE_RUNNING)
        return TA_ERROR_STATE;
    const ta_status status = take_down(rt, load_steps(rt->bundle));
    rt->state = TA_STATE_STOPPED;
    return first_failure(status, rt->port->close(rt->port));
}
