/* Transposed convolution of 8-bit images, NHWC, as convolutions (`s8_conv2d.h`).
 *
 * Sizes are those of a convolution, but strides are the output's, and padding is what is cut off there; kernels are at
 * least as large as strides. Weights are those of phase after phase (`transposed.h`), columns within rows. So is the
 * bias, in whole groups of 16: a phase adds the zero point of the image for its own weights.
 */
#ifndef TA_KERNELS_S8_TRANSPOSED_H
#define TA_KERNELS_S8_TRANSPOSED_H

#include "kernels/s8_conv2d.h"
#include "kernels/transposed.h"

/* Products of an output of a phase, in whole groups. */
static inline int32_t ta_s8_phase_depth(const ta_s8_conv2d *sizes, const ta_phase *rows, const ta_phase *columns)
{
    return (rows->taps * columns->taps * sizes->channels + TA_S8_DEPTH - 1) / TA_S8_DEPTH * TA_S8_DEPTH;
}

/* The outputs of one phase: a convolution for each row. */
static inline void ta_s8_convolve_phase(const ta_s8_conv2d *sizes, const ta_phase *rows, const ta_phase *columns,
                                        const ta_s8_end *end, const int8_t *x, const int8_t *w, const int32_t *bias,
                                        int8_t *out)
{
    const int64_t image = (int64_t)sizes->height * sizes->width * sizes->channels;
    ta_s8_conv2d conv = *sizes;
    ta_s8_end own = *end;
    conv.batch = 1;
    conv.out_height = sizes->stride_y == 1 && sizes->stride_x == 1 ? rows->count : 1;
    conv.out_width = columns->count;
    conv.kernel_height = rows->taps;
    conv.kernel_width = columns->taps;
    conv.stride_y = 1;
    conv.stride_x = 1;
    conv.left = columns->before;
    conv.apart = sizes->stride_x * sizes->apart;
    conv.depth = ta_s8_phase_depth(sizes, rows, columns);
    for (int32_t b = 0; b < sizes->batch; ++b, x += image) {
        for (int32_t row = 0; row < rows->count; row += conv.out_height) {
            const int64_t y = (int64_t)b * sizes->out_height + rows->first + row * sizes->stride_y;
            const int64_t at = (y * sizes->out_width + columns->first) * sizes->apart;
            conv.top = rows->before - row;
            if (end->other != NULL) {
                own.other = end->other + at;
            }
            ta_s8_convolve(&conv, &own, x, w, bias, out + at);
        }
    }
}

/* The whole transposed convolution. */
static inline void ta_s8_convolve_transposed(const ta_s8_conv2d *sizes, const ta_s8_end *end, const int8_t *x,
                                             const int8_t *w, const int32_t *bias, int8_t *out)
{
    const int64_t blocks = (sizes->outputs + TA_S8_BLOCK - 1) / TA_S8_BLOCK;
    for (int32_t y = 0; y < sizes->stride_y; ++y) {
        const ta_phase rows = ta_phase_of(y, sizes->stride_y, sizes->kernel_height, sizes->top, sizes->out_height);
        for (int32_t column = 0; column < sizes->stride_x; ++column) {
            const ta_phase columns =
                ta_phase_of(column, sizes->stride_x, sizes->kernel_width, sizes->left, sizes->out_width);
            if (columns.count > 0) {
                ta_s8_convolve_phase(sizes, &rows, &columns, end, x, w, bias, out);
            }
            w += blocks * TA_S8_BLOCK * ta_s8_phase_depth(sizes, &rows, &columns);
            bias += (sizes->outputs + 15) / 16 * 16;
        }
    }
}

#endif
