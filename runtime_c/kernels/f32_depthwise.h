/* Depthwise convolution of float32 images, NHWC: one output for each channel. Weights are w[KH][KW][C].
 *
 * Pixels whose windows are cut by the border in the same way are summed by one call, over the taps that are inside
 * the image: no condition is in the loop of the taps.
 *
 * Forms: portable, AVX2 with FMA. A sum may be added up in another order than the definition's.
 */
#ifndef TA_KERNELS_F32_DEPTHWISE_H
#define TA_KERNELS_F32_DEPTHWISE_H

#include <stdint.h>
#include <string.h>

#include "kernels/f32_end.h"
#include "kernels/x86.h"

#define TA_F32_DW_CHANNELS 16

typedef struct {
    int32_t batch, height, width, channels; /* of the image */
    int32_t out_height, out_width;
    int32_t kernel_height, kernel_width;
    int32_t stride_y, stride_x, dilation_y, dilation_x;
    int32_t top, left; /* padding before the first row and column */
    int32_t apart;     /* elements from an output pixel to the next */
    float low, high;   /* the activation: the least and the greatest result */
} ta_f32_depthwise;

/* The taps of a window that are inside the image: the first value and its weights, and how many there are. */
typedef struct {
    const float *x, *w;
    int32_t rows, columns;
} ta_f32_taps;

/* The sums of 16 channels of a pixel, which begin with the bias; `row` and `column` are from a tap to the next. */
static inline void ta_f32_dw_block(const ta_f32_taps *taps, const float *x, const float *w, int32_t row,
                                   int32_t column, int32_t kernel, int32_t channels, const float *bias, float *sums)
{
    float acc[TA_F32_DW_CHANNELS];
    (void)memcpy(acc, bias, sizeof acc);
    for (int32_t ky = taps->rows; ky > 0; --ky, x += row, w += kernel) {
        const float *value = x, *weight = w;
        for (int32_t kx = taps->columns; kx > 0; --kx, value += column, weight += channels) {
            for (int32_t n = 0; n < TA_F32_DW_CHANNELS; ++n) {
                acc[n] += value[n] * weight[n];
            }
        }
    }
    (void)memcpy(sums, acc, sizeof acc);
}

/* The sum of one channel. */
static inline float ta_f32_dw_one(const ta_f32_taps *taps, const float *x, const float *w, int32_t row,
                                  int32_t column, int32_t kernel, int32_t channels, float sum)
{
    for (int32_t ky = taps->rows; ky > 0; --ky, x += row, w += kernel) {
        for (int32_t kx = 0; kx < taps->columns; ++kx) {
            sum += x[kx * column] * w[kx * channels];
        }
    }
    return sum;
}

/* `count` pixels of a row of the output, from element `at` on, for channels from `c` on. */
static inline void ta_f32_dw_pixels(const ta_f32_depthwise *conv, const ta_f32_end *end, const ta_f32_taps *taps,
                                    const float *bias, float *out, int64_t at, int32_t count, int32_t c)
{
    const int32_t channels = conv->channels, kernel = conv->kernel_width * channels;
    const int32_t row = conv->dilation_y * conv->width * channels, column = conv->dilation_x * channels;
    const ta_f32_end last = *end;
    const float low = conv->low, high = conv->high, *x = taps->x;
    for (int32_t p = 0; p < count; ++p, at += conv->apart, x += conv->stride_x * channels) {
        int32_t n = c;
        for (; n + TA_F32_DW_CHANNELS <= channels; n += TA_F32_DW_CHANNELS) {
            float sums[TA_F32_DW_CHANNELS];
            ta_f32_dw_block(taps, x + n, taps->w + n, row, column, kernel, channels, bias + n, sums);
            for (int32_t i = 0; i < TA_F32_DW_CHANNELS; ++i) {
                out[at + n + i] = ta_f32_ended(&last, sums[i], low, high, at + n + i);
            }
        }
        for (; n < channels; ++n) {
            const float sum = ta_f32_dw_one(taps, x + n, taps->w + n, row, column, kernel, channels, bias[n]);
            out[at + n] = ta_f32_ended(&last, sum, low, high, at + n);
        }
    }
}

