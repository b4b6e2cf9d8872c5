/* SPDX-License-Identifier: LicenseRef-generated */
/* The steps of `tiny-add` on tiny. */
#include <tiny_soc.h>

#include "tiny_add_internal.h"

#if TINY_ABI_HASH != 0x33fd82c9ce670647ULL
#error "tiny_soc.h is the header of another description of the SoC"
#endif

#ifndef TA_SECTION_SRAM
#ifdef TA_SECTIONS
#define TA_SECTION_SRAM __attribute__((section(".bss.ta_sram")))
#else
#define TA_SECTION_SRAM
#endif
#endif
static uint8_t arena_sram[8] TA_SECTION_SRAM TA_ALIGNED(16);

static const ta_arena arenas[] = {
    {TINY_MEMORY_FLASH, 0, 48, NULL, (const uint8_t *)&tiny_add_flash_constants, NULL}, /* 0: flash.constants */
    {TINY_MEMORY_SRAM, 0, 8, arena_sram, NULL, NULL}, /* 1: sram */
    {TINY_MEMORY_TCM, 0, 56, NULL, NULL, NULL}, /* 2: tcm */
};

/* `dsp.elf` of dsp. A build for the chip defines TINY_IMAGE_DSP (an address),
 * TINY_IMAGE_DSP_BYTES and TINY_IMAGE_DSP_CRC32; simulated devices need only something to check. */
#ifdef TINY_IMAGE_DSP
extern const uint8_t TINY_IMAGE_DSP[];
#else
#define TINY_IMAGE_DSP image_dsp
#define TINY_IMAGE_DSP_BYTES 20u
#define TINY_IMAGE_DSP_CRC32 0x440f4cbau
static const uint8_t image_dsp[] = {
    115, 116, 97, 110, 100, 45, 105, 110, 32, 102, 111, 114, 32, 100, 115, 112, 46, 101, 108, 102,
};
#endif

static const ta_load loads[] = {
    {TINY_INSTANCE_DSP, TINY_IMAGE_DSP, TINY_IMAGE_DSP_BYTES, TINY_IMAGE_DSP_CRC32}, /* step 0: load dsp (firmware) */
};

static const ta_copy copies[] = {
    {{1, 0}, {2, 48}, 4, 2, 4, 4, TA_CACHE_NONE}, /* step 1: copy x:0@sram[0:+2x4/4] -> x:0@tcm[0:+8] by dma, event dma.0#1 */
    {{0, 16}, {2, 16}, 32, 1, 0, 0, TA_CACHE_CLEAN_SOURCE}, /* step 2: copy add/bias@flash[0:+32] -> add/bias@tcm[0:+32] by dma, event dma.0#2 */
    {{2, 0}, {1, 0}, 8, 1, 0, 0, TA_CACHE_INVALIDATE_TARGET}, /* step 6: copy y@tcm[0:+8] -> y@sram[0:+8] by dma, event dma.0#3 */
};

static const ta_ref refs[] = {
    {2, 48}, {2, 16}, {2, 0}, /* step 4: dispatch add0 on dsp, event dsp#1 */
};

static const ta_operand operands[] = {
    {8, 16, 0}, {32, 16, 0}, {8, 16, 1}, /* 0: tiny_add_dsp_add_bias */
};

static const ta_kernel kernels[] = {
    {tiny_add_dsp_add_bias, &operands[0], 3, 0}, /* 0 */
};

static const ta_dispatch dispatches[] = {
    {TINY_INSTANCE_DSP, &kernels[0], NULL, 0, &refs[0], 3}, /* step 4: dispatch add0 on dsp, event dsp#1 */
};

static const ta_step steps[] = {
    {TA_STEP_LOAD, 0, {TA_TIMELINE_NONE, 0}}, /* 0: load dsp (firmware) */
    {TA_STEP_COPY, 0, {TINY_TIMELINE_DMA_0, 1}}, /* 1: copy x:0@sram[0:+2x4/4] -> x:0@tcm[0:+8] by dma, event dma.0#1 */
    {TA_STEP_COPY, 1, {TINY_TIMELINE_DMA_0, 2}}, /* 2: copy add/bias@flash[0:+32] -> add/bias@tcm[0:+32] by dma, event dma.0#2 */
    {TA_STEP_WAIT, 0, {TINY_TIMELINE_DMA_0, 2}}, /* 3: wait dma.0#2 */
    {TA_STEP_DISPATCH, 0, {TINY_TIMELINE_DSP, 1}}, /* 4: dispatch add0 on dsp, event dsp#1 */
    {TA_STEP_WAIT, 0, {TINY_TIMELINE_DSP, 1}}, /* 5: wait dsp#1 */
    {TA_STEP_COPY, 2, {TINY_TIMELINE_DMA_0, 3}}, /* 6: copy y@tcm[0:+8] -> y@sram[0:+8] by dma, event dma.0#3 */
    {TA_STEP_WAIT, 0, {TINY_TIMELINE_DMA_0, 3}}, /* 7: wait dma.0#3 */
};

static const ta_tensor inputs[] = {
    {"x:0", {1, 0}, 8},
};

static const ta_tensor outputs[] = {
    {"y", {1, 0}, 8},
};

const ta_bundle tiny_add_bundle = {
    TA_ABI_VERSION,
    0,
    TINY_ABI_HASH,
    "tiny-add",
    arenas,
    loads,
    copies,
    dispatches,
    steps,
    inputs,
    outputs,
    3, /* arenas */
    1, /* loads */
    3, /* copies */
    1, /* dispatches */
    8, /* steps */
    1, /* inputs */
    1, /* outputs */
};

static const ta_seal seals[] = {
    {&tiny_add_flash_constants, 48u, 0x1d84c42eu, 0},
    {copies, sizeof copies, 0xf5f23bbcu, 0},
    {refs, sizeof refs, 0x11317116u, 0},
    {operands, sizeof operands, 0xb34b1195u, 0},
    {steps, sizeof steps, 0x8519bd54u, 0},
    {arenas, sizeof arenas, 0, 1},
    {loads, sizeof loads, 0, 1},
    {dispatches, sizeof dispatches, 0, 1},
    {inputs, sizeof inputs, 0, 1},
    {outputs, sizeof outputs, 0, 1},
    {kernels, sizeof kernels, 0, 1},
    {&tiny_add_bundle, sizeof tiny_add_bundle, 0, 1},
};

const ta_seals tiny_add_seals = {seals, 12};
