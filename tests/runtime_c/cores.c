/* Two cores at once: each kernel returns only when the other has begun, so that one after the other would never end. */
#include <stdio.h>

#include "conformance/conformance.h"
#include "ports/host/host.h"

enum { RUNS = 500 };

ta_runtime rt;
static workload w;
static uint32_t begun[2]; /* by the host and by the other core, in how many runs */

const char *failed(const char *condition)
{
    return condition;
}

/* What the other core wrote in its last run is there when this one begins: no lock guards `sum`. */
static uint32_t sum;

static ta_status meet(uint32_t own, void *const *operands)
{
    const uint32_t turn = __atomic_add_fetch(&begun[own], 1u, __ATOMIC_RELAXED);
    for (uint64_t patience = UINT64_C(20000000000); patience != 0; patience--)
        if (__atomic_load_n(&begun[1u - own], __ATOMIC_RELAXED) >= turn)
            return conformance_add(operands);
    return TA_ERROR_DEVICE;
}

static ta_status host_kernel(void *const *operands)
{
    return meet(0, operands);
}

static ta_status core_kernel(void *const *operands)
{
    sum++;
    return meet(1, operands);
}

int main(void)
{
    under_test.set_mode(under_test.modes[0]);
    begin(&w);
    (void)add_load(&w, INSTANCE_DSP);
    const uint32_t there = add_call(&w, INSTANCE_DSP, sram(0), sram(64), sram(128));
    const uint32_t here = add_call(&w, INSTANCE_HOST, sram(0), sram(64), sram(192));
    (void)add_wait(&w, TIMELINE_OF(INSTANCE_DSP));
    w.kernels[w.steps[there].index].function = core_kernel;
    w.kernels[w.steps[here].index].function = host_kernel;
    fill(0, 128, 3);
    if (ta_init(&rt, &w.bundle, &conformance_soc, &ta_port_host) != TA_OK)
        return 2;
    for (uint32_t run = 1; run <= RUNS; run++)
        if (ta_run(&rt) != TA_OK || sum != run)
            return 3;
    if (ta_stop(&rt) != TA_OK)
        return 4;
    printf("%u runs, both cores in each\n", (unsigned)sum);
    return 0;
}
