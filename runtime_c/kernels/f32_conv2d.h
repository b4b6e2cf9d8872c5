/* Convolution of float32 images, NHWC; a dense layer is one whose image has one column a row and whose kernel is
 * 1x1.
 *
 * The layout. For N outputs and K products each, weights are w[N / 16][K][16], zeros where there is no output; `bias`
 * has as many elements as there are outputs in whole blocks.
 *
 * Windows are gathered into a panel of TA_F32_ROWS rows, zeros outside the image; a window of more than TA_F32_PANEL
 * values is gathered in chunks, once for each block of outputs. Rows of an image that is read as it is are not
 * copied.
 *
 * Forms: portable, AVX2 with FMA. A sum may be added up in another order than the definition's.
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
#else
#define TA_F32_ROWS 2
#define TA_F32_PANEL 48
#define TA_F32_RESIDENT 16384
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
    const int32_t columns = conv->kernel_width, run = conv->channels;
    const int32_t left = pixel.x * conv->stride_x - conv->left;
    int32_t y = pixel.y * conv->stride_y - conv->top, start = 0;
    for (int32_t ky = 0; ky < conv->kernel_height; ++ky, y += conv->dilation_y) {
        if (start + columns * run <= from || start >= to) {
            start += columns * run;
            continue;
        }
        if (from <= start && start + columns * run <= to && conv->dilation_x == 1 && y >= 0 && y < conv->height &&
            left >= 0 && left + columns <= conv->width) {
            const float *at = x + (((int64_t)pixel.image * conv->height + y) * conv->width + left) * run;
            memcpy(panel, at, (size_t)(columns * run) * sizeof *panel);
            panel += columns * run;
            start += columns * run;
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

#ifdef TA_KERNELS_X86
/* Six rows, 16 outputs; rows are `step` values apart, the weights of a product and the next `across`. */
TA_AVX2 static inline void ta_f32_tile_6_avx2(float *sums, const float *start, int32_t from, const float *x,
                                              int64_t step, int32_t depth, const float *w, int64_t across)
{
    const float *x1 = x + step, *x2 = x1 + step, *x3 = x2 + step, *x4 = x3 + step, *x5 = x4 + step;
    __m256 a0 = _mm256_loadu_ps(start), b0 = _mm256_loadu_ps(start + 8);
    __m256 a1 = _mm256_loadu_ps(start + from), b1 = _mm256_loadu_ps(start + from + 8);
    __m256 a2 = _mm256_loadu_ps(start + 2 * from), b2 = _mm256_loadu_ps(start + 2 * from + 8);
    __m256 a3 = _mm256_loadu_ps(start + 3 * from), b3 = _mm256_loadu_ps(start + 3 * from + 8);
    __m256 a4 = _mm256_loadu_ps(start + 4 * from), b4 = _mm256_loadu_ps(start + 4 * from + 8);
    __m256 a5 = _mm256_loadu_ps(start + 5 * from), b5 = _mm256_loadu_ps(start + 5 * from + 8);
    for (int32_t k = 0; k < depth; ++k, w += across) {
        const __m256 p = _mm256_loadu_ps(w), q = _mm256_loadu_ps(w + 8);
        __m256 v = _mm256_broadcast_ss(x + k);
        a0 = _mm256_fmadd_ps(v, p, a0);
        b0 = _mm256_fmadd_ps(v, q, b0);
        v = _mm256_broadcast_ss(x1 + k);
        a1 = _mm256_fmadd_ps(v, p, a1);
        b1 = _mm256_fmadd_ps(v, q, b1);
        v = _mm256_broadcast_ss(x2 + k);
        a2 = _mm256_fmadd_ps(v, p, a2);
        b2 = _mm256_fmadd_ps(v, q, b2);
        v = _mm256_broadcast_ss(x3 + k);
        a3 = _mm256_fmadd_ps(v, p, a3);
        b3 = _mm256_fmadd_ps(v, q, b3);
        v = _mm256_broadcast_ss(x4 + k);
        a4 = _mm256_fmadd_ps(v, p, a4);
        b4 = _mm256_fmadd_ps(v, q, b4);
        v = _mm256_broadcast_ss(x5 + k);
        a5 = _mm256_fmadd_ps(v, p, a5);
        b5 = _mm256_fmadd_ps(v, q, b5);
    }
    _mm256_storeu_ps(sums, a0);
    _mm256_storeu_ps(sums + 8, b0);
    _mm256_storeu_ps(sums + 16, a1);
    _mm256_storeu_ps(sums + 24, b1);
    _mm256_storeu_ps(sums + 32, a2);
    _mm256_storeu_ps(sums + 40, b2);
    _mm256_storeu_ps(sums + 48, a3);
    _mm256_storeu_ps(sums + 56, b3);
    _mm256_storeu_ps(sums + 64, a4);
    _mm256_storeu_ps(sums + 72, b4);
    _mm256_storeu_ps(sums + 80, a5);
    _mm256_storeu_ps(sums + 88, b5);
}

