/* FILLs, each as a run of its own. Nothing else of the core needs them, so that a bundle without residents does not
 * carry them. */
#include "core/internal.h"

static ta_status fill_step(ta_runtime *rt, uint32_t number)
{
    const ta_bundle *const whole = rt->bundle;
    const ta_watch watch = rt->watch;
    ta_step step = whole->steps[number];
    ta_bundle part = *whole;
    step.kind = (uint32_t)TA_STEP_COPY;
    step.event.value = 1;
    part.steps = &step;
    part.step_count = 1;
    part.input_count = part.output_count = 0; /* nobody has lent any yet */
    rt->bundle = &part;
    rt->watch = NULL; /* it is for runs */
    const ta_status status = ta_run_claimed(rt);
    rt->watch = watch;
    rt->bundle = whole;
    if (status != TA_OK)
        rt->failed_step = number;
    return status;
}

ta_status ta_fill_claimed(ta_runtime *rt)
{
    ta_status status = TA_OK;
    rt->filled = NULL;
    for (uint32_t i = 0; i < rt->bundle->step_count && status == TA_OK; i++) {
        const uint32_t kind = rt->bundle->steps[i].kind;
        if (kind != (uint32_t)TA_STEP_FILL && kind != (uint32_t)TA_STEP_LOAD)
            break;
        if (kind == (uint32_t)TA_STEP_FILL)
            status = fill_step(rt, i);
    }
    if (status == TA_OK)
        rt->filled = rt->bundle;
    return status;
}

ta_status ta_fill(ta_runtime *rt)
{
    if (rt == NULL)
        return TA_ERROR_ARGUMENT;
    if (!ta_claim(rt))
        return TA_ERROR_STATE;
    const ta_status status = ta_fill_claimed(rt);
    ta_release(rt);
    if (status != TA_OK)
        (void)ta_stop(rt); /* the first failure is the one to tell */
    return status;
}
