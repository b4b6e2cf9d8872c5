/* Sums of products of float32 values with int8 weights, as TFLite computes them ("dynamic range"): each row of a dense
 * layer, and each image of a convolution, is brought to eight bits on a grid of its own extremes, and the sums are
 * those of integers.
 *
 * Written in the operations of a layout, as `s8_conv2d.h`, which is included after it: weights are packed as there.
 * Beside them there are for every output, in whole groups of 16, the sum of its weights, their scale and the bias. A
 * sum is that of the stored values; what the zero point of a grid adds is taken off where sums become floats.
 *
 * Forms: portable, AVX2, both with the same results to the bit.
 */
#ifndef TA_KERNELS_S8_HYBRID_H
#define TA_KERNELS_S8_HYBRID_H

#include <float.h>
#include <stdint.h>

#include "kernels/s8_conv2d.h"

#define TA_S8_STORED 32 /* rows of a dense layer that are brought to eight bits at once */

/* What is the same for all rows or images. */
typedef struct {
    int32_t symmetric; /* 1 where zero points are 0 and the least value is -127 */
    int32_t several;   /* 1 where outputs have scales of their own; else all have that of the first */
    float low, high;   /* the activation: the least and the greatest result */
} ta_s8_hybrid;

/* Constants of the outputs. */
typedef struct {
    const int8_t *w;
    const int32_t *total; /* the sum of the weights */
    const float *scale, *bias;
} ta_s8_weights;

/* How a row or an image is stored: `real / scale + zero`. */
typedef struct {
    float scale, inverse;
    int32_t zero;
} ta_s8_grid;

/* The nearest integer, of two the one farther from 0. */
static inline int32_t ta_s8_nearest(float value)
{
    const int32_t whole = (int32_t)value;
    const float rest = value - (float)whole;
    return whole + (rest >= 0.5f ? 1 : 0) - (rest <= -0.5f ? 1 : 0);
}

static inline float ta_s8_within(float value, float low, float high)
{
    value = value < high ? value : high;
    return value > low ? value : low;
}

#ifdef TA_KERNELS_X86
/* The extremes of `count` values and of what is in `ends`, 16 at once: `count` is a multiple of eight. What is not a
 * number is left out, as it is the first operand of a comparison. */
TA_AVX2 static inline void ta_s8_extremes_avx2(const float *x, int32_t count, float *ends)
{
    __m256 low = _mm256_set1_ps(ends[0]), high = _mm256_set1_ps(ends[1]), lower = low, higher = high;
    float lows[8], highs[8];
    int32_t k = 0;
    for (; k + 16 <= count; k += 16) {
        const __m256 values = _mm256_loadu_ps(x + k), others = _mm256_loadu_ps(x + k + 8);
        low = _mm256_min_ps(values, low);
        high = _mm256_max_ps(values, high);
        lower = _mm256_min_ps(others, lower);
        higher = _mm256_max_ps(others, higher);
    }
    if (k < count) {
        const __m256 values = _mm256_loadu_ps(x + k);
        low = _mm256_min_ps(values, low);
        high = _mm256_max_ps(values, high);
    }
    _mm256_storeu_ps(lows, _mm256_min_ps(low, lower));
    _mm256_storeu_ps(highs, _mm256_max_ps(high, higher));
    for (int32_t lane = 0; lane < 8; ++lane) {
        ends[0] = lows[lane] < ends[0] ? lows[lane] : ends[0];
        ends[1] = highs[lane] > ends[1] ? highs[lane] : ends[1];
    }
}

/* Eight values on a grid, rounded as `ta_s8_nearest` does it. */
TA_AVX2_PART __m256i ta_s8_gridded_avx2(const float *x, __m256 inverse, __m256 zero, __m256 least)
{
    const __m256 half = _mm256_set1_ps(0.5f);
    __m256 moved = _mm256_add_ps(zero, _mm256_mul_ps(_mm256_loadu_ps(x), inverse));
    moved = _mm256_max_ps(_mm256_min_ps(moved, _mm256_set1_ps(127.0f)), least);
    const __m256 whole = _mm256_round_ps(moved, 11), rest = _mm256_sub_ps(moved, whole);
    const __m256i up = _mm256_castps_si256(_mm256_cmp_ps(rest, half, 13));
    const __m256i down = _mm256_castps_si256(_mm256_cmp_ps(rest, _mm256_sub_ps(_mm256_setzero_ps(), half), 2));
    return _mm256_add_epi32(_mm256_sub_epi32(_mm256_cvttps_epi32(whole), up), down);
}

/* `count` values on a grid: a multiple of 16. */
TA_AVX2 static inline void ta_s8_stored_avx2(const ta_s8_grid *grid, float least, const float *x, int32_t count,
                                             int8_t *out)
{
    const __m256 inverse = _mm256_set1_ps(grid->inverse), zero = _mm256_set1_ps((float)grid->zero);
    const __m256 low = _mm256_set1_ps(least);
    for (int32_t k = 0; k < count; k += 16) {
        const __m256i a = ta_s8_gridded_avx2(x + k, inverse, zero, low);
        const __m256i b = ta_s8_gridded_avx2(x + k + 8, inverse, zero, low);
        const __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xd8);
        const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
        _mm_storeu_si128((__m128i *)(out + k), bytes);
    }
}

