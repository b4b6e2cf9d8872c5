/* Convolution of 8-bit images whose channels are in groups, each with weights of its own (`s8_conv2d.h`).
 *
 * The channels of a group are those of an image with as many columns more as there are groups, over which kernels step
 * and reach that much farther: `each` is that convolution. Weights are those of group after group, each in whole blocks
 * of outputs; bias, and multiplier and shift where outputs have their own, in whole groups of 16.
 */
#ifndef TA_KERNELS_S8_GROUPED_H
#define TA_KERNELS_S8_GROUPED_H

#include "kernels/s8_conv2d.h"

typedef struct {
    ta_s8_conv2d each;
    int32_t groups;
} ta_s8_groups;

static inline void ta_s8_convolve_groups(const ta_s8_groups *sizes, const ta_s8_end *end, const int8_t *x,
                                         const int8_t *w, const int32_t *bias, int8_t *out)
{
    const ta_s8_conv2d *const conv = &sizes->each;
    const int32_t blocks = (conv->outputs + TA_S8_BLOCK - 1) / TA_S8_BLOCK, whole = (conv->outputs + 15) / 16 * 16;
    ta_s8_end own = *end;
    for (int32_t g = 0; g < sizes->groups; ++g, w += (int64_t)blocks * TA_S8_BLOCK * conv->depth) {
        own.multiplier = end->multiplier + g * whole * end->scale->each;
        own.shift = end->shift + g * whole * end->scale->each;
        if (end->other != NULL) {
            own.other = end->other + g * conv->outputs;
        }
        ta_s8_convolve(conv, &own, x + g * conv->channels, w, bias + g * whole, out + g * conv->outputs);
    }
}

#endif
