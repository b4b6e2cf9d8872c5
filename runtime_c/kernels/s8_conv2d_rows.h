/* Some rows of a convolution (`s8_conv2d.h`), from an image of which the rows that they need are there. */
#ifndef TA_KERNELS_S8_CONV2D_ROWS_H
#define TA_KERNELS_S8_CONV2D_ROWS_H

#include "kernels/rows.h"
#include "kernels/s8_conv2d.h"

/* Rows `from` to `to` of the output, the first at `out`; the other operand of an addition in `end` begins with the
 * same row. */
static inline void ta_s8_convolve_rows(const ta_s8_conv2d *conv, const ta_s8_end *end, const ta_rows *x,
                                       const int8_t *w, const int32_t *bias, int8_t *out, int32_t from, int32_t to)
{
    ta_s8_conv2d part = *conv;
    part.height = x->done - x->first;
    part.out_height = to - from;
    part.top = conv->top + x->first - from * conv->stride_y;
    ta_s8_convolve(&part, end, x->at, w, bias, out);
}

#endif
