/* From 32-bit sums to 8-bit values: the requantizers of `target_arch/plan/arithmetic.py`, to the bit.
 *
 *   out[r][n] = clamp(scaled(sums[r][n], multiplier[n], shift[n]) + offset, low, high)
 *
 *   tflite        a = sum << max(-shift, 0), high = (a * multiplier + 2^30) >> 31,
 *                 high / 2^max(shift, 0), rounded half away from zero
 *   tflite_single (sum * multiplier + 2^(shift - 1)) >> shift, shift from 1 to 62
 *   onnx          sum * multiplier / 2^shift, rounded half to even, shift from 1 to 62
 *
 * `shift` counts to the right. The compiler of models has proven that |a| < 2^30, that what is scaled fits
 * 32 bits with its offset, and packs `multiplier` and `shift` in multiples of 16, so that forms may read whole
 * vectors. Where all outputs have one multiplier and shift there are 16 equal ones, and `each` is 0.
 *
 * Values of type uint8 are stored as int8 with the highest bit flipped (`flip` 0x80): `offset`, `low` and `high`
 * are less by 128 then.
 *
 * Forms: portable, AVX2, Arm DSP extension and MVE (`s8_scale_arm_m.h`), NEON
 * (`s8_scale_neon.h`), RISC-V V (`s8_scale_rvv.h`).
 */
#ifndef TA_KERNELS_S8_SCALE_H
#define TA_KERNELS_S8_SCALE_H

#include <stdint.h>
#include <string.h>

#include "kernels/arm_m.h"
#include "kernels/neon.h"
#include "kernels/rvv.h"
#include "kernels/x86.h"

#define TA_S8_TFLITE 0
#define TA_S8_TFLITE_SINGLE 1
#define TA_S8_ONNX 2

typedef struct {
    int32_t each; /* 1 where outputs have multipliers and shifts of their own, else 0 */
    int32_t offset;
    int32_t low;
    int32_t high;
    int32_t flip;
    int32_t least, most; /* of all shifts */
} ta_s8_scale;

/* `count` outputs (from 1 on; up to 16 but on Cortex-M) of every row: sums `from` numbers apart, results `to` bytes
 * apart, of which only `count` are written in each. They may take the place of the sums, as many bytes apart.
 * `multiplier` and `shift` are those of the first of these outputs.
 */
typedef struct {
    const int32_t *multiplier;
    const int8_t *shift;
    int32_t rows, count;
    const int32_t *sums;
    int32_t from;
    int8_t *out;
    int32_t to;
} ta_s8_rows;

/* value / 2^shift, rounded half to even; shift from 1 to 62. */
static inline int64_t ta_s8_half_even(int64_t value, int32_t shift)
{
    return (value + ((int64_t)1 << (shift - 1)) - 1 + ((value >> shift) & 1)) >> shift;
}

/* One sum, without offset and clamp. */
static inline int32_t ta_s8_scaled(int rounding, int32_t sum, int32_t multiplier, int32_t shift)
{
    if (rounding == TA_S8_TFLITE) {
        const int64_t a = shift < 0 ? sum * ((int64_t)1 << -shift) : sum;
        const int32_t high = (int32_t)((a * multiplier + (1 << 30)) >> 31);
        return shift <= 0 ? high : (high + ((int32_t)1 << (shift - 1)) - (high < 0)) >> shift;
    }
    const int64_t product = (int64_t)sum * multiplier;
    if (rounding == TA_S8_TFLITE_SINGLE) {
        return (int32_t)((product + ((int64_t)1 << (shift - 1))) >> shift);
    }
    return (int32_t)ta_s8_half_even(product, shift);
}

#ifdef TA_KERNELS_X86
/* The 64-bit products of 32-bit lanes: even lanes, then odd ones. */
#define TA_EVEN(a, b) _mm256_mul_epi32(a, b)
#define TA_ODD(a, b) _mm256_mul_epi32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32))

