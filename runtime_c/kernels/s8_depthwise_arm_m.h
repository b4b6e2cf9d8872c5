/* Depthwise convolution with a kernel of 3x3 for Cortex-M: forms of `s8_depthwise.h`, which includes this file. Rounding
 * is `tflite`, nothing is added, and results take all of 8 bits; `ta_s8_dw_3x3_takes` says so.
 */
#ifndef TA_KERNELS_S8_DEPTHWISE_ARM_M_H
#define TA_KERNELS_S8_DEPTHWISE_ARM_M_H

#include "kernels/s8_depthwise_dsp.h"
#include "kernels/s8_depthwise_mve.h"

#if defined(TA_KERNELS_DSP) || defined(TA_KERNELS_MVE)
static inline int ta_s8_dw_3x3_takes(const ta_s8_depthwise *conv, const ta_s8_end *end)
{
    const ta_s8_scale *scale = end->scale;
    if (conv->kernel_height != 3 || conv->kernel_width != 3 || conv->dilation_y != 1 || conv->dilation_x != 1 ||
        conv->stride_y > TA_DW_STRIDE || conv->stride_x > TA_DW_STRIDE || conv->is_unsigned ||
        conv->channels < TA_DW_LANES || end->rounding != TA_S8_TFLITE || end->add != 0 || scale->low != -128 ||
        scale->high != 127 || scale->flip != 0 || scale->least < 1) {
        return 0;
    }
#ifdef TA_KERNELS_MVE
    return conv->narrow;
#else
    return scale->most <= TA_S8_MOST_SHIFT;
#endif
}
#endif

#endif
