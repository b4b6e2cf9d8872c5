/* Convolution of float32 images whose channels are in groups, each with weights of its own (`f32_conv2d.h`).
 *
 * The channels of a group are those of an image with as many columns more as there are groups, over which kernels step
 * and reach that much farther: `each` is that convolution. Weights and bias are those of group after group, each in
 * whole blocks of outputs.
 */
#ifndef TA_KERNELS_F32_GROUPED_H
#define TA_KERNELS_F32_GROUPED_H

#include "kernels/f32_conv2d.h"

typedef struct {
    ta_f32_conv2d each;
    int32_t groups;
} ta_f32_groups;

static inline void ta_f32_convolve_groups(const ta_f32_groups *sizes, const ta_f32_end *end, const float *x,
                                          const float *w, const float *bias, float *out)
{
    const ta_f32_conv2d *const conv = &sizes->each;
    const int32_t whole = (conv->outputs + TA_F32_BLOCK - 1) / TA_F32_BLOCK * TA_F32_BLOCK;
    ta_f32_end own = *end;
    for (int32_t g = 0; g < sizes->groups; ++g, w += (int64_t)whole * conv->depth) {
        if (end->other != NULL) {
            own.other = end->other + g * conv->outputs;
        }
        ta_f32_convolve(conv, &own, x + g * conv->channels, w, bias + g * whole, out + g * conv->outputs);
    }
}

#endif
