/* Depthwise convolution with a kernel of 3x3 for Cortex-M: forms of `s8_depthwise.h`, which includes this file. Rounding
 * is not to even, and nothing is added; `ta_s8_dw_3x3_takes` says so. Results are of all 8 bits until the end.
 */
#ifndef TA_KERNELS_S8_DEPTHWISE_ARM_M_H
#define TA_KERNELS_S8_DEPTHWISE_ARM_M_H

#include "kernels/s8_depthwise_dsp.h"
#include "kernels/s8_depthwise_mve.h"

#if defined(TA_KERNELS_DSP) || defined(TA_KERNELS_MVE)
static inline int ta_s8_dw_3x3_takes(const ta_s8_depthwise *conv, const ta_s8_end *end)
{
    const ta_s8_scale *scale = end->scale;
    const int rounding = ta_s8_rounding(end->rounding);
    const int32_t least = rounding == TA_S8_TFLITE ? 1 : TA_DW_LEAST;
    if (conv->kernel_height != 3 || conv->kernel_width != 3 || conv->dilation_y != 1 || conv->dilation_x != 1 ||
        conv->stride_y > TA_DW_STRIDE || conv->stride_x > TA_DW_STRIDE || conv->is_unsigned ||
        conv->channels < TA_DW_LANES || rounding == TA_S8_ONNX || end->add != 0 || scale->least < least) {
        return 0;
    }
#ifdef TA_KERNELS_MVE
    return conv->narrow;
#else
    return scale->most < TA_S8_MOST_SHIFT + least;
#endif
}

static inline void ta_s8_dw_3x3_clamped(const ta_s8_depthwise *conv, const ta_s8_end *end, const int8_t *x,
                                        const int8_t *w, const int32_t *bias, int8_t *out)
{
    ta_s8_dw_3x3(conv, end, x, w, bias, out);
    if (!ta_s8_is_whole(end->scale)) {
        const int32_t pixels = conv->batch * conv->out_height * conv->out_width;
        ta_s8_clamp_rows(end->scale, pixels, conv->channels, out, conv->apart);
    }
}
#endif

#endif
