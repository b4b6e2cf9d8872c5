/* Sums of products of float32 values with int8 weights, as TFLite computes them ("dynamic range"): each row of a dense
 * layer, and each image of a convolution, is brought to eight bits on a grid of its own extremes, and the sums are
 * those of integers.
 *
 * Written in the operations of a layout, as `s8_conv2d.h`, which is included after it: weights are packed as there.
 * Beside them there are for every output, in whole groups of 16, the sum of its weights, their scale and the bias. A
 * sum is that of the stored values; what the zero point of a grid adds is taken off where sums become floats.
 *
 * Forms: portable, AVX2, AVX-512, all with the same results to the bit.
 */
#ifndef TA_KERNELS_S8_HYBRID_H
#define TA_KERNELS_S8_HYBRID_H

#include <float.h>
#include <stdint.h>

#include "kernels/s8_conv2d.h"

#define TA_S8_STORED 32 /* rows of a dense layer that are brought to eight bits at once */
#define TA_S8_BELOW_HALF 0x1.fffffep-2f

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

/* What makes results of sums: each row is on the grid `each` after that of the one before. */
typedef struct {
    const ta_s8_hybrid *layer;
    const ta_s8_weights *of;
    const ta_s8_grid *grids;
    int32_t each;
    float *out;
    int32_t apart; /* from the results of a row to those of the next */
} ta_s8_to_reals;

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

/* Eight values on a grid, rounded as `ta_s8_nearest` does it: what is added is the float before a half, so that a sum
 * is rounded up to the next integer where its rest is a half, and not where it is less. */
