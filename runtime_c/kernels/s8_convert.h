/* From float32 to 8-bit values of one grid and back.
 *
 * Forms: portable, AVX2, both with the same results to the bit.
 */
#ifndef TA_KERNELS_S8_CONVERT_H
#define TA_KERNELS_S8_CONVERT_H

#include <math.h>
#include <stdint.h>

#include "kernels/x86.h"

/* A grid of 8-bit values, whose real values are `(stored - zero) * scale`; `half_away` is 1 where of two values that are
 * equally near the one farther from 0 is taken, else the even one. */
typedef struct {
    float scale;
    int32_t zero, half_away;
} ta_s8_steps;

#ifdef TA_KERNELS_X86
/* Eight values as integers within `low` and `high`. */
TA_AVX2_PART __m256i ta_s8_steps_avx2(const ta_s8_steps *steps, const float *x, float low, float high)
{
    const __m256 real = _mm256_div_ps(_mm256_loadu_ps(x), _mm256_set1_ps(steps->scale));
    __m256 value = _mm256_round_ps(real, 8);
    if (steps->half_away) {
        const __m256 whole = _mm256_round_ps(real, 11), rest = _mm256_sub_ps(real, whole);
        const __m256 up = _mm256_cmp_ps(rest, _mm256_set1_ps(0.5f), 13);
        const __m256 down = _mm256_cmp_ps(rest, _mm256_set1_ps(-0.5f), 2), one = _mm256_set1_ps(1.0f);
        value = _mm256_sub_ps(_mm256_add_ps(whole, _mm256_and_ps(up, one)), _mm256_and_ps(down, one));
    }
    value = _mm256_add_ps(value, _mm256_set1_ps((float)steps->zero));
    value = _mm256_max_ps(_mm256_min_ps(value, _mm256_set1_ps(high)), _mm256_set1_ps(low));
    return _mm256_cvttps_epi32(value);
}

/* `count` values, a multiple of 16, of which `low` is the least: -128 or 0. */
TA_AVX2 static inline void ta_s8_quantize_avx2(const ta_s8_steps *steps, float low, const float *x, int32_t count,
                                               uint8_t *out)
{
    const int is_signed = low < 0.0f;
    for (int32_t k = 0; k < count; k += 16) {
        const __m256i a = ta_s8_steps_avx2(steps, x + k, low, low + 255.0f);
        const __m256i b = ta_s8_steps_avx2(steps, x + k + 8, low, low + 255.0f);
        const __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xd8);
        const __m128i first = _mm256_castsi256_si128(both), last = _mm256_extracti128_si256(both, 1);
        _mm_storeu_si128((__m128i *)(out + k),
                         is_signed ? _mm_packs_epi16(first, last) : _mm_packus_epi16(first, last));
    }
}

/* `count` values, a multiple of eight, which are int8 where `is_signed` is 1. */
TA_AVX2 static inline void ta_s8_dequantize_avx2(const ta_s8_steps *steps, int32_t is_signed, const uint8_t *x,
                                                 int32_t count, float *out)
{
    const __m256 scale = _mm256_set1_ps(steps->scale);
    const __m256i zero = _mm256_set1_epi32(steps->zero);
    for (int32_t k = 0; k < count; k += 8) {
        const __m128i stored = _mm_loadl_epi64((const __m128i *)(x + k));
        const __m256i wide = is_signed ? _mm256_cvtepi8_epi32(stored) : _mm256_cvtepu8_epi32(stored);
        const __m256 value = _mm256_cvtepi32_ps(_mm256_sub_epi32(wide, zero));
        _mm256_storeu_ps(out + k, _mm256_mul_ps(value, scale));
    }
}
#endif

/* A value within `low` and `high`; what is not a number is `high`. */
static inline float ta_s8_step(const ta_s8_steps *steps, float x, float low, float high)
{
    const float real = x / steps->scale;
    float value = (steps->half_away ? roundf(real) : nearbyintf(real)) + (float)steps->zero;
    value = value < high ? value : high;
    return value > low ? value : low;
}

/* `count` values as int8. */
static inline void ta_s8_quantize(const ta_s8_steps *steps, const float *x, int32_t count, int8_t *out)
{
    int32_t k = 0;
#ifdef TA_KERNELS_X86
    if (TA_HAS_AVX2) {
        k = count / 16 * 16;
        ta_s8_quantize_avx2(steps, -128.0f, x, k, (uint8_t *)out);
    }
#endif
    for (; k < count; ++k) {
        out[k] = (int8_t)ta_s8_step(steps, x[k], -128.0f, 127.0f);
    }
}

/* `count` values as uint8. */
static inline void ta_u8_quantize(const ta_s8_steps *steps, const float *x, int32_t count, uint8_t *out)
{
    int32_t k = 0;
#ifdef TA_KERNELS_X86
    if (TA_HAS_AVX2) {
        k = count / 16 * 16;
        ta_s8_quantize_avx2(steps, 0.0f, x, k, out);
    }
#endif
    for (; k < count; ++k) {
        out[k] = (uint8_t)ta_s8_step(steps, x[k], 0.0f, 255.0f);
    }
}

/* `count` values of int8 as float32. */
static inline void ta_s8_dequantize(const ta_s8_steps *steps, const int8_t *x, int32_t count, float *out)
{
    int32_t k = 0;
#ifdef TA_KERNELS_X86
    if (TA_HAS_AVX2) {
        k = count / 8 * 8;
        ta_s8_dequantize_avx2(steps, 1, (const uint8_t *)x, k, out);
    }
#endif
    for (; k < count; ++k) {
        int32_t step = (int32_t)x[k] - steps->zero;
        out[k] = (float)step * steps->scale;
    }
}

/* `count` values of uint8 as float32. */
static inline void ta_u8_dequantize(const ta_s8_steps *steps, const uint8_t *x, int32_t count, float *out)
{
    int32_t k = 0;
#ifdef TA_KERNELS_X86
    if (TA_HAS_AVX2) {
        k = count / 8 * 8;
        ta_s8_dequantize_avx2(steps, 0, x, k, out);
    }
#endif
    for (; k < count; ++k) {
        int32_t step = (int32_t)x[k] - steps->zero;
        out[k] = (float)step * steps->scale;
    }
}

#endif
