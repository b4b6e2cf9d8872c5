/* Transposed convolution of float32 images, NHWC, as convolutions (`f32_conv2d.h`).
 *
 * Sizes are those of a convolution, but strides are the output's, and padding is what is cut off there; kernels are at
 * least as large as strides. Weights are those of phase after phase (`transposed.h`), columns within rows.
 */
#ifndef TA_KERNELS_F32_TRANSPOSED_H
#define TA_KERNELS_F32_TRANSPOSED_H

#include "kernels/f32_conv2d.h"
#include "kernels/transposed.h"

/* The outputs of one phase: a convolution for each row. */
static inline void ta_f32_convolve_phase(const ta_f32_conv2d *sizes, const ta_phase *rows, const ta_phase *columns,
                                         const ta_f32_end *end, const float *x, const float *w, const float *bias,
                                         float *out)
{
    const int64_t image = (int64_t)sizes->height * sizes->width * sizes->channels;
    ta_f32_conv2d conv = *sizes;
    ta_f32_end own = *end;
    conv.batch = 1;
    conv.out_height = sizes->stride_y == 1 && sizes->stride_x == 1 ? rows->count : 1;
    conv.out_width = columns->count;
    conv.kernel_height = rows->taps;
    conv.kernel_width = columns->taps;
    conv.stride_y = 1;
    conv.stride_x = 1;
    conv.left = columns->before;
    conv.apart = sizes->stride_x * sizes->apart;
    conv.depth = rows->taps * columns->taps * sizes->channels;
    for (int32_t b = 0; b < sizes->batch; ++b, x += image) {
        for (int32_t row = 0; row < rows->count; row += conv.out_height) {
            const int64_t y = (int64_t)b * sizes->out_height + rows->first + row * sizes->stride_y;
            const int64_t at = (y * sizes->out_width + columns->first) * sizes->apart;
            conv.top = rows->before - row;
            if (end->other != NULL) {
                own.other = end->other + at;
            }
            ta_f32_convolve(&conv, &own, x, w, bias, out + at);
        }
    }
}

/* The whole transposed convolution. */
static inline void ta_f32_convolve_transposed(const ta_f32_conv2d *sizes, const ta_f32_end *end, const float *x,
                                              const float *w, const float *bias, float *out)
{
    const int64_t whole = (sizes->outputs + TA_F32_BLOCK - 1) / TA_F32_BLOCK * TA_F32_BLOCK;
    for (int32_t y = 0; y < sizes->stride_y; ++y) {
        const ta_phase rows = ta_phase_of(y, sizes->stride_y, sizes->kernel_height, sizes->top, sizes->out_height);
        for (int32_t column = 0; column < sizes->stride_x; ++column) {
            const ta_phase columns =
                ta_phase_of(column, sizes->stride_x, sizes->kernel_width, sizes->left, sizes->out_width);
            if (columns.count > 0) {
                ta_f32_convolve_phase(sizes, &rows, &columns, end, x, w, bias, out);
            }
            w += whole * rows.taps * columns.taps * sizes->channels;
        }
    }
}

#endif
