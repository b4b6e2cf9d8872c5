/* Some rows of a depthwise convolution (`s8_depthwise.h`). */
#ifndef TA_KERNELS_S8_DEPTHWISE_ROWS_H
#define TA_KERNELS_S8_DEPTHWISE_ROWS_H

#include "kernels/rows.h"
#include "kernels/s8_depthwise.h"

/* As `ta_s8_convolve_rows`. */
static inline void ta_s8_convolve_depthwise_rows(const ta_s8_depthwise *conv, const ta_s8_end *end, const ta_rows *x,
                                                 const int8_t *w, const int32_t *bias, int8_t *out, int32_t from,
                                                 int32_t to)
{
    ta_s8_depthwise part = *conv;
    part.height = x->done - x->first;
    part.out_height = to - from;
    part.top = conv->top + x->first - from * conv->stride_y;
    ta_s8_convolve_depthwise(&part, end, x->at, w, bias, out);
}

#endif
