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

/* What `depth` products from product `from` on, which are in `panel`, add to the sums of all outputs of `rows` pixels,
 * TA_S8_ROWS or 1: product 0 begins them. */
static inline void ta_s8_sum_pixels(const ta_s8_conv2d *conv, const ta_s8_cell *panel, const int8_t *w,
                                    const int32_t *bias, int32_t *sums, int32_t rows, int32_t from, int32_t depth)
{
    int32_t tile[TA_S8_ROWS * TA_S8_OUTPUTS];
    const int32_t width = ta_s8_sums_apart(conv);
    for (int32_t n = 0; n < conv->outputs; n += TA_S8_OUTPUTS) {
        const int32_t count = conv->outputs - n < TA_S8_OUTPUTS ? conv->outputs - n : TA_S8_OUTPUTS;
        const int32_t blocks = (count + TA_S8_UNIT - 1) / TA_S8_UNIT;
        int32_t *to = sums + n;
        ta_s8_tile(rows, tile, from ? to : bias + n, from ? width : 0, panel, depth,
                   w + n * conv->depth + from * TA_S8_BLOCK, TA_S8_BLOCK * conv->depth, blocks, conv->narrow);
        for (int32_t r = 0; r < rows; ++r, to += width) {
            (void)memcpy(to, tile + r * TA_S8_OUTPUTS, (size_t)(blocks * TA_S8_UNIT) * sizeof *to);
        }
    }
}

/* Adds what channels `from`, a multiple of 16, to `from` + `some` of an image make of the sums of all outputs of a
 * convolution of 1x1, whose pixels are in one column. `x` has these channels alone. */
TA_PART void ta_s8_sum_channels(const ta_s8_conv2d *conv, const int8_t *x, const int8_t *w, const int32_t *bias,
                                int32_t *sums, int32_t from, int32_t some)
{
    ta_s8_cell panel[TA_S8_ROWS * TA_S8_PANEL + TA_S8_MORE];
    const int32_t depth = (some + TA_S8_DEPTH - 1) / TA_S8_DEPTH * TA_S8_DEPTH, width = ta_s8_sums_apart(conv);
    ta_s8_conv2d part = *conv;
    part.channels = some;
    part.depth = depth;
    for (int32_t first = 0, rows; first < conv->out_height; first += rows) {
        const ta_s8_pixel pixel = {0, first, 0};
        rows = conv->out_height - first < TA_S8_ROWS ? 1 : TA_S8_ROWS;
        for (int32_t k = 0; k < depth; k += TA_S8_PANEL) {
            const int32_t few = depth - k < TA_S8_PANEL ? depth - k : TA_S8_PANEL;
            ta_s8_gather(&part, panel, x, pixel, rows, k, k + few);
            ta_s8_sum_pixels(conv, panel, w, bias, sums + first * width, rows, from + k, few);
        }
    }
}

/* The outputs, once all channels are in the sums: some go to a tile first, as those of a whole convolution do. */
TA_PART void ta_s8_finish_sums(const ta_s8_conv2d *conv, const ta_s8_end *end, const int32_t *sums, int8_t *out)
{
    int32_t tile[TA_S8_ROWS * TA_S8_OUTPUTS];
    const int32_t pixels = conv->out_height, width = ta_s8_sums_apart(conv);
    for (int32_t first = 0; first < pixels; first += TA_S8_ROWS, sums += TA_S8_ROWS * width) {
        const int32_t rows = pixels - first < TA_S8_ROWS ? pixels - first : TA_S8_ROWS;
        for (int32_t n = 0; n < conv->outputs; n += TA_S8_OUTPUTS) {
            const int32_t wide = width - n < TA_S8_OUTPUTS ? width - n : TA_S8_OUTPUTS;
            const int32_t count = conv->outputs - n < TA_S8_OUTPUTS ? conv->outputs - n : TA_S8_OUTPUTS;
            for (int32_t r = 0; r < rows; ++r) {
                (void)memcpy(tile + r * TA_S8_OUTPUTS, sums + r * width + n, (size_t)wide * sizeof *sums);
            }
            ta_s8_finish(end, n, rows, count, tile, TA_S8_OUTPUTS, out, (int64_t)first * conv->apart, conv->apart);
        }
    }
}

#endif