TA_AVX2 static inline __m256i ta_s8_tflite_avx2(__m256i sum, __m256i multiplier, __m256i shift)
{
    const __m256i zero = _mm256_setzero_si256(), one = _mm256_set1_epi32(1), half = _mm256_set1_epi64x(1 << 30);
    const __m256i a = _mm256_sllv_epi32(sum, _mm256_max_epi32(_mm256_sub_epi32(zero, shift), zero));
    const __m256i even = _mm256_srli_epi64(_mm256_add_epi64(TA_EVEN(a, multiplier), half), 31);
    const __m256i odd = _mm256_slli_epi64(_mm256_add_epi64(TA_ODD(a, multiplier), half), 1);
    const __m256i high = _mm256_blend_epi32(even, odd, 0xaa);
    const __m256i right = _mm256_max_epi32(shift, zero);
    const __m256i round = _mm256_sllv_epi32(one, _mm256_sub_epi32(right, one));
    const __m256i negative = _mm256_and_si256(_mm256_srai_epi32(high, 31), _mm256_cmpgt_epi32(right, zero));
    return _mm256_srav_epi32(_mm256_add_epi32(_mm256_add_epi32(high, round), negative), right);
}

/* The low halves of 64-bit values shifted to the right with their sign. */
TA_AVX2 static inline __m256i ta_s8_shifted_avx2(__m256i value, __m256i shift)
{
    const __m256i least = _mm256_set1_epi64x(INT64_MIN);
    return _mm256_sub_epi64(_mm256_srlv_epi64(_mm256_xor_si256(value, least), shift),
                            _mm256_srlv_epi64(least, shift));
}

TA_AVX2 static inline __m256i ta_s8_rounded_avx2(int rounding, __m256i product, __m256i shift)
{
    const __m256i one = _mm256_set1_epi64x(1);
    __m256i round = _mm256_sllv_epi64(one, _mm256_sub_epi64(shift, one));
    if (rounding == TA_S8_ONNX) {
        round = _mm256_add_epi64(_mm256_sub_epi64(round, one),
                                 _mm256_and_si256(_mm256_srlv_epi64(product, shift), one));
    }
    return ta_s8_shifted_avx2(_mm256_add_epi64(product, round), shift);
}

TA_AVX2 static inline __m256i ta_s8_scaled_avx2(int rounding, __m256i sum, __m256i multiplier, __m256i shift)
{
    if (rounding == TA_S8_TFLITE) {
        return ta_s8_tflite_avx2(sum, multiplier, shift);
    }
    const __m256i low = _mm256_set1_epi64x(0xffffffff);
    const __m256i even = ta_s8_rounded_avx2(rounding, TA_EVEN(sum, multiplier), _mm256_and_si256(shift, low));
    const __m256i odd = ta_s8_rounded_avx2(rounding, TA_ODD(sum, multiplier), _mm256_srli_epi64(shift, 32));
    return _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
}

/* 16 outputs of every row. */
TA_AVX2 static inline void ta_s8_scale_avx2(int rounding, const ta_s8_scale *scale, const ta_s8_rows *all)
{
    const __m256i m0 = _mm256_loadu_si256((const __m256i *)all->multiplier);
    const __m256i m1 = _mm256_loadu_si256((const __m256i *)(all->multiplier + 8));
    const __m128i shifts = _mm_loadu_si128((const __m128i *)all->shift);
    const __m256i s0 = _mm256_cvtepi8_epi32(shifts), s1 = _mm256_cvtepi8_epi32(_mm_srli_si128(shifts, 8));
    const __m256i offset = _mm256_set1_epi32(scale->offset);
    const __m128i low = _mm_set1_epi8((char)scale->low), high = _mm_set1_epi8((char)scale->high);
    const __m128i flip = _mm_set1_epi8((char)scale->flip);
    const int32_t *sums = all->sums;
    int8_t *out = all->out;
    for (int32_t r = all->rows; r > 0; --r, sums += all->from, out += all->to) {
        const __m256i a = _mm256_loadu_si256((const __m256i *)sums);
        const __m256i b = _mm256_loadu_si256((const __m256i *)(sums + 8));
        const __m256i short_ = _mm256_packs_epi32(
            _mm256_add_epi32(ta_s8_scaled_avx2(rounding, a, m0, s0), offset),
            _mm256_add_epi32(ta_s8_scaled_avx2(rounding, b, m1, s1), offset));
        const __m256i ordered = _mm256_permute4x64_epi64(short_, 0xd8);
        __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(ordered), _mm256_extracti128_si256(ordered, 1));
        bytes = _mm_max_epi8(_mm_min_epi8(bytes, high), low);
        _mm_storeu_si128((__m128i *)out, _mm_xor_si128(bytes, flip));
    }
}

