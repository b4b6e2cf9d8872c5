/* Names for people. Nothing else of the core needs them, so that a program that prints none does not link them. */
#include "core/internal.h"

const char *ta_status_name(ta_status status)
{
    switch (status) {
    case TA_OK: return "TA_OK";
    case TA_ERROR_ARGUMENT: return "TA_ERROR_ARGUMENT";
    case TA_ERROR_ABI_MISMATCH: return "TA_ERROR_ABI_MISMATCH";
    case TA_ERROR_STATE: return "TA_ERROR_STATE";
    case TA_ERROR_UNSUPPORTED: return "TA_ERROR_UNSUPPORTED";
    case TA_ERROR_TIMEOUT: return "TA_ERROR_TIMEOUT";
    case TA_ERROR_DMA: return "TA_ERROR_DMA";
    case TA_ERROR_DEVICE: return "TA_ERROR_DEVICE";
    case TA_ERROR_IMAGE: return "TA_ERROR_IMAGE";
    case TA_ERROR_BUSY: return "TA_ERROR_BUSY";
    case TA_ERROR_CORRUPT: return "TA_ERROR_CORRUPT";
    case TA_ERROR_DEADLINE: return "TA_ERROR_DEADLINE";
    default: return "unknown";
    }
}

const char *ta_failed_device(const ta_runtime *rt)
{
    if (rt->failed_step == TA_NO_STEP || rt->bundle == NULL)
        return NULL;
    const ta_step *step = &rt->bundle->steps[rt->failed_step];
    if (step->kind == (uint32_t)TA_STEP_LOAD)
        return rt->soc->instances[rt->bundle->loads[step->index].instance].name;
    if (step->event.timeline < rt->soc->channel_count)
        return rt->soc->channels[step->event.timeline].name;
    if (step->event.timeline != TA_TIMELINE_NONE)
        return rt->soc->instances[step->event.timeline - rt->soc->channel_count].name;
    for (uint32_t i = 0; i < rt->soc->instance_count; i++)
        if (rt->soc->instances[i].is_host != 0u)
            return rt->soc->instances[i].name; /* a synchronous step */
    return NULL;
}
