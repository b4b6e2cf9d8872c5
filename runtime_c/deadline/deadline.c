/* Before each step: was the one before it in time, and how long may this one wait? */
#include "deadline/deadline.h"

static const ta_due *due_of(const ta_deadline *deadline, const ta_bundle *bundle)
{
    for (uint32_t i = 0; i < deadline->count; i++)
        if (deadline->models[i].bundle == bundle)
            return &deadline->models[i];
    return NULL;
}

/* Microseconds from the start of a run to the deadline of a step: at most about 2^57. */
static uint64_t limit_us(const ta_deadline *deadline, const ta_due *due, uint32_t step)
{
    return ((uint64_t)due->due_us[step] * deadline->percent) / 100u;
}

static ta_status watch_deadline(void *context, uint32_t step)
{
    const ta_deadline *const deadline = context;
    ta_runtime *const rt = deadline->runtime;
    rt->timeout_us = deadline->timeout_us; /* what a failure leaves in flight may take its time */
    const ta_due *const due = due_of(deadline, rt->bundle);
    uint64_t now = 0;
    if (due == NULL)
        return TA_ERROR_ARGUMENT;
    const ta_status status = rt->port->now_us(rt->port, &now);
    if (status != TA_OK)
        return status;
    const uint64_t elapsed = now - rt->run_us;
    if (step != 0u && rt->bundle->steps[step - 1u].kind != (uint32_t)TA_STEP_LOAD &&
        elapsed > limit_us(deadline, due, step - 1u))
        return TA_ERROR_DEADLINE;
    const uint64_t limit = limit_us(deadline, due, step);
    const uint64_t left = limit > elapsed ? limit - elapsed : 0u;
    rt->timeout_us = left < deadline->timeout_us ? (uint32_t)left : deadline->timeout_us;
    return deadline->next != NULL ? deadline->next(deadline->next_context, step) : TA_OK;
}

ta_status ta_deadline_set(ta_deadline *deadline, ta_runtime *rt, const ta_due *models, uint32_t count,
                          uint32_t percent)
{
    uint64_t now = 0;
    if (deadline == NULL || rt == NULL || models == NULL)
        return TA_ERROR_ARGUMENT;
    if (rt->state != 1u)
        return TA_ERROR_STATE;
    if (rt->port->now_us == NULL || rt->port->now_us(rt->port, &now) != TA_OK)
        return TA_ERROR_UNSUPPORTED;
    if (rt->watch != watch_deadline || rt->watch_context != deadline)
        deadline->timeout_us = rt->timeout_us;
    deadline->runtime = rt;
    deadline->models = models;
    deadline->count = count;
    deadline->percent = percent;
    if (due_of(deadline, rt->bundle) == NULL)
        return TA_ERROR_ARGUMENT;
    rt->timeout_us = deadline->timeout_us;
    rt->watch = percent != 0u ? watch_deadline : deadline->next;
    rt->watch_context = percent != 0u ? (void *)deadline : deadline->next_context;
    return TA_OK;
}