TA_AVX2_PART __m256i ta_s8_gridded_avx2(const float *x, __m256 inverse, __m256 zero, __m256 least)
{
    const __m256 sign = _mm256_set1_ps(-0.0f), half = _mm256_set1_ps(TA_S8_BELOW_HALF);
    __m256 moved = _mm256_add_ps(zero, _mm256_mul_ps(_mm256_loadu_ps(x), inverse));
    moved = _mm256_max_ps(_mm256_min_ps(moved, _mm256_set1_ps(127.0f)), least);
    return _mm256_cvttps_epi32(_mm256_add_ps(moved, _mm256_or_ps(half, _mm256_and_ps(moved, sign))));
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

#ifdef TA_KERNELS_AVX512
/* The extremes of `count` values and of what is in `ends`, 32 at once: `count` is a multiple of 16. */
TA_AVX512 static inline void ta_s8_extremes_avx512(const float *x, int32_t count, float *ends)
{
    __m512 low = _mm512_set1_ps(ends[0]), high = _mm512_set1_ps(ends[1]), lower = low, higher = high;
    int32_t k = 0;
    for (; k + 32 <= count; k += 32) {
        const __m512 values = _mm512_loadu_ps(x + k), others = _mm512_loadu_ps(x + k + 16);
        low = _mm512_min_ps(values, low);
        high = _mm512_max_ps(values, high);
        lower = _mm512_min_ps(others, lower);
        higher = _mm512_max_ps(others, higher);
    }
    if (k < count) {
        const __m512 values = _mm512_loadu_ps(x + k);
        low = _mm512_min_ps(values, low);
        high = _mm512_max_ps(values, high);
    }
    ends[0] = _mm512_reduce_min_ps(_mm512_min_ps(low, lower));
    ends[1] = _mm512_reduce_max_ps(_mm512_max_ps(high, higher));
}

/* `count` values on a grid, a multiple of 16, rounded as in `ta_s8_gridded_avx2`. */
TA_AVX512 static inline void ta_s8_stored_avx512(const ta_s8_grid *grid, float least, const float *x, int32_t count,
                                                 int8_t *out)
{
    const __m512 inverse = _mm512_set1_ps(grid->inverse), zero = _mm512_set1_ps((float)grid->zero);
    const __m512 low = _mm512_set1_ps(least), high = _mm512_set1_ps(127.0f);
    const __m512i sign = _mm512_set1_epi32(INT32_MIN), half = _mm512_castps_si512(_mm512_set1_ps(TA_S8_BELOW_HALF));
    for (int32_t k = 0; k < count; k += 16) {
        __m512 moved = _mm512_add_ps(zero, _mm512_mul_ps(_mm512_loadu_ps(x + k), inverse));
        moved = _mm512_max_ps(_mm512_min_ps(moved, high), low);
        const __m512i added = _mm512_ternarylogic_epi32(half, _mm512_castps_si512(moved), sign, 0xf8); /* a | b & c */
        const __m512i whole = _mm512_cvttps_epi32(_mm512_add_ps(moved, _mm512_castsi512_ps(added)));
        _mm_storeu_si128((__m128i *)(out + k), _mm512_cvtepi32_epi8(whole));
    }
}

/* The results of `count` outputs, 16 at most, of `rows` rows, whose sums are `from` apart. */
TA_AVX512 static inline void ta_s8_reals_avx512(const ta_s8_to_reals *to, int32_t rows, int32_t count,
                                                const int32_t *sums, int32_t from)
{
    const ta_s8_hybrid *const layer = to->layer;
    const ta_s8_weights *const of = to->of;
    const ta_s8_grid *grid = to->grids;
    float *out = to->out;
    const __mmask16 some = (__mmask16)((1u << count) - 1u);
    const __m512 low = _mm512_set1_ps(layer->low), high = _mm512_set1_ps(layer->high);
    const __m512i total = _mm512_maskz_loadu_epi32(some, of->total);
    const __m512 bias = _mm512_maskz_loadu_ps(some, of->bias);
    const __m512 scale = layer->several ? _mm512_maskz_loadu_ps(some, of->scale) : _mm512_set1_ps(of->scale[0]);
    for (int32_t r = 0; r < rows; ++r, grid += to->each, sums += from, out += to->apart) {
        const __m512i taken = _mm512_mullo_epi32(_mm512_set1_epi32(grid->zero), total);
        const __m512 sum = _mm512_cvtepi32_ps(_mm512_sub_epi32(_mm512_loadu_si512(sums), taken));
        const __m512 row = _mm512_set1_ps(grid->scale);
        __m512 value;
        if (layer->several) {
            value = _mm512_mul_ps(_mm512_mul_ps(sum, scale), row);
        } else {
            value = _mm512_mul_ps(sum, _mm512_mul_ps(row, scale));
        }
        value = _mm512_add_ps(value, bias);
        _mm512_mask_storeu_ps(out, some, _mm512_max_ps(_mm512_min_ps(value, high), low));
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
#ifdef TA_KERNELS_AVX512
    if (TA_HAS_AVX512) {
        k = count / 16 * 16;
        ta_s8_extremes_avx512(x, (int32_t)k, ends);
    }
#endif
#ifdef TA_KERNELS_X86
    if (k == 0 && TA_HAS_AVX2) {
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
#ifdef TA_KERNELS_AVX512
    if (TA_HAS_AVX512) {
        k = count / 16 * 16;
        ta_s8_stored_avx512(grid, least, x, (int32_t)k, out);
    }
#endif
#ifdef TA_KERNELS_X86
    if (k == 0 && TA_HAS_AVX2) {
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

/* Sums of `count` outputs from `n` on, for `rows` rows from `first` on, become results; they are `from` apart. */
static inline void ta_s8_real_rows(const ta_s8_to_reals *to, int32_t first, int32_t rows, int32_t n, int32_t count,
                                   const int32_t *sums, int32_t from)
{
    const ta_s8_weights of = ta_s8_weights_at(to->layer, to->of, n);
    float *const out = to->out + (int64_t)first * to->apart + n;
    const ta_s8_to_reals own = {to->layer, &of, to->grids + to->each * first, to->each, out, to->apart};
#ifdef TA_KERNELS_AVX512
    if (TA_HAS_AVX512) {
        ta_s8_reals_avx512(&own, rows, count, sums, from);
        return;
    }
#endif
    for (int32_t r = 0; r < rows; ++r) {
        ta_s8_reals(own.layer, own.grids + own.each * r, &of, count, sums + r * from, out + (int64_t)r * own.apart);
    }
}

/* Outputs `begin` to `stop` of the pixels of an image of stored values `x`. */
static inline void ta_s8_hybrid_outputs(const ta_s8_conv2d *conv, const ta_s8_to_reals *to, const int8_t *x,
                                        int32_t begin, int32_t stop)
{
    ta_s8_cell panel[TA_S8_ROWS * TA_S8_PANEL + TA_S8_MORE];
    int32_t sums[TA_S8_ROWS * TA_S8_OUTPUTS] TA_VECTORS;
    const int32_t pixels = conv->out_height * conv->out_width;
    static const int32_t zeros[TA_S8_OUTPUTS] = {0};
    ta_s8_pixel pixel = {0, 0, 0};
    for (int32_t first = 0, rows; first < pixels; first += rows) {
        rows = pixels - first < TA_S8_ROWS ? pixels - first : TA_S8_ROWS;
        const ta_s8_cell *const in_place = ta_s8_in_place(conv, x, pixel, rows);
        for (int32_t n = begin; n < stop; n += TA_S8_OUTPUTS) {
            const int32_t count = stop - n < TA_S8_OUTPUTS ? stop - n : TA_S8_OUTPUTS;
            ta_s8_sums(conv, in_place, panel, x, pixel, rows, n == begin, to->of->w, zeros, n, count, sums);
            ta_s8_real_rows(to, first, rows, n, count, sums, TA_S8_OUTPUTS);
        }
        for (int32_t r = 0; r < rows; ++r) {
            ta_s8_next(conv, &pixel);
        }
    }
}

#ifdef TA_S8_WALKS
TA_AMX_PART void ta_s8_take_reals(const void *to, const ta_s8_some *some)
{
    ta_s8_real_rows((const ta_s8_to_reals *)to, some->first, some->rows, some->n, some->count, some->sums,
                    TA_S8_SUMMED);
}

TA_AMX static inline void ta_s8_hybrid_amx(const ta_s8_conv2d *conv, const ta_s8_to_reals *to, const int8_t *x)
{
    static const int32_t zeros[TA_S8_SUMMED] = {0};
    const ta_s8_walk walk = {conv, x, to->of->w, zeros, 0};
    ta_s8_walk_amx(&walk, ta_s8_take_reals, to);
}
#endif

/* All outputs of an image of stored values. */
static inline void ta_s8_hybrid_image(const ta_s8_conv2d *conv, const ta_s8_to_reals *to, const int8_t *x)
{
#ifdef TA_S8_WALKS
    if (ta_s8_is_walked(conv)) {
        ta_s8_hybrid_amx(conv, to, x);
        return;
    }
#endif
    const int32_t step = ta_s8_resident(conv->depth);
    for (int32_t n = 0; n < conv->outputs; n += step) {
        const int32_t stop = conv->outputs - n < step ? conv->outputs : n + step;
        ta_s8_hybrid_outputs(conv, to, x, n, stop);
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
        const ta_s8_to_reals to = {layer, of, &grid, 0, out, one.apart};
        ta_s8_hybrid_image(&one, &to, stored);
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
        const ta_s8_to_reals to = {layer, of, grids, 1, out, some.apart};
        ta_s8_hybrid_image(&some, &to, stored);
        out += (int64_t)some.height * some.apart;
    }
}

#endif
