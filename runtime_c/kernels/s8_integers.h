/* Sums of products of 8-bit values and int8 weights, as they are: int32. A zero point of the values, which may be known
 * only as the program runs, is taken off.
 *
 * Written in the operations of a layout, as `s8_conv2d.h`: weights are packed as there. Outside of an image there is the
 * zero point. `total` is the sum of the weights of each output, in whole groups of 16.
 */
#ifndef TA_KERNELS_S8_INTEGERS_H
#define TA_KERNELS_S8_INTEGERS_H

#include "kernels/s8_conv2d.h"

/* Outputs `begin` to `stop` of all pixels. `zero` is that of values of type int8, or of uint8 less 128. */
static inline void ta_s8_integer_outputs(const ta_s8_conv2d *conv, int32_t zero, const int8_t *x, const int8_t *w,
                                         const int32_t *total, int32_t *out, int32_t begin, int32_t stop)
{
    ta_s8_cell panel[TA_S8_ROWS * TA_S8_PANEL + TA_S8_MORE];
    int32_t sums[TA_S8_ROWS * TA_S8_OUTPUTS] TA_VECTORS;
    const int32_t pixels = conv->batch * conv->out_height * conv->out_width;
    static const int32_t zeros[TA_S8_OUTPUTS] = {0};
    ta_s8_pixel pixel = {0, 0, 0};
    ta_s8_start(conv, panel, w, begin, stop);
    for (int32_t first = 0, rows; first < pixels; first += rows) {
        rows = pixels - first < TA_S8_ROWS ? pixels - first : TA_S8_ROWS;
        const ta_s8_cell *const in_place = ta_s8_in_place(conv, x, pixel, rows);
        for (int32_t n = begin; n < stop; n += TA_S8_OUTPUTS) {
            const int32_t count = stop - n < TA_S8_OUTPUTS ? stop - n : TA_S8_OUTPUTS;
            int32_t *const to = out + (int64_t)first * conv->apart + n;
            ta_s8_sums(conv, in_place, panel, x, pixel, rows, n == begin, w, zeros, n, count, sums);
            for (int32_t i = 0; i < count; ++i) {
                const int32_t taken = zero * total[n + i];
                for (int32_t r = 0; r < rows; ++r) {
                    to[(int64_t)r * conv->apart + i] = sums[r * TA_S8_OUTPUTS + i] - taken;
                }
            }
        }
        for (int32_t r = 0; r < rows; ++r) {
            ta_s8_next(conv, &pixel);
        }
    }
    ta_s8_leave(panel);
}

/* All sums. */
static inline void ta_s8_integers(const ta_s8_conv2d *conv, int32_t zero, const int8_t *x, const int8_t *w,
                                  const int32_t *total, int32_t *out)
{
    const int32_t step = ta_s8_turn(conv);
    ta_s8_conv2d padded = *conv;
    padded.pad = zero;
    for (int32_t n = 0; n < conv->outputs; n += step) {
        const int32_t stop = conv->outputs - n < step ? conv->outputs : n + step;
        ta_s8_integer_outputs(&padded, zero, x, w, total, out, n, stop);
    }
}

#endif
