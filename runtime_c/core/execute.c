/* One step: submit it, or wait for its event.
 *
 * Asynchronous steps are settled one by one, in the order of their timeline, although ports could tell
 * about many at once: so a failure is blamed on the step that failed, and each copy's cache duty is done
 * when its bytes are there.
 */
#include "core/internal.h"

void ta_blame(ta_runtime *runtime, uint32_t step)
{
    if (runtime->failed_step == TA_NO_STEP)
        runtime->failed_step = step;
}

static ta_status each_row(const ta_runtime *rt, ta_ref where, const ta_copy *copy, uint32_t stride, int clean)
{
    uint8_t *start = ta_pointer(rt->bundle, where);
    if (start == NULL)
        return TA_OK; /* the host does not see it, so its cache does not hold it */
    for (uint32_t row = 0; row < copy->rows; row++) {
        uint8_t *at = start + (size_t)row * stride;
        const ta_status status = clean ? rt->port->cache_clean(rt->port, at, copy->row_bytes)
                                       : rt->port->cache_invalidate(rt->port, at, copy->row_bytes);
        if (status != TA_OK)
            return status;
    }
    return TA_OK;
}

static ta_status clean_source(const ta_runtime *rt, const ta_copy *copy)
{
    if ((copy->cache & (uint32_t)TA_CACHE_CLEAN_SOURCE) == 0u)
        return TA_OK;
    return each_row(rt, copy->source, copy, copy->source_stride, 1);
}

static ta_status invalidate_target(const ta_runtime *rt, const ta_copy *copy)
{
    if ((copy->cache & (uint32_t)TA_CACHE_INVALIDATE_TARGET) == 0u)
        return TA_OK;
    return each_row(rt, copy->target, copy, copy->target_stride, 0);
}

/* The step that completes the next unsettled value of the timeline. It exists: it was issued. */
/*@ requires \valid_read(rt) && there(rt->bundle) && timeline < TA_MAX_TIMELINES;
    assigns \result \from rt->progress[timeline].cursor;
    ensures \result < rt->bundle->step_count;
    ensures rt->bundle->steps[\result].event.timeline == timeline;
    ensures TA_STEP_COPY <= rt->bundle->steps[\result].kind <= TA_STEP_DISPATCH; */
static uint32_t next_on(const ta_runtime *rt, uint32_t timeline)
{
    uint32_t step = rt->progress[timeline].cursor;
    /* Not proved here: the tables are valid, and since ta_validate counts the events of each timeline, what was issued
     * and is not settled is behind the cursor. */
    //@ admit valid_steps(rt->bundle, rt->soc, rt->port, rt->bundle->step_count);
    //@ admit \exists integer k; step <= k < rt->bundle->step_count && is_on(rt->bundle->steps + k, timeline);
    /*@ loop invariant \exists integer k; step <= k < rt->bundle->step_count && is_on(rt->bundle->steps + k, timeline);
        loop assigns step; loop variant rt->bundle->step_count - step; */
    while (rt->bundle->steps[step].event.timeline != timeline ||
           rt->bundle->steps[step].kind >= (uint32_t)TA_STEP_WAIT) /* or a FILL */
        step++;
    //@ assert valid_step(rt->bundle, rt->soc, rt->port, step);
    return step;
}

/* How work that the port says is complete ended. */
static ta_status outcome(const ta_runtime *rt, const ta_step *step)
{
    const ta_instance_info *instance = ta_timeline_instance(rt->soc, step->event.timeline);
    if (instance == NULL)
        return invalidate_target(rt, &rt->bundle->copies[step->index]);
    if (instance->driver == NULL)
        return TA_OK;
    const uint32_t number = step->event.timeline - rt->soc->channel_count;
    const ta_status status = instance->driver->poll(rt->port, number);
    /* It signalled, yet denies being done, or that there was a command: then it was reset. */
    return status == TA_ERROR_BUSY || status == TA_ERROR_STATE ? TA_ERROR_DEVICE : status;
}

