/* Softmax over the last axis and functions of one number, in float32. Results may be where the values are.
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

/* Functions of one number. */
typedef enum {
    TA_F32_ERF,
    TA_F32_EXP,
    TA_F32_LOG,
    TA_F32_TANH,
    TA_F32_SIGMOID,
    TA_F32_SILU,
    TA_F32_GELU,
    TA_F32_GELU_TANH
} ta_f32_function;

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

/* A function of eight values. */
TA_AVX2_PART __m256 ta_f32_eight_avx2(ta_f32_function function, __m256 x)
{
    const __m256 one = _mm256_set1_ps(1.0f), half = _mm256_set1_ps(0.5f);
    __m256 inner = x;
    switch (function) {
    case TA_F32_ERF:
        return ta_f32_erf_avx2(x);
    case TA_F32_EXP:
        return ta_f32_exp_any_avx2(x);
    case TA_F32_LOG:
        return ta_f32_log_avx2(x);
    case TA_F32_TANH:
        return ta_f32_tanh_avx2(x);
    case TA_F32_GELU:
        inner = ta_f32_erf_avx2(_mm256_mul_ps(x, _mm256_set1_ps(0.707106781f)));
        return _mm256_mul_ps(x, _mm256_add_ps(half, _mm256_mul_ps(inner, half)));
    case TA_F32_GELU_TANH:
        inner = _mm256_mul_ps(_mm256_mul_ps(_mm256_set1_ps(0.044715f), x), x);
        inner = _mm256_mul_ps(_mm256_mul_ps(_mm256_set1_ps(0.797884561f), x), _mm256_add_ps(one, inner));
        return _mm256_mul_ps(_mm256_mul_ps(half, x), _mm256_add_ps(one, ta_f32_tanh_avx2(inner)));
    case TA_F32_SILU:
    case TA_F32_SIGMOID:
    default:
        inner = ta_f32_exp_any_avx2(_mm256_sub_ps(_mm256_setzero_ps(), x));
        inner = _mm256_div_ps(one, _mm256_add_ps(one, inner));
        return function == TA_F32_SILU ? _mm256_mul_ps(x, inner) : inner;
    }
}

/* A function of `count` values, a multiple of eight. */
TA_AVX2 static inline void ta_f32_map_avx2(ta_f32_function function, const float *x, int32_t count, float *out)
{
    for (int32_t k = 0; k < count; k += 8) {
        _mm256_storeu_ps(out + k, ta_f32_eight_avx2(function, _mm256_loadu_ps(x + k)));
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

/* A function of one value. */
static inline float ta_f32_one(ta_f32_function function, float x)
{
    float inner = x;
    switch (function) {
    case TA_F32_ERF:
        return erff(x);
    case TA_F32_EXP:
        return expf(x);
    case TA_F32_LOG:
        return logf(x);
    case TA_F32_TANH:
        return tanhf(x);
    case TA_F32_GELU:
        inner = erff(x * 0.707106781f);
        return x * (0.5f + inner * 0.5f);
    case TA_F32_GELU_TANH:
        inner = 0.797884561f * x * (1.0f + 0.044715f * x * x);
        return 0.5f * x * (1.0f + tanhf(inner));
    case TA_F32_SILU:
    case TA_F32_SIGMOID:
    default:
        inner = 1.0f / (1.0f + expf(-x));
        return function == TA_F32_SILU ? x * inner : inner;
    }
}

/* A function of `count` values. */
static inline void ta_f32_map(ta_f32_function function, const float *x, int32_t count, float *out)
{
    int32_t k = 0;
#ifdef TA_KERNELS_X86
    if (TA_HAS_AVX2) {
        k = count / 8 * 8;
        ta_f32_map_avx2(function, x, k, out);
    }
#endif
    for (; k < count; ++k) {
        out[k] = ta_f32_one(function, x[k]);
    }
}

#endif
