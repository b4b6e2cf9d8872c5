/* The host port under test: as fast as it can, with jitter, as late as it may, and with counters about to
 * wrap. */
#include <string.h>

#include "conformance/conformance.h"
#include "ports/host/host.h"
#include "ports/host/simulator.h"

static uint8_t tcm_bytes[TCM_BYTES], ram_0_bytes[RAM_BYTES], ram_1_bytes[RAM_BYTES];

static const ta_simulated_memory memories[] = {
    {MEMORY_TCM, TCM_BYTES, tcm_bytes},
    {MEMORY_RAM_0, RAM_BYTES, ram_0_bytes},
    {MEMORY_RAM_1, RAM_BYTES, ram_1_bytes},
};

static ta_status adder_run(uint32_t *registers, const ta_window *windows, uint32_t window_count)
{
    const uint32_t count = registers[ADDER_COUNT];
    if (count == ADDER_HANGS)
        return TA_ERROR_TIMEOUT;
    const uint8_t *a = ta_window_at(windows, window_count, registers[ADDER_A], count);
    const uint8_t *b = ta_window_at(windows, window_count, registers[ADDER_B], count);
    uint8_t *out = ta_window_at(windows, window_count, registers[ADDER_OUT], count);
    registers[ADDER_STATUS] = ADDER_DONE;
    if (count == 0 || a == NULL || b == NULL || out == NULL) {
        registers[ADDER_STATUS] |= ADDER_FAULT;
        return TA_OK;
    }
    for (uint32_t i = 0; i < count; i++)
        out[i] = (uint8_t)(a[i] + b[i]);
    return TA_OK;
}

static const ta_simulator adder = {"adder", ADDER_REGISTERS, ADDER_START_REGISTER, adder_run};
static const ta_simulator *const simulators[INSTANCE_COUNT] = {NULL, NULL, &adder, &adder};

const ta_simulation ta_host_simulation = {memories, 3, simulators, INSTANCE_COUNT, NULL};

static const char *const modes[] = {"eager", "jitter", "lazy", "wrap", NULL};

static void set_mode(const char *mode)
{
    ta_host_set_jitter(strcmp(mode, "jitter") == 0 ? 20177u : 0u);
    ta_host_set_lazy(strcmp(mode, "lazy") == 0);
    ta_host_set_counters(strcmp(mode, "wrap") == 0 ? 0xfffffffdu : 0u);
}

const port_under_test under_test = {
    &ta_port_host, modes, set_mode, ta_host_set_counters, ta_host_fail, ta_host_set_lazy,
};
