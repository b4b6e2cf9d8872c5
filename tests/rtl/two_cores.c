/* In place of a bundle's runner: after one run, whose operands are still in the engines' memories, starts the
 * last command of every engine again, all before it waits for any. Returns 0 where every engine says done. */
#include <stdio.h>

#include <quantized.h>

#include "target_arch/driver.h"

#define MOST 8u

static ta_status start(const ta_runtime *rt, const ta_dispatch *dispatch)
{
    ta_address operands[TA_MAX_OPERANDS];
    const ta_command command = {dispatch->words, dispatch->word_count, operands, dispatch->ref_count};
    uint32_t i;
    for (i = 0; i < dispatch->ref_count; i++) {
        const ta_status status = rt->port->address(rt->port, dispatch->instance, dispatch->refs[i], &operands[i]);
        if (status != TA_OK)
            return status;
    }
    return rt->soc->instances[dispatch->instance].driver->start(rt->port, dispatch->instance, &command);
}

static ta_status settle(const ta_runtime *rt, uint32_t instance)
{
    const uint32_t timeline = rt->soc->instances[instance].timeline;
    uint32_t value;
    ta_status status = rt->port->read_timeline(rt->port, timeline, &value);
    while (status == TA_OK && rt->soc->instances[instance].driver->poll(rt->port, instance) == TA_ERROR_BUSY)
        status = rt->port->wait(rt->port, timeline, value + 1u, 60000000u);
    return status == TA_OK ? rt->soc->instances[instance].driver->poll(rt->port, instance) : status;
}

int main(void)
{
    const ta_dispatch *last[MOST] = {NULL};
    const ta_runtime *rt = quantized_runtime();
    ta_status status = quantized_init(&ta_port_host);
    uint32_t i;
    if (status == TA_OK)
        status = quantized_run();
    for (i = 0; status == TA_OK && i < rt->bundle->dispatch_count; i++)
        if (rt->soc->instances[rt->bundle->dispatches[i].instance].driver != NULL)
            last[rt->bundle->dispatches[i].instance] = &rt->bundle->dispatches[i];
    for (i = 0; i < MOST && status == TA_OK; i++)
        if (last[i] != NULL)
            status = start(rt, last[i]);
    for (i = 0; i < MOST && status == TA_OK; i++)
        if (last[i] != NULL)
            status = settle(rt, i);
    if (status != TA_OK)
        fprintf(stderr, "%s\n", ta_status_name(status));
    return quantized_stop() == TA_OK ? (int)status : 1;
}