/* The first 8 of them. */
TA_AVX2 static inline void ta_s8_scale_8_avx2(int rounding, const ta_s8_scale *scale, const ta_s8_rows *all)
{
    const __m256i m = _mm256_loadu_si256((const __m256i *)all->multiplier);
    const __m256i s = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)all->shift));
    const __m256i offset = _mm256_set1_epi32(scale->offset);
    const __m128i low = _mm_set1_epi8((char)scale->low), high = _mm_set1_epi8((char)scale->high);
    const __m128i flip = _mm_set1_epi8((char)scale->flip);
    const int32_t *sums = all->sums;
    int8_t *out = all->out;
    for (int32_t r = all->rows; r > 0; --r, sums += all->from, out += all->to) {
        const __m256i sum = _mm256_loadu_si256((const __m256i *)sums);
        const __m256i value = _mm256_add_epi32(ta_s8_scaled_avx2(rounding, sum, m, s), offset);
        const __m128i half = _mm_packs_epi32(_mm256_castsi256_si128(value), _mm256_extracti128_si256(value, 1));
        const __m128i bytes = _mm_max_epi8(_mm_min_epi8(_mm_packs_epi16(half, half), high), low);
        _mm_storel_epi64((__m128i *)out, _mm_xor_si128(bytes, flip));
    }
}

/* Any number of outputs up to 16. */
TA_AVX2 static inline void ta_s8_scale_some_avx2(int rounding, const ta_s8_scale *scale, const ta_s8_rows *all)
{
    for (int32_t r = 0; r < all->rows; ++r) {
        int8_t line[16];
        ta_s8_rows one = *all;
        one.rows = 1;
        one.sums += r * all->from;
        one.out = line;
        ta_s8_scale_avx2(rounding, scale, &one);
        memcpy(all->out + r * all->to, line, (size_t)all->count);
    }
}
#endif

#include "kernels/s8_scale_arm_m.h"
#include "kernels/s8_scale_neon.h"
#include "kernels/s8_scale_rvv.h"

/* Outputs of every row in portable C. */
TA_PART void ta_s8_scale_portable(int rounding, const ta_s8_scale *scale, const ta_s8_rows *all)
{
    for (int32_t r = 0; r < all->rows; ++r) {
        for (int32_t n = 0; n < all->count; ++n) {
            const int32_t own = n * scale->each, sum = all->sums[r * all->from + n];
            int32_t value = ta_s8_scaled(rounding, sum, all->multiplier[own], all->shift[own]) + scale->offset;
            value = value < scale->high ? value : scale->high;
            value = value > scale->low ? value : scale->low;
            all->out[r * all->to + n] = (int8_t)(value ^ scale->flip);
        }
    }
}

static inline void ta_s8_scale_rows(int rounding, const ta_s8_scale *scale, const ta_s8_rows *all)
{
#ifdef TA_KERNELS_X86
    if (TA_HAS_AVX2) {
        if (all->count == 16) {
            ta_s8_scale_avx2(rounding, scale, all);
        } else if (all->count == 8) {
            ta_s8_scale_8_avx2(rounding, scale, all);
        } else {
            ta_s8_scale_some_avx2(rounding, scale, all);
        }
        return;
    }
#endif
#if defined(TA_KERNELS_DSP) || defined(TA_KERNELS_MVE)
    if (ta_s8_scale_arm_m(rounding, scale, all)) {
        return;
    }
#endif
#ifdef TA_KERNELS_RVV
    if (ta_s8_scale_rvv(rounding, scale, all)) {
        return;
    }
#endif
#ifdef TA_KERNELS_NEON
    ta_s8_scale_neon(rounding, scale, all);
#else
    ta_s8_scale_portable(rounding, scale, all);
#endif
}

#endif