static ta_status settle_next(ta_runtime *rt, uint32_t timeline, uint32_t timeout_us)
{
    ta_progress *progress = &rt->progress[timeline];
    const uint32_t step = next_on(rt, timeline);
    const uint32_t value = progress->base + progress->settled + 1u;
    ta_status status = rt->port->wait(rt->port, timeline, value, timeout_us);
    if (status == TA_OK || status == TA_ERROR_DMA || status == TA_ERROR_DEVICE) {
        progress->settled++;
        progress->cursor = step + 1u;
        if (status == TA_OK)
            status = outcome(rt, &rt->bundle->steps[step]);
    }
    if (status != TA_OK)
        ta_blame(rt, step);
    return status;
}

ta_status ta_settle(ta_runtime *rt, uint32_t timeline, uint32_t value, uint32_t timeout_us)
{
    while (rt->progress[timeline].settled < value) {
        const ta_status status = settle_next(rt, timeline, timeout_us);
        if (status != TA_OK)
            return status;
    }
    return TA_OK;
}

static ta_status start_command(const ta_runtime *rt, const ta_dispatch *dispatch, const ta_driver *driver)
{
    ta_address operands[TA_MAX_OPERANDS];
    const ta_command command = {dispatch->words, dispatch->word_count, operands, dispatch->ref_count};
    for (uint32_t i = 0; i < dispatch->ref_count; i++) {
        const ta_ref where = dispatch->refs[i];
        const ta_status status = rt->port->address(rt->port, dispatch->instance, where, &operands[i]);
        if (status != TA_OK)
            return status;
    }
    return driver->start(rt->port, dispatch->instance, &command);
}

static ta_status submit(const ta_runtime *rt, const ta_step *step)
{
    if (step->kind == (uint32_t)TA_STEP_COPY)
        return rt->port->copy_async(rt->port, step->event.timeline, &rt->bundle->copies[step->index]);
    const ta_dispatch *dispatch = &rt->bundle->dispatches[step->index];
    const ta_driver *driver = rt->soc->instances[dispatch->instance].driver;
    if (driver != NULL)
        return start_command(rt, dispatch, driver);
    return rt->port->dispatch(rt->port, dispatch);
}

/* Submit, and while the queue is full wait for its oldest entry and try again. */
static ta_status submit_patiently(ta_runtime *rt, const ta_step *step)
{
    const uint32_t timeline = step->event.timeline;
    ta_progress *progress = &rt->progress[timeline];
    ta_status status = submit(rt, step);
    while (status == TA_ERROR_BUSY && progress->settled < progress->issued) {
        status = ta_settle(rt, timeline, progress->settled + 1u, rt->timeout_us);
        if (status == TA_OK)
            status = submit(rt, step);
    }
    if (status == TA_OK)
        progress->issued++;
    return status;
}

static ta_status execute_copy(ta_runtime *rt, const ta_step *step)
{
    const ta_copy *copy = &rt->bundle->copies[step->index];
    ta_status status = clean_source(rt, copy);
    if (status == TA_OK) /* before, so that no dirty line falls on top of the new bytes */
        status = invalidate_target(rt, copy);
    if (status != TA_OK)
        return status;
    if (step->event.timeline == TA_TIMELINE_NONE)
        return rt->port->copy(rt->port, copy);
    return submit_patiently(rt, step);
}

static ta_status execute_dispatch(ta_runtime *rt, const ta_step *step)
{
    const ta_dispatch *dispatch = &rt->bundle->dispatches[step->index];
    if (step->event.timeline == TA_TIMELINE_NONE)
        return rt->port->dispatch(rt->port, dispatch);
    if (rt->soc->instances[dispatch->instance].driver != NULL) {
        /* One command at a time: a second one would overwrite the answer to the first. */
        const uint32_t timeline = step->event.timeline;
        const ta_status status = ta_settle(rt, timeline, rt->progress[timeline].issued, rt->timeout_us);
        if (status != TA_OK)
            return status;
    }
    return submit_patiently(rt, step);
}

ta_status ta_execute(ta_runtime *rt, uint32_t index)
{
    const ta_step *step = &rt->bundle->steps[index];
    if (step->kind == (uint32_t)TA_STEP_WAIT)
        return ta_settle(rt, step->event.timeline, step->event.value, rt->timeout_us);
    if (step->kind == (uint32_t)TA_STEP_COPY)
        return execute_copy(rt, step);
    if (step->kind == (uint32_t)TA_STEP_DISPATCH)
        return execute_dispatch(rt, step);
    return step->kind == (uint32_t)TA_STEP_FILL ? TA_OK : TA_ERROR_ARGUMENT; /* it was made before the first run */
}
