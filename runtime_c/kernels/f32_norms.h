/* Normalization in float32: values less their mean, divided by the root of their variance, times a scale, plus an
 * offset. Results may be where the values are.
 *
 * Sums are added up in parts, of which each is short, in another order than the definition's. The variance is the mean
 * of squared differences from the mean.
 *
 * Forms: portable, AVX2 with FMA.
 */
#ifndef TA_KERNELS_F32_NORMS_H
#define TA_KERNELS_F32_NORMS_H

#include <math.h>
#include <stdint.h>

#include "kernels/x86.h"

/* So many values are added up before they join the sum: of many, small ones would vanish beside it. */
#define TA_F32_ADDED 64

/* What a value is taken less of, what the rest is multiplied by, and what is added: a line. */
typedef struct {
    float mean, factor, offset;
} ta_f32_line;

#ifdef TA_KERNELS_X86
/* The sum of the eight of `a`, `b`, `c` and `d`. */
TA_AVX2_PART float ta_f32_added_avx2(__m256 a, __m256 b, __m256 c, __m256 d)
{
    const __m256 all = _mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

/* The sum of `count` values, a multiple of 32. */
TA_AVX2 static inline float ta_f32_total_avx2(const float *x, int32_t count)
{
    __m256 a = _mm256_setzero_ps(), b = a, c = a, d = a;
    for (int32_t k = 0; k < count; k += 32) {
        a = _mm256_add_ps(a, _mm256_loadu_ps(x + k));
        b = _mm256_add_ps(b, _mm256_loadu_ps(x + k + 8));
        c = _mm256_add_ps(c, _mm256_loadu_ps(x + k + 16));
        d = _mm256_add_ps(d, _mm256_loadu_ps(x + k + 24));
    }
    return ta_f32_added_avx2(a, b, c, d);
}

/* The sum of squares of `count` values, a multiple of 32, each less `mean`. */
TA_AVX2 static inline float ta_f32_squares_avx2(const float *x, int32_t count, float mean)
{
    const __m256 less = _mm256_set1_ps(mean);
    __m256 a = _mm256_setzero_ps(), b = a, c = a, d = a;
    for (int32_t k = 0; k < count; k += 32) {
        const __m256 e = _mm256_sub_ps(_mm256_loadu_ps(x + k), less);
        const __m256 f = _mm256_sub_ps(_mm256_loadu_ps(x + k + 8), less);
        const __m256 g = _mm256_sub_ps(_mm256_loadu_ps(x + k + 16), less);
        const __m256 h = _mm256_sub_ps(_mm256_loadu_ps(x + k + 24), less);
        a = _mm256_fmadd_ps(e, e, a);
        b = _mm256_fmadd_ps(f, f, b);
        c = _mm256_fmadd_ps(g, g, c);
        d = _mm256_fmadd_ps(h, h, d);
    }
    return ta_f32_added_avx2(a, b, c, d);
}

/* `count` values on a line, a multiple of eight. */
TA_AVX2 static inline void ta_f32_moved_avx2(const ta_f32_line *line, const float *x, int32_t count, float *out)
{
    const __m256 mean = _mm256_set1_ps(line->mean), factor = _mm256_set1_ps(line->factor);
    const __m256 offset = _mm256_set1_ps(line->offset);
    for (int32_t k = 0; k < count; k += 8) {
        const __m256 apart = _mm256_sub_ps(_mm256_loadu_ps(x + k), mean);
        _mm256_storeu_ps(out + k, _mm256_fmadd_ps(apart, factor, offset));
    }
}

/* `count` values, a multiple of eight, which have a scale and an offset each. */
TA_AVX2 static inline void ta_f32_scaled_avx2(float mean, float inverse, const float *scale, const float *offset,
                                              const float *x, int32_t count, float *out)
{
    const __m256 less = _mm256_set1_ps(mean), factor = _mm256_set1_ps(inverse);
    for (int32_t k = 0; k < count; k += 8) {
        const __m256 unit = _mm256_mul_ps(_mm256_sub_ps(_mm256_loadu_ps(x + k), less), factor);
        _mm256_storeu_ps(out + k, _mm256_fmadd_ps(unit, _mm256_loadu_ps(scale + k), _mm256_loadu_ps(offset + k)));
    }
}
#endif

/* The sum of `count` values. */
static inline float ta_f32_total(const float *x, int32_t count)
{
    float total = 0.0f;
    int32_t k = 0;
#ifdef TA_KERNELS_X86
    if (TA_HAS_AVX2) {
        k = count / 32 * 32;
        total = ta_f32_total_avx2(x, k);
    }
#endif
    while (k < count) {
        const int32_t end = count - k > TA_F32_ADDED ? k + TA_F32_ADDED : count;
        float part = 0.0f;
        for (; k < end; ++k) {
            part += x[k];
        }
        total += part;
    }
    return total;
}

/* The sum of squares of `count` values, each less `mean`. */
static inline float ta_f32_squares(const float *x, int32_t count, float mean)
{
    float total = 0.0f;
    int32_t k = 0;
#ifdef TA_KERNELS_X86
    if (TA_HAS_AVX2) {
        k = count / 32 * 32;
        total = ta_f32_squares_avx2(x, k, mean);
    }
#endif
    while (k < count) {
        const int32_t end = count - k > TA_F32_ADDED ? k + TA_F32_ADDED : count;
        float part = 0.0f;
        for (; k < end; ++k) {
            part += (x[k] - mean) * (x[k] - mean);
        }
        total += part;
    }
    return total;
}

/* The mean of `count` values and the inverse of the root of their variance plus `epsilon`. */
static inline ta_f32_line ta_f32_statistics(const float *x, int32_t count, float epsilon)
{
    const float share = 1.0f / (float)count, mean = ta_f32_total(x, count) * share;
    const ta_f32_line line = {mean, 1.0f / sqrtf(ta_f32_squares(x, count, mean) * share + epsilon), 0.0f};
    return line;
}

/* `count` values on a line. */
static inline void ta_f32_moved(const ta_f32_line *line, const float *x, int32_t count, float *out)
{
    const ta_f32_line of = *line;
    int32_t k = 0;
#ifdef TA_KERNELS_X86
    if (TA_HAS_AVX2) {
        k = count / 8 * 8;
        ta_f32_moved_avx2(line, x, k, out);
    }
#endif
    for (; k < count; ++k) {
        out[k] = (x[k] - of.mean) * of.factor + of.offset;
    }
}

/* Rows of `length` values; each place has a scale and an offset. */
static inline void ta_f32_layer_norm(int32_t rows, int32_t length, float epsilon, const float *x, const float *scale,
                                     const float *offset, float *out)
{
    for (int32_t row = 0; row < rows; ++row, x += length, out += length) {
        const ta_f32_line of = ta_f32_statistics(x, length, epsilon);
        int32_t k = 0;
#ifdef TA_KERNELS_X86
        if (TA_HAS_AVX2) {
            k = length / 8 * 8;
            ta_f32_scaled_avx2(of.mean, of.factor, scale, offset, x, k, out);
        }
#endif
        for (; k < length; ++k) {
            out[k] = (x[k] - of.mean) * of.factor * scale[k] + offset[k];
        }
    }
}

/* `images` of `groups` groups of `channels` channels, which have `length` values, a scale and an offset each;
 * statistics are those of a group. */
static inline void ta_f32_group_norm(int32_t images, int32_t groups, int32_t channels, int32_t length, float epsilon,
                                     const float *x, const float *scale, const float *offset, float *out)
{
    for (int32_t n = 0; n < images * groups; ++n) {
        const ta_f32_line of = ta_f32_statistics(x, channels * length, epsilon);
        const int32_t first = n % groups * channels;
        for (int32_t c = first; c < first + channels; ++c, x += length, out += length) {
            const ta_f32_line line = {of.mean, of.factor * scale[c], offset[c]};
            ta_f32_moved(&line, x, length, out);
        }
    }
}

/* `images` of `channels` channels of `length` values, times the scale of the channel, plus its offset: known statistics
 * are in both. */
static inline void ta_f32_batch_norm(int32_t images, int32_t channels, int32_t length, const float *x,
                                     const float *scale, const float *offset, float *out)
{
    for (int32_t n = 0; n < images; ++n) {
        for (int32_t c = 0; c < channels; ++c, x += length, out += length) {
            const ta_f32_line line = {0.0f, scale[c], offset[c]};
            ta_f32_moved(&line, x, length, out);
        }
    }
}

#endif