/* The results of `count` outputs of a row, a multiple of eight. */
TA_AVX2 static inline void ta_s8_reals_avx2(const ta_s8_hybrid *layer, const ta_s8_grid *grid,
                                            const ta_s8_weights *of, int32_t count, const int32_t *sums, float *out)
{
    const __m256 row = _mm256_set1_ps(grid->scale), all = _mm256_set1_ps(grid->scale * of->scale[0]);
    const __m256 low = _mm256_set1_ps(layer->low), high = _mm256_set1_ps(layer->high);
    const __m256i zero = _mm256_set1_epi32(grid->zero);
    for (int32_t n = 0; n < count; n += 8) {
        const __m256i taken = _mm256_mullo_epi32(zero, _mm256_loadu_si256((const __m256i *)(of->total + n)));
        const __m256i sum = _mm256_sub_epi32(_mm256_loadu_si256((const __m256i *)(sums + n)), taken);
        __m256 value = _mm256_cvtepi32_ps(sum);
        if (layer->several) {
            value = _mm256_mul_ps(_mm256_mul_ps(value, _mm256_loadu_ps(of->scale + n)), row);
        } else {
            value = _mm256_mul_ps(value, all);
        }
        value = _mm256_add_ps(value, _mm256_loadu_ps(of->bias + n));
        _mm256_storeu_ps(out + n, _mm256_max_ps(_mm256_min_ps(value, high), low));
    }
}
#endif

/* A zero point: the nearest integer of eight bits, of two the one farther from 0. That of infinite extremes is no
 * number, which no integer holds. */
static inline int32_t ta_s8_zero(double zero)
{
    const double below = zero < 127.0 ? zero : 127.0, within = below > -128.0 ? below : -128.0;
    const int32_t whole = (int32_t)within;
    const double rest = within - (double)whole;
    return whole + (rest >= 0.5 ? 1 : 0) - (rest <= -0.5 ? 1 : 0);
}

/* The grid of `count` values. */
static inline ta_s8_grid ta_s8_grid_of(const ta_s8_hybrid *layer, const float *x, int64_t count)
{
    float ends[2] = {0.0f, 0.0f}; /* a grid has 0 */
    ta_s8_grid grid = {1.0f, 1.0f, 0};
    int64_t k = 0;
#ifdef TA_KERNELS_X86
    if (TA_HAS_AVX2) {
        k = count / 8 * 8;
        ta_s8_extremes_avx2(x, (int32_t)k, ends);
    }
#endif
    for (; k < count; ++k) {
        ends[0] = x[k] < ends[0] ? x[k] : ends[0];
        ends[1] = x[k] > ends[1] ? x[k] : ends[1];
    }
    if (layer->symmetric) {
        const float reach = -ends[0] > ends[1] ? -ends[0] : ends[1];
        const int flat = !(reach > 0.0f);
        grid.scale = flat ? 1.0f : reach / 127.0f;
        grid.inverse = flat ? 0.0f : 127.0f / reach;
    } else if (ends[0] < ends[1]) {
        const double step = (double)(ends[1] - ends[0]) / 255.0;
        const double below = (double)ends[0] / step, above = (double)ends[1] / step;
        const double zero = 128.0 - below < 127.0 + above ? -128.0 - below : 127.0 - above;
        grid.scale = (float)step;
        grid.inverse = 1.0f / grid.scale;
        grid.zero = ta_s8_zero(zero);
    }
    return grid;
}

/* `count` values on a grid. */
static inline void ta_s8_store(const ta_s8_hybrid *layer, const ta_s8_grid *grid, const float *x, int64_t count,
                               int8_t *out)
{
    const float least = layer->symmetric ? -127.0f : -128.0f, zero = (float)grid->zero;
    int64_t k = 0;
#ifdef TA_KERNELS_X86
    if (TA_HAS_AVX2) {
        k = count / 16 * 16;
        ta_s8_stored_avx2(grid, least, x, (int32_t)k, out);
    }
#endif
    for (; k < count; ++k) {
        const float moved = x[k] * grid->inverse;
        out[k] = (int8_t)ta_s8_nearest(ta_s8_within(zero + moved, least, 127.0f));
    }
}

/* The constants from output `n` on, weights aside. */
static inline ta_s8_weights ta_s8_weights_at(const ta_s8_hybrid *layer, const ta_s8_weights *of, int32_t n)
{
    const ta_s8_weights own = {of->w, of->total + n, of->scale + (layer->several ? n : 0), of->bias + n};
    return own;
}

/* `count` sums of a row become results. */
static inline void ta_s8_reals(const ta_s8_hybrid *layer, const ta_s8_grid *grid, const ta_s8_weights *of,
                               int32_t count, const int32_t *sums, float *out)
{
    int32_t n = 0;
#ifdef TA_KERNELS_X86
    if (TA_HAS_AVX2) {
        n = count / 8 * 8;
        ta_s8_reals_avx2(layer, grid, of, n, sums, out);
    }
#endif
    for (; n < count; ++n) {
        const float sum = (float)(sums[n] - grid->zero * of->total[n]);
        float value = grid->scale * of->scale[0];
        if (layer->several) {
            value = sum * of->scale[n];
            value *= grid->scale;
        } else {
            value *= sum;
        }
        out[n] = ta_s8_within(value + of->bias[n], layer->low, layer->high);
    }
}

