/* Some rows of a convolution (`f32_conv2d.h`), from an image of which the rows that they need are there. */
#ifndef TA_KERNELS_F32_CONV2D_ROWS_H
#define TA_KERNELS_F32_CONV2D_ROWS_H

#include "kernels/f32_conv2d.h"
#include "kernels/rows.h"

/* Rows `from` to `to` of the output, the first at `out`; the other operand of an addition in `end` begins with the
 * same row. */
static inline void ta_f32_convolve_rows(const ta_f32_conv2d *conv, const ta_f32_end *end, const ta_rows *x,
                                        const float *w, const float *bias, float *out, int32_t from, int32_t to)
{
    ta_f32_conv2d part = *conv;
    const int32_t first = conv->in_place ? from : x->first;
    part.height = x->done - first;
    part.out_height = to - from;
    part.top = conv->top + first - from * conv->stride_y;
    ta_f32_convolve(&part, end, (const float *)(const void *)ta_rows_at(x, first), w, bias, out);
}

#endif
