/* Convolution of float32 images, NHWC; a dense layer is one whose image has one column a row and whose kernel is
 * 1x1.
 *
 * The layout. For N outputs and K products each, weights are w[N / 16][K][16], zeros where there is no output; `bias`
 * has as many elements as there are outputs in whole blocks.
 *
 * In the portable form windows are gathered into a panel of TA_F32_ROWS rows, zeros outside the image; a window of more
 * than TA_F32_PANEL values is gathered in chunks, once for each block of outputs. Rows of an image that is read as it is
 * are not copied. AVX2 with FMA and AVX-512 have a driver of their own, `f32_conv2d_x86.h`, and tiles,
 * `f32_tile_x86.h`. A sum may be added up in another order than the definition's.
 */
#ifndef TA_KERNELS_F32_CONV2D_H
#define TA_KERNELS_F32_CONV2D_H

#include <stdint.h>
#include <string.h>

#include "kernels/f32_end.h"
#include "kernels/x86.h"

#define TA_F32_BLOCK 16
#ifdef TA_KERNELS_X86
#define TA_F32_ROWS 6
#define TA_F32_PANEL 1024
#define TA_F32_RESIDENT 262144
#define TA_F32_TOGETHER 32
#else
#define TA_F32_ROWS 2
#define TA_F32_PANEL 48
#define TA_F32_RESIDENT 16384
#define TA_F32_TOGETHER TA_F32_BLOCK
#endif

typedef struct {
    int32_t batch, height, width, channels; /* of the image */
    int32_t out_height, out_width, outputs;
    int32_t kernel_height, kernel_width;
    int32_t stride_y, stride_x, dilation_y, dilation_x;
    int32_t top, left; /* padding before the first row and column */
    int32_t apart;     /* elements from an output pixel to the next */
    int32_t depth;     /* products of an output */
    int32_t in_place;  /* 1 where windows are consecutive values: rows of a dense layer */
    float low, high;   /* the activation: the least and the greatest result */
} ta_f32_conv2d;

typedef struct {
    int32_t image, y, x;
} ta_f32_pixel;

static inline void ta_f32_next(const ta_f32_conv2d *conv, ta_f32_pixel *pixel)
{
    if (++pixel->x == conv->out_width) {
        pixel->x = 0;
        if (++pixel->y == conv->out_height) {
            pixel->y = 0;
            ++pixel->image;
        }
    }
}

/* Products `from` to `to` of the window of a pixel. */
static inline void ta_f32_window(const ta_f32_conv2d *conv, float *panel, const float *x, ta_f32_pixel pixel,
                                 int32_t from, int32_t to)
{
    const int32_t columns = conv->kernel_width, run = conv->channels, whole = columns * run;
    const int32_t left = pixel.x * conv->stride_x - conv->left;
    int32_t y = pixel.y * conv->stride_y - conv->top, start = 0;
    for (int32_t ky = 0; ky < conv->kernel_height; ++ky, y += conv->dilation_y) {
        if (start + whole <= from || start >= to) {
            start += whole;
            continue;
        }
        if (from <= start && start + whole <= to && conv->dilation_x == 1 && y >= 0 && y < conv->height &&
            left >= 0 && left + columns <= conv->width) {
            const float *at = x + (((int64_t)pixel.image * conv->height + y) * conv->width + left) * run;
            (void)memcpy(panel, at, (size_t)whole * sizeof *panel);
            panel += whole;
            start += whole;
            continue;
        }
        for (int32_t kx = 0; kx < columns; ++kx, start += run) {
            const int32_t begin = start < from ? from - start : 0;
            const int32_t end = start + run > to ? to - start : run;
            const int32_t column = left + kx * conv->dilation_x;
            if (begin >= end) {
                continue;
            }
            if (y < 0 || y >= conv->height || column < 0 || column >= conv->width) {
                for (int32_t k = begin; k < end; ++k) {
                    *panel++ = 0.0f;
                }
            } else {
                const float *at = x + (((int64_t)pixel.image * conv->height + y) * conv->width + column) * run;
                for (int32_t k = begin; k < end; ++k) {
                    *panel++ = at[k];
                }
            }
        }
    }
}

/* sums[r][n] = start[r * from + n] + the sum over `depth` k of x[r * step + k] * w[k][n], for `rows` rows and one
 * block of outputs; w[k] and the next are `across` values apart. `start` may be `sums`. */