/* Outputs `begin` to `stop` of the pixels of an image of stored values `x`, each of which is on the grid `each` after
 * that of the one before. */
static inline void ta_s8_hybrid_outputs(const ta_s8_hybrid *layer, const ta_s8_conv2d *conv, const ta_s8_weights *of,
                                        const ta_s8_grid *grids, int32_t each, const int8_t *x, float *out,
                                        int32_t begin, int32_t stop)
{
    ta_s8_cell panel[TA_S8_ROWS * TA_S8_PANEL + TA_S8_MORE];
    int32_t sums[TA_S8_ROWS * TA_S8_OUTPUTS] TA_VECTORS;
    const int32_t pixels = conv->out_height * conv->out_width;
    static const int32_t zeros[TA_S8_OUTPUTS] = {0};
    ta_s8_pixel pixel = {0, 0, 0};
    ta_s8_start(conv, panel, of->w, begin, stop);
    for (int32_t first = 0, rows; first < pixels; first += rows) {
        rows = pixels - first < TA_S8_ROWS ? pixels - first : TA_S8_ROWS;
        const ta_s8_cell *const in_place = ta_s8_in_place(conv, x, pixel, rows);
        for (int32_t n = begin; n < stop; n += TA_S8_OUTPUTS) {
            const int32_t count = stop - n < TA_S8_OUTPUTS ? stop - n : TA_S8_OUTPUTS;
            const ta_s8_weights own = ta_s8_weights_at(layer, of, n);
            ta_s8_sums(conv, in_place, panel, x, pixel, rows, n == begin, of->w, zeros, n, count, sums);
            for (int32_t r = 0; r < rows; ++r) {
                ta_s8_reals(layer, grids + each * (first + r), &own, count, sums + r * TA_S8_OUTPUTS,
                            out + (int64_t)(first + r) * conv->apart + n);
            }
        }
        for (int32_t r = 0; r < rows; ++r) {
            ta_s8_next(conv, &pixel);
        }
    }
    ta_s8_leave(panel);
}

/* All outputs of an image of stored values. */
static inline void ta_s8_hybrid_image(const ta_s8_hybrid *layer, const ta_s8_conv2d *conv, const ta_s8_weights *of,
                                      const ta_s8_grid *grids, int32_t each, const int8_t *x, float *out)
{
    const int32_t step = ta_s8_turn(conv);
    for (int32_t n = 0; n < conv->outputs; n += step) {
        const int32_t stop = conv->outputs - n < step ? conv->outputs : n + step;
        ta_s8_hybrid_outputs(layer, conv, of, grids, each, x, out, n, stop);
    }
}

/* The whole convolution; `stored` has room for one image in eight bits. The result may be where the image is, if there
 * is one. */
static inline void ta_s8_hybrid_convolve(const ta_s8_hybrid *layer, const ta_s8_conv2d *sizes,
                                         const ta_s8_weights *of, const float *x, float *out, int8_t *stored)
{
    const int64_t image = (int64_t)sizes->height * sizes->width * sizes->channels;
    ta_s8_conv2d one = *sizes;
    one.batch = 1;
    for (int32_t b = 0; b < sizes->batch; ++b, x += image) {
        const ta_s8_grid grid = ta_s8_grid_of(layer, x, image);
        ta_s8_store(layer, &grid, x, image, stored);
        one.pad = grid.zero;
        ta_s8_hybrid_image(layer, &one, of, &grid, 0, stored, out);
        out += (int64_t)one.out_height * one.out_width * one.apart;
    }
}

/* The whole dense layer: `height` of the sizes are its rows, `channels` the values of each. `stored` has room for
 * TA_S8_STORED of them in eight bits. The result may be where the rows are, if there are no more outputs than values. */
static inline void ta_s8_hybrid_dense(const ta_s8_hybrid *layer, const ta_s8_conv2d *sizes, const ta_s8_weights *of,
                                      const float *x, float *out, int8_t *stored)
{
    ta_s8_grid grids[TA_S8_STORED];
    ta_s8_conv2d some = *sizes;
    for (int32_t first = 0; first < sizes->height; first += TA_S8_STORED) {
        const int32_t left = sizes->height - first, inputs = sizes->channels;
        some.height = left < TA_S8_STORED ? left : TA_S8_STORED;
        some.out_height = some.height;
        for (int32_t r = 0; r < some.height; ++r, x += inputs) {
            grids[r] = ta_s8_grid_of(layer, x, inputs);
            ta_s8_store(layer, grids + r, x, inputs, stored + (int64_t)r * inputs);
        }
        ta_s8_hybrid_image(layer, &some, of, grids, 1, stored, out);
        out += (int64_t)some.height * some.apart;
    }
}

#endif
