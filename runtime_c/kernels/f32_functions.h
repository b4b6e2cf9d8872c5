/* Softmax over the last axis and erf, in float32. Results may be where the values are.
 *
 * Forms: portable, AVX2 with FMA, whose sums are added up in another order.
 */
#ifndef TA_KERNELS_F32_FUNCTIONS_H
#define TA_KERNELS_F32_FUNCTIONS_H

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "kernels/f32_exp.h"
#include "kernels/x86.h"

/* So many exponentials are added up before they join the sum: of many, small ones would vanish beside it. */
#define TA_F32_SUMMED 64

/* out[k] = exp((x[k] - greatest) * beta), for the greatest of `length` values; and their sum. */
static inline float ta_f32_exponentials(const float *x, int32_t length, float beta, float *out)
{
    float greatest = -FLT_MAX, total = 0.0f;
    for (int32_t k = 0; k < length; ++k) {
        greatest = greatest > x[k] ? greatest : x[k];
    }
    for (int32_t k = 0; k < length;) {
        const int32_t end = length - k > TA_F32_SUMMED ? k + TA_F32_SUMMED : length;
        float part = 0.0f;
        for (; k < end; ++k) {
            out[k] = expf((x[k] - greatest) * beta);
            part += out[k];
        }
        total += part;
    }
    return total;
}

#ifdef TA_KERNELS_X86
/* The same, where `length` is a multiple of eight. */
TA_AVX2 static inline float ta_f32_exponentials_avx2(const float *x, int32_t length, float beta, float *out)
{
    __m256 most = _mm256_set1_ps(-FLT_MAX), sums = _mm256_setzero_ps();
    float lanes[8], greatest = -FLT_MAX, total = 0.0f;
    for (int32_t k = 0; k < length; k += 8) {
        most = _mm256_max_ps(most, _mm256_loadu_ps(x + k));
    }
    _mm256_storeu_ps(lanes, most);
    for (int32_t lane = 0; lane < 8; ++lane) {
        greatest = greatest > lanes[lane] ? greatest : lanes[lane];
    }
    const __m256 top = _mm256_set1_ps(greatest), slope = _mm256_set1_ps(beta);
    for (int32_t k = 0; k < length;) {
        const int32_t end = length - k > 8 * TA_F32_SUMMED ? k + 8 * TA_F32_SUMMED : length;
        __m256 part = _mm256_setzero_ps();
        for (; k < end; k += 8) {
            const __m256 down = _mm256_mul_ps(_mm256_sub_ps(_mm256_loadu_ps(x + k), top), slope);
            const __m256 value = ta_f32_exp_avx2(down);
            _mm256_storeu_ps(out + k, value);
            part = _mm256_add_ps(part, value);
        }
        sums = _mm256_add_ps(sums, part);
    }
    _mm256_storeu_ps(lanes, sums);
    for (int32_t lane = 0; lane < 8; ++lane) {
        total += lanes[lane];
    }
    return total;
}

TA_AVX2 static inline void ta_f32_erf_of_avx2(const float *x, int32_t count, float *out)
{
    for (int32_t k = 0; k < count; k += 8) {
        _mm256_storeu_ps(out + k, ta_f32_erf_avx2(_mm256_loadu_ps(x + k)));
    }
}
#endif

/* `rows` rows of `length` values each. */
static inline void ta_f32_softmax(const float *x, int32_t rows, int32_t length, float beta, float *out)
{
    for (int32_t row = 0; row < rows; ++row, x += length, out += length) {
        float total;
#ifdef TA_KERNELS_X86
        if (TA_HAS_AVX2 && length % 8 == 0 && beta >= 0.0f) {
            total = ta_f32_exponentials_avx2(x, length, beta, out);
        } else
#endif
        {
            total = ta_f32_exponentials(x, length, beta, out);
        }
        const float share = 1.0f / total;
        for (int32_t k = 0; k < length; ++k) {
            out[k] *= share;
        }
    }
}

/* erf of `count` values. */
static inline void ta_f32_erf(const float *x, int32_t count, float *out)
{
    int32_t k = 0;
#ifdef TA_KERNELS_X86
    if (TA_HAS_AVX2) {
        k = count / 8 * 8;
        ta_f32_erf_of_avx2(x, k, out);
    }
#endif
    for (; k < count; ++k) {
        out[k] = erff(x[k]);
    }
}

#endif
