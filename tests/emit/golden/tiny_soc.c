/* SPDX-License-Identifier: LicenseRef-generated */
/* tiny as the runtime sees it. */
#include <tiny_soc.h>
#include "target_arch/driver.h"

#if TINY_ABI_HASH != 0x33fd82c9ce670647ULL
#error "tiny_soc.h is the header of another description of the SoC"
#endif

static const ta_memory_info memories[] = {
    {"flash", 4096ULL, 0x8000000ULL, 1, 0},
    {"sram", 4096ULL, 0x20000000ULL, 1, 0},
    {"tcm", 1024ULL, 0, 0, 0},
};

static const ta_channel_info channels[] = {
    {"dma.0"},
};

static const ta_observed observed_dsp[] = {
    {TINY_MEMORY_TCM, 0x0ULL},
};

static const ta_instance_info instances[] = {
    {"host", 1, TINY_TIMELINE_HOST, TA_LOAD_LINKED, NULL, NULL, 0, NULL, 0},
    {"dsp", 0, TINY_TIMELINE_DSP, TA_LOAD_FIRMWARE, NULL, observed_dsp, 1, NULL, 0},
};

extern const ta_soc tiny_add_soc_table;
const ta_soc tiny_add_soc_table = {
    TA_ABI_VERSION,
    3, /* timelines */
    TINY_ABI_HASH,
    "tiny",
    memories,
    channels,
    instances,
    3, /* memories */
    1, /* channels */
    2, /* instances */
};
/* SPDX-License-Identifier: LicenseRef-generated */
/* The simulation of tiny on a computer: memories that the host cannot see, and devices. */
#include <tiny_soc.h>
#include "ports/host/simulator.h"

#if TINY_ABI_HASH != 0x33fd82c9ce670647ULL
#error "tiny_soc.h is the header of another description of the SoC"
#endif

static uint8_t memory_tcm[64] TA_ALIGNED(64);

static const ta_simulated_memory memories[] = {
    {TINY_MEMORY_TCM, 64, memory_tcm},
};

ta_status ta_elf_check(const uint8_t *image, uint32_t bytes);

static const ta_image_check checks[] = {
    {TA_LOAD_FIRMWARE, ta_elf_check},
};

static const ta_simulator *const simulators[] = {
    NULL, /* host */
    NULL, /* dsp */
};

extern const ta_simulation tiny_add_simulation;
const ta_simulation tiny_add_simulation = {memories, 1, simulators, 2, NULL, checks, 1};
