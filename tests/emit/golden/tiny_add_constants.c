/* SPDX-License-Identifier: LicenseRef-generated */
/* Constants of `tiny-add`. Every member is where the memory plan puts it. */
#include <target_arch/abi.h>

#include "tiny_add_internal.h"

#ifndef TA_SECTION_FLASH_CONSTANTS
#ifdef TA_SECTIONS
#define TA_SECTION_FLASH_CONSTANTS __attribute__((section(".rodata.ta_flash_constants")))
#else
#define TA_SECTION_FLASH_CONSTANTS
#endif
#endif

struct tiny_add_flash_constants_layout {
    uint8_t _padding_0[16];
    int32_t add_bias[8];
};
TA_STATIC_ASSERT(offsetof(struct tiny_add_flash_constants_layout, add_bias) == 16u, add_bias_offset);
TA_STATIC_ASSERT(sizeof(struct tiny_add_flash_constants_layout) == 48u, tiny_add_flash_constants_size);

const struct tiny_add_flash_constants_layout tiny_add_flash_constants TA_SECTION_FLASH_CONSTANTS TA_ALIGNED(16) = {
    .add_bias = { /* add/bias: int32[8] */
        1, -2, 3, -4, (-2147483647-1), 2147483647, 0, 7,
    },
};
