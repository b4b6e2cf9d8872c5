/* A kernel on an emulated board that writes outside of its arenas, or not: argument STRAY says where. */
#include "conformance/conformance.h"
#include "ports/qemu_mps2/qemu_mps2.h"

enum { NOWHERE, CONSTANTS, DATA, BEHIND };

ta_runtime rt;
static workload w;
static volatile uint32_t data;

const char *failed(const char *condition)
{
    return condition;
}

static ta_status stray(void *const *pointers)
{
    volatile uint8_t on_the_stack[64];
    uint8_t *out = pointers[2];
    for (uint32_t i = 0; i < sizeof on_the_stack; i++)
        on_the_stack[i] = (uint8_t)i;
    for (uint32_t i = 0; i < ADD_BYTES; i++)
        out[i] = on_the_stack[i];
    if (STRAY == CONSTANTS)
        *(volatile uint8_t *)(uintptr_t)w.arenas[ARENA_CONSTANTS].base_const = 1;
    if (STRAY == DATA)
        data = 1;
    if (STRAY == BEHIND)
        *(volatile uint8_t *)(w.arenas[ARENA_SRAM].base + SRAM_BYTES + 2048) = 1;
    return TA_OK;
}

int main(void)
{
    begin(&w);
    const uint32_t call = add_call(&w, INSTANCE_HOST, sram(0), sram(64), sram(128));
    w.kernels[w.steps[call].index].function = stray;
    if (ta_mps2_protect(1) != TA_ERROR_STATE)
        return 1;
    if (ta_init(&rt, &w.bundle, &conformance_soc, &ta_port_qemu_mps2) != TA_OK || ta_mps2_protect(1) != TA_OK)
        return 2;
    if (ta_run(&rt) != TA_OK || ta_run(&rt) != TA_OK)
        return 3;
    data = 2; /* the program itself may */
    return data == 2u && ta_stop(&rt) == TA_OK ? 0 : 4;
}
