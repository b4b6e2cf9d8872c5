/* Takes the place of a bundle's runner: one fault after the other on the pins of a Verilated engine. Reads one frame;
 * prints a line per fault: what run answered, the step, the device, whether a byte of the device's memories outside of
 * the pools changed, how stop went, and how a run after stop and init went. */
#include <stdio.h>
#include <string.h>

#include <digits_int8.h>

#include "ports/host/state.h"
#include "target_arch/port.h"
#include "verilated_faults.h"

#define PATIENCE_US 300000u

static uint8_t frame[DIGITS_INT8_INPUT_IMAGE_BYTES], expected[DIGITS_INT8_OUTPUT_LOGITS_BYTES];

static const struct {
    const char *name;
    ta_rtl_fault fault;
    uint32_t after;
} faults[] = {
    {"none", TA_RTL_SOUND, 0},
    {"reset while busy", TA_RTL_RESET, 100},
    {"reset while busy, unseen", TA_RTL_RESET_UNSEEN, 100},
    {"reset at the start", TA_RTL_RESET, 0},
    {"interrupt masked", TA_RTL_INTERRUPT_LOST, 0},
    {"read error", TA_RTL_READ_ERROR, 3},
    {"read error in the first beat", TA_RTL_READ_ERROR, 0},
    {"read never answers", TA_RTL_READ_HANGS, 3},
    {"write error", TA_RTL_WRITE_ERROR, 2},
    {"write never answers", TA_RTL_WRITE_HANGS, 2},
};

static ta_status run(void)
{
    memcpy(digits_int8_input_image(), frame, sizeof frame);
    return digits_int8_run();
}

static int in_pool(uint32_t memory, uint32_t offset)
{
    const ta_bundle *bundle = digits_int8_runtime()->bundle;
    for (uint32_t i = 0; i < bundle->arena_count; i++)
        if (bundle->arenas[i].memory == memory && offset - bundle->arenas[i].device_offset < bundle->arenas[i].bytes)
            return 1;
    return 0;
}

static const char *guards(void)
{
    uint32_t seen = 0;
    for (uint32_t i = 0; i < ta_host.simulation->memory_count; i++) {
        const ta_simulated_memory *memory = &ta_host.simulation->memories[i];
        for (uint32_t at = 0; at < memory->bytes; at++)
            if (!in_pool(memory->memory, at)) {
                seen++;
                if (memory->base[at] != TA_POISON)
                    return "touched";
            }
    }
    return seen == 0 ? "missing" : "intact";
}

/* Does all of it work again, from init on? */
static const char *after(void)
{
    if (digits_int8_init(&ta_port_host) != TA_OK)
        return "init failed";
    if (run() != TA_OK || memcmp(digits_int8_output_logits(), expected, sizeof expected) != 0)
        return "differs";
    return digits_int8_stop() == TA_OK ? "equal" : "stop failed";
}

static void suffer(size_t i)
{
    ta_runtime *rt = digits_int8_runtime();
    rt->timeout_us = PATIENCE_US;
    ta_conv2d_engine_fail(faults[i].fault, faults[i].after);
    const ta_status status = run();
    const char *kind = "no step", *device = ta_failed_device(rt);
    if (rt->failed_step != TA_NO_STEP)
        kind = rt->bundle->steps[rt->failed_step].kind == TA_STEP_DISPATCH ? "dispatch" : "another step";
    printf("%s: %s, %s, %s, guards %s, ", faults[i].name, ta_status_name(status), kind,
           device == NULL ? "no device" : device, guards());
    const ta_status stopped = digits_int8_stop();
    printf("stop %s, then %s\n", ta_status_name(stopped), after());
    (void)fflush(stdout);
}

int main(void)
{
    if (fread(frame, 1, sizeof frame, stdin) != sizeof frame || digits_int8_init(&ta_port_host) != TA_OK)
        return 2;
    if (run() != TA_OK)
        return 3;
    memcpy(expected, digits_int8_output_logits(), sizeof expected);
    if (digits_int8_stop() != TA_OK)
        return 4;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        if (digits_int8_init(&ta_port_host) != TA_OK)
            return 5;
        suffer(i);
    }
    return 0;
}
