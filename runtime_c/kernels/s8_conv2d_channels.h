/* A convolution (`s8_conv2d.h`) some channels at a time: some of its outputs, or what some channels of its image add to
 * all of them. Integers may be added in any order, so the results are those of the whole convolution.
 */
#ifndef TA_KERNELS_S8_CONV2D_CHANNELS_H
#define TA_KERNELS_S8_CONV2D_CHANNELS_H

#include "kernels/s8_conv2d.h"

/* Outputs `from`, a multiple of 16, to `from` + `some`. `out` begins with the first of them, and its pixels are `apart`
 * elements apart. */
static inline void ta_s8_convolve_outputs(const ta_s8_conv2d *conv, const ta_s8_end *end, const int8_t *x,
                                          const int8_t *w, const int32_t *bias, int8_t *out, int32_t from, int32_t some,
                                          int32_t apart)
{
    ta_s8_conv2d part = *conv;
    ta_s8_end there = *end;
    part.outputs = some;
    part.apart = apart;
    there.multiplier += from * end->scale->each;
    there.shift += from * end->scale->each;
    ta_s8_convolve(&part, &there, x, w + from * conv->depth, bias + from, out);
}

/* The numbers of a pixel in the sums of a convolution. */
static inline int32_t ta_s8_sums_apart(const ta_s8_conv2d *conv)
{
    return (conv->outputs + 7) / 8 * 8;
}

/* What channels `from` to `from` + `some`, no more than a panel holds, add to the sums of `rows` pixels, which is
 * TA_S8_ROWS or 1. `x` has these channels alone, and `apart` in each pixel. */
static inline void ta_s8_sum_pixels(const ta_s8_conv2d *conv, const int8_t *x, const int8_t *w, const int32_t *bias,
                                    int32_t *sums, int32_t rows, int32_t from, int32_t some, int32_t apart)
{
    ta_s8_cell panel[TA_S8_ROWS * TA_S8_PANEL + TA_S8_MORE];
    int32_t tile[TA_S8_ROWS * TA_S8_OUTPUTS];
    const int32_t depth = (some + TA_S8_DEPTH - 1) / TA_S8_DEPTH * TA_S8_DEPTH, width = ta_s8_sums_apart(conv);
    for (int32_t r = 0; r < rows; ++r) {
        ta_s8_copy(conv, panel + r * TA_S8_PANEL, x + r * apart, some);
        ta_s8_pad(panel + r * TA_S8_PANEL + some, 0, depth - some);
    }
#ifdef TA_S8_OFFSETS
    ta_s8_offset(panel, rows, depth);
#endif
    for (int32_t n = 0; n < conv->outputs; n += TA_S8_OUTPUTS) {
        const int32_t count = conv->outputs - n < TA_S8_OUTPUTS ? conv->outputs - n : TA_S8_OUTPUTS;
        const int32_t wide = width - n < TA_S8_OUTPUTS ? width - n : TA_S8_OUTPUTS;
        ta_s8_tile(rows, tile, from ? sums + n : bias + n, from ? width : 0, panel, depth,
                   w + n * conv->depth + from * TA_S8_BLOCK, TA_S8_BLOCK * conv->depth,
                   (count + TA_S8_BLOCK - 1) / TA_S8_BLOCK, conv->narrow);
        for (int32_t r = 0; r < rows; ++r) {
            memcpy(sums + r * width + n, tile + r * TA_S8_OUTPUTS, (size_t)wide * sizeof *sums);
        }
    }
}

/* Adds what channels `from`, a multiple of 16, to `from` + `some` of an image make of the sums of all outputs of a
 * convolution of 1x1: those of channel 0 begin them. `x` has these channels alone. */
static inline void ta_s8_sum_channels(const ta_s8_conv2d *conv, const int8_t *x, const int8_t *w, const int32_t *bias,
                                      int32_t *sums, int32_t from, int32_t some)
{
    const int32_t pixels = conv->batch * conv->out_height * conv->out_width, width = ta_s8_sums_apart(conv);
    for (int32_t first = 0, rows; first < pixels; first += rows) {
        rows = pixels - first < TA_S8_ROWS ? 1 : TA_S8_ROWS;
        for (int32_t k = 0; k < some; k += TA_S8_PANEL) {
            const int32_t few = some - k < TA_S8_PANEL ? some - k : TA_S8_PANEL;
            ta_s8_sum_pixels(conv, x + first * some + k, w, bias, sums + first * width, rows, from + k, few, some);
        }
    }
}

/* The outputs, once all channels are in the sums. */
static inline void ta_s8_finish_sums(const ta_s8_conv2d *conv, const ta_s8_end *end, int32_t *sums, int8_t *out)
{
    const int32_t pixels = conv->batch * conv->out_height * conv->out_width, width = ta_s8_sums_apart(conv);
    for (int32_t n = 0; n < conv->outputs; n += 16) {
        const int32_t count = conv->outputs - n < 16 ? conv->outputs - n : 16;
        ta_s8_finish(end, n, pixels, count, sums + n, width, out, 0, conv->apart);
    }
}

#endif
