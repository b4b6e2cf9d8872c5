/* The suite's own SoC, and the place of a bundle in it. To run the suite on silicon, replace this file. */
#include "conformance/conformance.h"

uint8_t conformance_sram[SRAM_STORAGE] TA_ALIGNED(CONFORMANCE_ALIGNMENT) = {
    [SRAM_BYTES] = 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3,
};

static const ta_memory_info memories[] = {
    {"sram", 65536, SRAM_ADDRESS, 1, 64},
    {"tcm", TCM_BYTES, 0, 0, 0},
    {"ram_0", RAM_BYTES, 0, 0, 0},
    {"ram_1", RAM_BYTES, 0, 0, 0},
};
static const ta_channel_info channels[] = {{"dma.0"}, {"dma.1"}};
static const ta_observed dsp_observes[] = {{MEMORY_TCM, TCM_ADDRESS}, {MEMORY_SRAM, SRAM_ADDRESS}};
uint8_t conformance_stack[STACK_BYTES] TA_ALIGNED(16);

static const ta_observed core_observes[] = {{MEMORY_SRAM, SRAM_ADDRESS}};
static const ta_observed adder_0_observes[] = {{MEMORY_RAM_0, 0}};
static const ta_observed adder_1_observes[] = {{MEMORY_RAM_1, 0}, {MEMORY_SRAM, SRAM_ADDRESS}};
#define ADDER &conformance_adder_driver
static const ta_instance_info instances[] = {
    {"host", 1, TIMELINE_OF(INSTANCE_HOST), TA_LOAD_LINKED, NULL, NULL, 0, NULL, 0},
    {"dsp", 0, TIMELINE_OF(INSTANCE_DSP), TA_LOAD_FIRMWARE, NULL, dsp_observes, 2, NULL, 0},
    {"adder[0]", 0, TIMELINE_OF(INSTANCE_ADDER_0), TA_LOAD_BITSTREAM, ADDER, adder_0_observes, 1, NULL, 0},
    {"adder[1]", 0, TIMELINE_OF(INSTANCE_ADDER_1), TA_LOAD_BITSTREAM, ADDER, adder_1_observes, 2, NULL, 0},
    {"core", 0, TIMELINE_OF(INSTANCE_CORE), TA_LOAD_LINKED, NULL, core_observes, 1, conformance_stack, STACK_BYTES},
};
const ta_soc conformance_soc = {
    TA_ABI_VERSION, TIMELINE_COUNT, CONFORMANCE_HASH, "conformance", memories,
    channels,       instances,      MEMORY_COUNT, CHANNEL_COUNT, INSTANCE_COUNT,
};

const ta_arena conformance_arenas[ARENA_COUNT] = {
    {MEMORY_SRAM, 0, SRAM_BYTES, conformance_sram, NULL, NULL},
    {MEMORY_SRAM, 0, ADD_BYTES, NULL, conformance_sram + SRAM_BYTES, NULL},
    {MEMORY_TCM, 64, TCM_BYTES - 64, NULL, NULL, NULL},
    {MEMORY_RAM_0, 0, RAM_BYTES, NULL, NULL, NULL},
    {MEMORY_RAM_1, 32, RAM_BYTES - 32, NULL, NULL, NULL},
};
