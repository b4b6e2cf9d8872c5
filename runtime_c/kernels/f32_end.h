/* The end of an output in float32: the activation, and the sum with another tensor after it. */
#ifndef TA_KERNELS_F32_END_H
#define TA_KERNELS_F32_END_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/x86.h"

/* The tensor that is added to the result, or NULL, and the activation after that. The result may be where the tensor
 * is. */
typedef struct {
    const float *other;
    float low, high;
} ta_f32_end;

/* A value that is not a number stays one. */
static inline float ta_f32_clamp(float value, float low, float high)
{
    return value < low ? low : value > high ? high : value;
}

/* The result of element `at` of the output, whose sum is `value`; `low` and `high` are of the activation before the
 * addition. */
static inline float ta_f32_ended(const ta_f32_end *end, float value, float low, float high, int64_t at)
{
    value = ta_f32_clamp(value, low, high);
    return end->other == NULL ? value : ta_f32_clamp(value + end->other[at], end->low, end->high);
}

#ifdef TA_KERNELS_X86
/* A value that is not a number stays one: it is the second operand. */
TA_AVX2_PART __m256 ta_f32_clamp_avx2(__m256 value, float low, float high)
{
    return _mm256_min_ps(_mm256_set1_ps(high), _mm256_max_ps(_mm256_set1_ps(low), value));
}

/* The results of eight elements from `at` on. */
TA_AVX2_PART __m256 ta_f32_ended_avx2(const ta_f32_end *end, __m256 value, float low, float high, int64_t at)
{
    value = ta_f32_clamp_avx2(value, low, high);
    if (end->other != NULL) {
        value = ta_f32_clamp_avx2(_mm256_add_ps(value, _mm256_loadu_ps(end->other + at)), end->low, end->high);
    }
    return value;
}

#ifdef TA_KERNELS_AVX512
/* The results of elements from `at` on: of the 16 those of the mask. */
TA_AVX512_PART __m512 ta_f32_ended_avx512(const ta_f32_end *end, __m512 value, float low, float high, int64_t at,
                                          __mmask16 mask)
{
    value = _mm512_min_ps(_mm512_set1_ps(high), _mm512_max_ps(_mm512_set1_ps(low), value));
    if (end->other != NULL) {
        value = _mm512_add_ps(value, _mm512_maskz_loadu_ps(mask, end->other + at));
        value = _mm512_min_ps(_mm512_set1_ps(end->high), _mm512_max_ps(_mm512_set1_ps(end->low), value));
    }
    return value;
}
#endif
#endif

#endif