static inline void ta_f32_tile(int32_t rows, float *sums, const float *start, int32_t from, const float *x,
                               int64_t step, int32_t depth, const float *w, int64_t across)
{
    for (int32_t r = 0; r < rows; ++r) {
        float acc[TA_F32_BLOCK];
        (void)memcpy(acc, start + r * from, sizeof acc);
        for (int32_t k = 0; k < depth; ++k) {
            const float value = x[r * step + k];
            for (int32_t n = 0; n < TA_F32_BLOCK; ++n) {
                acc[n] += value * w[k * across + n];
            }
        }
        (void)memcpy(sums + r * TA_F32_BLOCK, acc, sizeof acc);
    }
}

/* `count` sums of every row become outputs, the first is element `at`; sums of a row and the next are `step` apart. */
static inline void ta_f32_finish(const ta_f32_conv2d *conv, int32_t rows, int32_t count, const float *sums,
                                 int32_t step, const ta_f32_end *end, float *out, int64_t at)
{
    const ta_f32_end last = *end;
    const float low = conv->low, high = conv->high;
    for (int32_t r = 0; r < rows; ++r, at += conv->apart) {
        for (int32_t n = 0; n < count; ++n) {
            out[at + n] = ta_f32_ended(&last, sums[r * step + n], low, high, at + n);
        }
    }
}

/* Values `begin` to `end` of the windows of `rows` pixels from `pixel` on, a row of the panel each. */
static inline void ta_f32_fill(const ta_f32_conv2d *conv, float *panel, const float *x, ta_f32_pixel pixel,
                               int32_t rows, int32_t begin, int32_t end)
{
    for (int32_t r = 0; r < rows; ++r, ta_f32_next(conv, &pixel)) {
        ta_f32_window(conv, panel + r * TA_F32_PANEL, x, pixel, begin, end);
    }
}

/* Outputs `begin` to `stop` of all pixels. */
static inline void ta_f32_outputs(const ta_f32_conv2d *conv, const ta_f32_end *end, const float *x, const float *w,
                                  const float *bias, float *out, int32_t begin, int32_t stop)
{
    float panel[TA_F32_ROWS * TA_F32_PANEL], sums[TA_F32_ROWS * TA_F32_BLOCK];
    const int32_t depth = conv->depth, pixels = conv->batch * conv->out_height * conv->out_width;
    const int32_t most = conv->in_place ? depth : TA_F32_PANEL;
    ta_f32_pixel pixel = {0, 0, 0};
    for (int32_t first = 0; first < pixels; first += TA_F32_ROWS) {
        const int32_t rows = pixels - first < TA_F32_ROWS ? pixels - first : TA_F32_ROWS;
        if (!conv->in_place && depth <= most) {
            ta_f32_fill(conv, panel, x, pixel, rows, 0, depth);
        }
        for (int32_t n = begin; n < stop; n += TA_F32_BLOCK) {
            const int32_t count = stop - n < TA_F32_BLOCK ? stop - n : TA_F32_BLOCK;
            for (int32_t k = 0; k < depth; k += most) {
                const int32_t some = depth - k < most ? depth - k : most;
                const float *values = x + (int64_t)first * depth;
                if (!conv->in_place) {
                    values = panel;
                    if (depth > most) {
                        ta_f32_fill(conv, panel, x, pixel, rows, k, k + some);
                    }
                }
                ta_f32_tile(rows, sums, k ? sums : bias + n, k ? TA_F32_BLOCK : 0, values,
                            conv->in_place ? depth : TA_F32_PANEL, some,
                            w + (int64_t)n * depth + (int64_t)k * TA_F32_BLOCK, TA_F32_BLOCK);
            }
            ta_f32_finish(conv, rows, count, sums, TA_F32_BLOCK, end, out, (int64_t)first * conv->apart + n);
        }
        for (int32_t r = 0; r < rows; ++r) {
            ta_f32_next(conv, &pixel);
        }
    }
}

#include "kernels/f32_conv2d_x86.h"

/* The whole convolution. Weights that would not stay in a cache are used for all pixels before the next ones. */
static inline void ta_f32_convolve(const ta_f32_conv2d *conv, const ta_f32_end *end, const float *x, const float *w,
                                   const float *bias, float *out)
{
    const int32_t some = TA_F32_RESIDENT / 4 / conv->depth / TA_F32_TOGETHER * TA_F32_TOGETHER;
    const int32_t step = some > TA_F32_TOGETHER ? some : TA_F32_TOGETHER;
    for (int32_t n = 0; n < conv->outputs; n += step) {
        const int32_t stop = conv->outputs - n < step ? conv->outputs : n + step;
#ifdef TA_KERNELS_X86
        if (TA_HAS_AVX2) {
            ta_f32_outputs_x86(conv, end, x, w, bias, out, n, stop);
            continue;
        }
#endif
        ta_f32_outputs(conv, end, x, w, bias, out, n, stop);
    }
}

#endif