#ifdef TA_KERNELS_X86
/* Four pixels, 16 channels from `c` on. */
TA_AVX2 static inline void ta_f32_dw_4_avx2(const ta_f32_depthwise *conv, const ta_f32_end *end,
                                            const ta_f32_taps *taps, const float *bias, float *out, int64_t at,
                                            int32_t c)
{
    const int64_t channels = conv->channels, step = conv->stride_x * channels, apart = conv->apart;
    const int64_t row = conv->dilation_y * conv->width * channels, column = conv->dilation_x * channels;
    __m256 a0 = _mm256_loadu_ps(bias + c), b0 = _mm256_loadu_ps(bias + c + 8);
    __m256 a1 = a0, b1 = b0, a2 = a0, b2 = b0, a3 = a0, b3 = b0;
    for (int32_t ky = 0; ky < taps->rows; ++ky) {
        const float *x0 = taps->x + ky * row + c, *x1 = x0 + step, *x2 = x1 + step, *x3 = x2 + step;
        const float *w = taps->w + ky * conv->kernel_width * channels + c;
        for (int32_t kx = 0; kx < taps->columns; ++kx, w += channels) {
            const __m256 p = _mm256_loadu_ps(w), q = _mm256_loadu_ps(w + 8);
            a0 = _mm256_fmadd_ps(p, _mm256_loadu_ps(x0), a0);
            b0 = _mm256_fmadd_ps(q, _mm256_loadu_ps(x0 + 8), b0);
            a1 = _mm256_fmadd_ps(p, _mm256_loadu_ps(x1), a1);
            b1 = _mm256_fmadd_ps(q, _mm256_loadu_ps(x1 + 8), b1);
            a2 = _mm256_fmadd_ps(p, _mm256_loadu_ps(x2), a2);
            b2 = _mm256_fmadd_ps(q, _mm256_loadu_ps(x2 + 8), b2);
            a3 = _mm256_fmadd_ps(p, _mm256_loadu_ps(x3), a3);
            b3 = _mm256_fmadd_ps(q, _mm256_loadu_ps(x3 + 8), b3);
            x0 += column;
            x1 += column;
            x2 += column;
            x3 += column;
        }
    }
    const float low = conv->low, high = conv->high;
    at += c;
    _mm256_storeu_ps(out + at, ta_f32_ended_avx2(end, a0, low, high, at));
    _mm256_storeu_ps(out + at + 8, ta_f32_ended_avx2(end, b0, low, high, at + 8));
    at += apart;
    _mm256_storeu_ps(out + at, ta_f32_ended_avx2(end, a1, low, high, at));
    _mm256_storeu_ps(out + at + 8, ta_f32_ended_avx2(end, b1, low, high, at + 8));
    at += apart;
    _mm256_storeu_ps(out + at, ta_f32_ended_avx2(end, a2, low, high, at));
    _mm256_storeu_ps(out + at + 8, ta_f32_ended_avx2(end, b2, low, high, at + 8));
    at += apart;
    _mm256_storeu_ps(out + at, ta_f32_ended_avx2(end, a3, low, high, at));
    _mm256_storeu_ps(out + at + 8, ta_f32_ended_avx2(end, b3, low, high, at + 8));
}

/* One pixel, eight channels from `c` on. */
TA_AVX2 static inline void ta_f32_dw_1_avx2(const ta_f32_depthwise *conv, const ta_f32_end *end,
                                            const ta_f32_taps *taps, const float *bias, float *out, int64_t at,
                                            int32_t c)
{
    const int64_t channels = conv->channels, column = conv->dilation_x * channels;
    const int64_t row = conv->dilation_y * conv->width * channels;
    __m256 sum = _mm256_loadu_ps(bias + c);
    for (int32_t ky = 0; ky < taps->rows; ++ky) {
        const float *x = taps->x + ky * row + c;
        const float *w = taps->w + ky * conv->kernel_width * channels + c;
        for (int32_t kx = 0; kx < taps->columns; ++kx, x += column, w += channels) {
            sum = _mm256_fmadd_ps(_mm256_loadu_ps(w), _mm256_loadu_ps(x), sum);
        }
    }
    at += c;
    _mm256_storeu_ps(out + at, ta_f32_ended_avx2(end, sum, conv->low, conv->high, at));
}