/* One row, 16 outputs; two sums of each, so that additions need not wait for one another. */
TA_AVX2 static inline void ta_f32_tile_1_avx2(float *sums, const float *start, const float *x, int32_t depth,
                                              const float *w, int64_t across)
{
    __m256 a = _mm256_loadu_ps(start), b = _mm256_loadu_ps(start + 8);
    __m256 c = _mm256_setzero_ps(), d = c;
    int32_t k = 0;
    for (; k + 2 <= depth; k += 2, w += 2 * across) {
        const __m256 one = _mm256_broadcast_ss(x + k), two = _mm256_broadcast_ss(x + k + 1);
        a = _mm256_fmadd_ps(one, _mm256_loadu_ps(w), a);
        b = _mm256_fmadd_ps(one, _mm256_loadu_ps(w + 8), b);
        c = _mm256_fmadd_ps(two, _mm256_loadu_ps(w + across), c);
        d = _mm256_fmadd_ps(two, _mm256_loadu_ps(w + across + 8), d);
    }
    if (k < depth) {
        const __m256 one = _mm256_broadcast_ss(x + k);
        a = _mm256_fmadd_ps(one, _mm256_loadu_ps(w), a);
        b = _mm256_fmadd_ps(one, _mm256_loadu_ps(w + 8), b);
    }
    _mm256_storeu_ps(sums, _mm256_add_ps(a, c));
    _mm256_storeu_ps(sums + 8, _mm256_add_ps(b, d));
}
#endif

/* sums[r][n] = start[r * from + n] + the sum over `depth` k of x[r * step + k] * w[k][n], for `rows` rows and one
 * block of outputs; w[k] and the next are `across` values apart. `start` may be `sums`. */
static inline void ta_f32_tile(int32_t rows, float *sums, const float *start, int32_t from, const float *x,
                               int64_t step, int32_t depth, const float *w, int64_t across)
{
#ifdef TA_KERNELS_X86
    if (TA_HAS_AVX2) {
        if (rows == TA_F32_ROWS) {
            ta_f32_tile_6_avx2(sums, start, from, x, step, depth, w, across);
            return;
        }
        for (int32_t r = 0; r < rows; ++r) {
            ta_f32_tile_1_avx2(sums + r * TA_F32_BLOCK, start + r * from, x + r * step, depth, w, across);
        }
        return;
    }
#endif
    for (int32_t r = 0; r < rows; ++r) {
        float acc[TA_F32_BLOCK];
        memcpy(acc, start + r * from, sizeof acc);
        for (int32_t k = 0; k < depth; ++k) {
            const float value = x[r * step + k];
            for (int32_t n = 0; n < TA_F32_BLOCK; ++n) {
                acc[n] += value * w[k * across + n];
            }
        }
        memcpy(sums + r * TA_F32_BLOCK, acc, sizeof acc);
    }
}

#ifdef TA_KERNELS_X86
/* As `ta_f32_finish`, for a `count` that is a multiple of eight. */
TA_AVX2 static inline void ta_f32_finish_avx2(const ta_f32_conv2d *conv, int32_t rows, int32_t count,
                                              const float *sums, const ta_f32_end *end, float *out, int64_t at)
{
    for (int32_t r = 0; r < rows; ++r, at += conv->apart) {
        for (int32_t n = 0; n < count; n += 8) {
            const __m256 sum = _mm256_loadu_ps(sums + r * TA_F32_BLOCK + n);
            _mm256_storeu_ps(out + at + n, ta_f32_ended_avx2(end, sum, conv->low, conv->high, at + n));
        }
    }
}
#endif

/* `count` sums of every row become outputs, the first is element `at`. */
static inline void ta_f32_finish(const ta_f32_conv2d *conv, int32_t rows, int32_t count, const float *sums,
                                 const ta_f32_end *end, float *out, int64_t at)
{
#ifdef TA_KERNELS_X86
    if (TA_HAS_AVX2 && count % 8 == 0) {
        ta_f32_finish_avx2(conv, rows, count, sums, end, out, at);
        return;
    }
#endif
    const ta_f32_end last = *end;
    const float low = conv->low, high = conv->high;
    for (int32_t r = 0; r < rows; ++r, at += conv->apart) {
        for (int32_t n = 0; n < count; ++n) {
            out[at + n] = ta_f32_ended(&last, sums[r * TA_F32_BLOCK + n], low, high, at + n);
        }
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
        for (int32_t n = begin; n < stop; n += TA_F32_BLOCK) {
            const int32_t count = stop - n < TA_F32_BLOCK ? stop - n : TA_F32_BLOCK;
            for (int32_t k = 0; k < depth; k += most) {
                const int32_t some = depth - k < most ? depth - k : most;
                const float *values = x + (int64_t)first * depth;
                if (!conv->in_place) {
                    values = panel;
                    if (n == begin || depth > most) {
                        ta_f32_pixel next = pixel;
                        for (int32_t r = 0; r < rows; ++r, ta_f32_next(conv, &next)) {
                            ta_f32_window(conv, panel + r * TA_F32_PANEL, x, next, k, k + some);
                        }
                    }
                }
                ta_f32_tile(rows, sums, k ? sums : bias + n, k ? TA_F32_BLOCK : 0, values,
                            conv->in_place ? depth : TA_F32_PANEL, some,
                            w + (int64_t)n * depth + (int64_t)k * TA_F32_BLOCK, TA_F32_BLOCK);
            }
            ta_f32_finish(conv, rows, count, sums, end, out, (int64_t)first * conv->apart + n);
        }
        for (int32_t r = 0; r < rows; ++r) {
            ta_f32_next(conv, &pixel);
        }
    }
}

/* The whole convolution. Weights that would not stay in a cache are used for all pixels before the next ones. */
static inline void ta_f32_convolve(const ta_f32_conv2d *conv, const ta_f32_end *end, const float *x, const float *w,
                                   const float *bias, float *out)
{
    const int32_t some = TA_F32_RESIDENT / 4 / conv->depth / TA_F32_BLOCK * TA_F32_BLOCK;
    const int32_t step = some > TA_F32_BLOCK ? some : TA_F32_BLOCK;
    for (int32_t n = 0; n < conv->outputs; n += step) {
        const int32_t stop = conv->outputs - n < step ? conv->outputs : n + step;
        ta_f32_outputs(conv, end, x, w, bias, out, n, stop);
    }
}

#endif
