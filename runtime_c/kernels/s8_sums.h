/* Sums of products of 8-bit values as integers: the part of `s8_conv2d.h` before scaling. */
#ifndef TA_KERNELS_S8_SUMS_H
#define TA_KERNELS_S8_SUMS_H

#include "kernels/s8_conv2d.h"

/* Sums of `count` outputs from `n` on for `rows` pixels. Windows are gathered where `fresh` is 1, or where they take more
 * than one panel, which otherwise has them already. */
static inline void ta_s8_sums(const ta_s8_conv2d *conv, ta_s8_cell *panel, const int8_t *x, ta_s8_pixel pixel,
                              int32_t rows, int fresh, const int8_t *w, int32_t n, int32_t count, int32_t *sums)
{
    static const int32_t zeros[TA_S8_OUTPUTS] = {0};
    const int32_t depth = conv->depth;
    for (int32_t k = 0; k < depth; k += TA_S8_PANEL) {
        const int32_t some = depth - k < TA_S8_PANEL ? depth - k : TA_S8_PANEL;
        if (fresh || depth > TA_S8_PANEL) {
            ta_s8_gather(conv, panel, x, pixel, rows, k, k + some);
        }
        ta_s8_tile(rows, sums, k ? sums : zeros, k ? TA_S8_OUTPUTS : 0, panel, some,
                   w + n * depth + k * TA_S8_BLOCK, TA_S8_BLOCK * depth, (count + TA_S8_BLOCK - 1) / TA_S8_BLOCK,
                   conv->narrow);
    }
}

/* Outputs that use their weights for all rows before the next ones. */
static inline int32_t ta_s8_resident(int32_t depth)
{
    const int32_t some = TA_S8_RESIDENT / depth / TA_S8_OUTPUTS * TA_S8_OUTPUTS;
    return some > TA_S8_OUTPUTS ? some : TA_S8_OUTPUTS;
}

#endif