/* As `ta_f32_dw_pixels`, for the channels that fill vectors. */
TA_AVX2 static inline void ta_f32_dw_pixels_avx2(const ta_f32_depthwise *conv, const ta_f32_end *end,
                                                 const ta_f32_taps *taps, const float *bias, float *out, int64_t at,
                                                 int32_t count)
{
    const int64_t step = (int64_t)conv->stride_x * conv->channels;
    ta_f32_taps now = *taps;
    while (count > 0) {
        const int32_t some = count < 4 ? 1 : 4;
        int32_t c = 0;
        for (; some == 4 && c + 16 <= conv->channels; c += 16) {
            ta_f32_dw_4_avx2(conv, end, &now, bias, out, at, c);
        }
        for (; c + 8 <= conv->channels; c += 8) {
            ta_f32_taps one = now;
            for (int32_t p = 0; p < some; ++p, one.x += step) {
                ta_f32_dw_1_avx2(conv, end, &one, bias, out, at + (int64_t)p * conv->apart, c);
            }
        }
        now.x += some * step;
        at += (int64_t)some * conv->apart;
        count -= some;
    }
}
#endif

/* The first tap inside an image of `size` values, where tap 0 is at `start`; and the one after the last. */
static inline int32_t ta_f32_dw_first(int32_t start, int32_t dilation)
{
    return start < 0 ? (dilation - 1 - start) / dilation : 0;
}

static inline int32_t ta_f32_dw_stop(int32_t start, int32_t dilation, int32_t size, int32_t taps)
{
    const int32_t inside = start < size ? (size - 1 - start) / dilation + 1 : 0;
    return inside < taps ? inside : taps;
}

/* The taps of the window of an output inside one image. */
static inline ta_f32_taps ta_f32_dw_taps(const ta_f32_depthwise *conv, const float *x, const float *w, int32_t out_y,
                                         int32_t out_x)
{
    const int32_t y = out_y * conv->stride_y - conv->top, column = out_x * conv->stride_x - conv->left;
    const int32_t ky = ta_f32_dw_first(y, conv->dilation_y), kx = ta_f32_dw_first(column, conv->dilation_x);
    ta_f32_taps taps = {x, w, 0, 0};
    taps.rows = ta_f32_dw_stop(y, conv->dilation_y, conv->height, conv->kernel_height) - ky;
    taps.columns = ta_f32_dw_stop(column, conv->dilation_x, conv->width, conv->kernel_width) - kx;
    if (taps.rows > 0 && taps.columns > 0) {
        const int64_t line = y + ky * conv->dilation_y;
        taps.x += (line * conv->width + column + kx * conv->dilation_x) * conv->channels;
        taps.w += ((int64_t)ky * conv->kernel_width + kx) * conv->channels;
    } else {
        taps.rows = 0;
    }
    return taps;
}

/* How many outputs of a row, from `x` on, are summed over the same taps. */
static inline int32_t ta_f32_dw_alike(const ta_f32_depthwise *conv, int32_t x)
{
    const int32_t column = x * conv->stride_x - conv->left;
    const int32_t room = conv->width - 1 - (conv->kernel_width - 1) * conv->dilation_x - column;
    const int32_t alike = column < 0 || room < 0 ? 1 : room / conv->stride_x + 1;
    return alike < conv->out_width - x ? alike : conv->out_width - x;
}

/* The whole convolution. */
static inline void ta_f32_convolve_depthwise(const ta_f32_depthwise *conv, const ta_f32_end *end, const float *x,
                                             const float *w, const float *bias, float *out)
{
    const int64_t image = (int64_t)conv->height * conv->width * conv->channels;
    int64_t at = 0;
    for (int32_t b = 0; b < conv->batch; ++b, x += image) {
        for (int32_t out_y = 0; out_y < conv->out_height; ++out_y) {
            for (int32_t out_x = 0; out_x < conv->out_width;) {
                const ta_f32_taps taps = ta_f32_dw_taps(conv, x, w, out_y, out_x);
                const int32_t count = ta_f32_dw_alike(conv, out_x);
                int32_t c = 0;
#ifdef TA_KERNELS_X86
                if (TA_HAS_AVX2) {
                    ta_f32_dw_pixels_avx2(conv, end, &taps, bias, out, at, count);
                    c = conv->channels / 8 * 8;
                }
#endif
                if (c < conv->channels) {
                    ta_f32_dw_pixels(conv, end, &taps, bias, out, at, count, c);
                }
                out_x += count;
                at += (int64_t)count * conv->apart;
            }
        }
    }
}

#endif
