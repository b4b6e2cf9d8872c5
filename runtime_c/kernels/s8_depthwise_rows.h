/* Some rows, or some channels, of a depthwise convolution (`s8_depthwise.h`). */
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

/* The whole convolution, `some` channels at a time, a multiple of 8 below 16 or a multiple of 16: they are copied to
 * `copy` first, `some` bytes for each pixel of the image, so `out` may be `x` where both have as many pixels. */
static inline void ta_s8_convolve_channels(const ta_s8_depthwise *conv, const ta_s8_end *end, const int8_t *x,
                                           const int8_t *w, const int32_t *bias, int8_t *out, int8_t *copy,
                                           int32_t some)
{
    const int32_t pixels = conv->batch * conv->height * conv->width;
    const int32_t taps = (conv->kernel_height * conv->kernel_width + 1) / 2 * 2;
    for (int32_t n = 0; n < conv->channels; n += some) {
        ta_s8_depthwise part = *conv;
        ta_s8_end there = *end;
        part.channels = conv->channels - n < some ? conv->channels - n : some;
        there.multiplier += n * end->scale->each;
        there.shift += n * end->scale->each;
        if (part.channels == 8) {
            for (int32_t pixel = 0; pixel < pixels; ++pixel) {
                memcpy(copy + pixel * 8, x + pixel * conv->channels + n, 8);
            }
        } else {
            for (int32_t pixel = 0; pixel < pixels; ++pixel) {
                memcpy(copy + pixel * part.channels, x + pixel * conv->channels + n, (size_t)part.channels);
            }
        }
        ta_s8_convolve_depthwise(&part, &there, copy, w + n / TA_DW_GROUP * taps * TA_DW_GROUP + n % TA_DW_GROUP * 2,
                                 bias + n, out + n);
    }
}

#endif
