/* The least and the greatest of float32 values.
 *
 * Results are those of the definition to the bit: of zeros the last one, and after what is not a number those of the
 * values behind it.
 *
 * Forms: portable, AVX2, where 32 values are compared at once. Its extreme has the bits of the definition unless it is a
 * zero, or there is what is not a number: then values are looked at once more, one by one.
 */
#ifndef TA_KERNELS_F32_EXTREMES_H
#define TA_KERNELS_F32_EXTREMES_H

#include <float.h>
#include <stdint.h>

#include "kernels/x86.h"

/* Which of two values an extreme is, the second where they are equal. */
static inline float ta_f32_farther(int greatest, float one, float other)
{
    const int first = greatest ? one > other : one < other;
    return first ? one : other;
}

/* The extreme of `extreme` and `count` values. */
static inline float ta_f32_extreme_portable(int greatest, float extreme, const float *x, int32_t count)
{
    for (int32_t k = 0; k < count; ++k) {
        extreme = ta_f32_farther(greatest, extreme, x[k]);
    }
    return extreme;
}

#ifdef TA_KERNELS_X86
TA_AVX2_PART __m256 ta_f32_farther_avx2(int greatest, __m256 one, __m256 other)
{
    return greatest ? _mm256_max_ps(one, other) : _mm256_min_ps(one, other);
}

/* The extreme of `count` values, a multiple of 32; `known` becomes 0 where its bits may be others. */
TA_AVX2_PART float ta_f32_extreme_avx2(int greatest, const float *x, int32_t count, int *known)
{
    __m256 a = _mm256_set1_ps(greatest ? -FLT_MAX : FLT_MAX), b = a, c = a, d = a, others = _mm256_setzero_ps();
    float lanes[8];
    for (int32_t k = 0; k < count; k += 32) {
        const __m256 w = _mm256_loadu_ps(x + k), v = _mm256_loadu_ps(x + k + 8);
        const __m256 u = _mm256_loadu_ps(x + k + 16), t = _mm256_loadu_ps(x + k + 24);
        const __m256 unordered = _mm256_or_ps(_mm256_cmp_ps(w, v, 3), _mm256_cmp_ps(u, t, 3));
        others = _mm256_or_ps(others, unordered);
        a = ta_f32_farther_avx2(greatest, a, w);
        b = ta_f32_farther_avx2(greatest, b, v);
        c = ta_f32_farther_avx2(greatest, c, u);
        d = ta_f32_farther_avx2(greatest, d, t);
    }
    a = ta_f32_farther_avx2(greatest, ta_f32_farther_avx2(greatest, a, b), ta_f32_farther_avx2(greatest, c, d));
    _mm256_storeu_ps(lanes, a);
    const float extreme = ta_f32_extreme_portable(greatest, lanes[0], lanes + 1, 7);
    *known = _mm256_movemask_ps(others) == 0 && (extreme < 0.0f || extreme > 0.0f);
    return extreme;
}

TA_AVX2 static inline float ta_f32_least_avx2(const float *x, int32_t count, int *known)
{
    return ta_f32_extreme_avx2(0, x, count, known);
}

TA_AVX2 static inline float ta_f32_most_avx2(const float *x, int32_t count, int *known)
{
    return ta_f32_extreme_avx2(1, x, count, known);
}
#endif

static inline float ta_f32_extreme(int greatest, const float *x, int32_t count)
{
    const float start = greatest ? -FLT_MAX : FLT_MAX;
#ifdef TA_KERNELS_X86
    if (TA_HAS_AVX2) {
        const int32_t some = count / 32 * 32;
        int known = 0;
        const float extreme = greatest ? ta_f32_most_avx2(x, some, &known) : ta_f32_least_avx2(x, some, &known);
        if (known) {
            return ta_f32_extreme_portable(greatest, extreme, x + some, count - some);
        }
    }
#endif
    return ta_f32_extreme_portable(greatest, start, x, count);
}

/* The least of `count` values. */
static inline void ta_f32_least(const float *x, int32_t count, float *out)
{
    out[0] = ta_f32_extreme(0, x, count);
}

/* The greatest of `count` values. */
static inline void ta_f32_most(const float *x, int32_t count, float *out)
{
    out[0] = ta_f32_extreme(1, x, count);
}

#endif
