/* How the tiles of x86 read weights in lines, and those for SSE2 and AVX2; `s8_lines.h` includes this file.
 *
 * Without VNNI a multiply-add of 16-bit pairs leaves two sums of each output, which are added last.
 */
#ifndef TA_KERNELS_S8_LINES_X86_H
#define TA_KERNELS_S8_LINES_X86_H

#ifdef TA_KERNELS_X86
/* 16-bit cells k to k + 3 of a row. */
static inline int64_t ta_s8_wide_four(const int8_t *wide, int32_t k)
{
    int64_t four;
    (void)memcpy(&four, wide + 2 * k, sizeof four);
    return four;
}

/* Four k of four outputs, as 16-bit values. */
TA_AVX2_PART __m256i ta_s8_wide_weights_avx2(const int8_t *w)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)w));
}

/* 8 sums of a row, of which `low` and `high` have two parts each. */
TA_AVX2_PART void ta_s8_joined_avx2(int32_t *sums, const int32_t *start, __m256i low, __m256i high)
{
    const __m256i parts = _mm256_permute4x64_epi64(_mm256_hadd_epi32(low, high), 0xd8);
    const __m256i first = _mm256_loadu_si256((const __m256i *)start);
    _mm256_storeu_si256((__m256i *)sums, _mm256_add_epi32(first, parts));
}

/* What cells k to k + 3 of a row add to the sums of 8 outputs, or with `both` 1, a constant, of 16. */
TA_AVX2_PART void ta_s8_added_line_avx2(int both, __m256i *sums, const int8_t *x, int32_t k, const int8_t *w)
{
    const __m256i four = _mm256_set1_epi64x(ta_s8_wide_four(x, k));
    w += k * TA_S8_BLOCK;
    ta_s8_add_products_avx2(&sums[0], four, ta_s8_wide_weights_avx2(w));
    ta_s8_add_products_avx2(&sums[1], four, ta_s8_wide_weights_avx2(w + 16));
    if (both) {
        ta_s8_add_products_avx2(&sums[2], four, ta_s8_wide_weights_avx2(w + TA_S8_HALF_LINE));
        ta_s8_add_products_avx2(&sums[3], four, ta_s8_wide_weights_avx2(w + TA_S8_HALF_LINE + 16));
    }
}

/* One row, as many outputs. */
TA_AVX2_PART void ta_s8_tile_1_avx2(int both, int32_t *sums, const int32_t *start, const int8_t *x, int32_t depth,
                                    const int8_t *w)
{
    __m256i parts[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256()};
    int32_t k = 0;
    for (; k + 16 <= depth; k += 16) {
        ta_s8_added_line_avx2(both, parts, x, k, w);
        ta_s8_added_line_avx2(both, parts, x, k + 4, w);
        ta_s8_added_line_avx2(both, parts, x, k + 8, w);
        ta_s8_added_line_avx2(both, parts, x, k + 12, w);
    }
    for (; k < depth; k += 4) {
        ta_s8_added_line_avx2(both, parts, x, k, w);
    }
    ta_s8_joined_avx2(sums, start, parts[0], parts[1]);
    if (both) {
        ta_s8_joined_avx2(sums + TA_S8_UNIT, start + TA_S8_UNIT, parts[2], parts[3]);
    }
}

/* What cells k to k + 3 of a row add to its sums of 8 outputs, which have two parts each. */
TA_AVX2_PART void ta_s8_add_row_avx2(__m256i *sums, const int8_t *x, int32_t k, __m256i low, __m256i high)
{
    const __m256i four = _mm256_set1_epi64x(ta_s8_wide_four(x, k));
    ta_s8_add_products_avx2(&sums[0], four, low);
    ta_s8_add_products_avx2(&sums[1], four, high);
}

/* The same for four rows. */
TA_AVX2_PART void ta_s8_add_rows_avx2(__m256i *sums, const int8_t *x, int32_t k, const int8_t *w)
{
    const __m256i low = ta_s8_wide_weights_avx2(w + k * TA_S8_BLOCK);
    const __m256i high = ta_s8_wide_weights_avx2(w + k * TA_S8_BLOCK + 16);
    ta_s8_add_row_avx2(&sums[0], x, k, low, high);
    ta_s8_add_row_avx2(&sums[2], x + TA_S8_WIDE, k, low, high);
    ta_s8_add_row_avx2(&sums[4], x + 2 * TA_S8_WIDE, k, low, high);
    ta_s8_add_row_avx2(&sums[6], x + 3 * TA_S8_WIDE, k, low, high);
}

/* Four rows, 8 outputs. */
TA_AVX2_PART void ta_s8_tile_4_avx2(int32_t *sums, const int32_t *start, int32_t step, const int8_t *x, int32_t depth,
                                    const int8_t *w)
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i parts[8] = {zero, zero, zero, zero, zero, zero, zero, zero};
    int32_t k = 0;
    for (; k + 8 <= depth; k += 8) {
        ta_s8_add_rows_avx2(parts, x, k, w);
        ta_s8_add_rows_avx2(parts, x, k + 4, w);
    }
    if (k < depth) {
        ta_s8_add_rows_avx2(parts, x, k, w);
    }
    ta_s8_joined_avx2(sums, start, parts[0], parts[1]);
    ta_s8_joined_avx2(sums + TA_S8_OUTPUTS, start + step, parts[2], parts[3]);
    ta_s8_joined_avx2(sums + 2 * TA_S8_OUTPUTS, start + 2 * step, parts[4], parts[5]);
    ta_s8_joined_avx2(sums + 3 * TA_S8_OUTPUTS, start + 3 * step, parts[6], parts[7]);
}

/* Rows of the tile, four and 8 outputs at once. */
TA_AVX2 static inline void ta_s8_tile_fours_avx2(int32_t rows, int32_t *sums, const int32_t *start, int32_t step,
                                                 const int8_t *wide, int32_t depth, const int8_t *w, int32_t blocks)
{
    for (int32_t r = 0; r < rows; r += 4, sums += 4 * TA_S8_OUTPUTS, start += 4 * step, wide += 4 * TA_S8_WIDE) {
        ta_s8_tile_4_avx2(sums, start, step, wide, depth, w);
        if (blocks == 2) {
            ta_s8_tile_4_avx2(sums + TA_S8_UNIT, start + TA_S8_UNIT, step, wide, depth, w + TA_S8_HALF_LINE);
        }
    }
}

/* Rows of the tile, one by one. */
TA_AVX2 static inline void ta_s8_tile_ones_avx2(int32_t rows, int32_t *sums, const int32_t *start, int32_t step,
                                                const int8_t *wide, int32_t depth, const int8_t *w, int32_t blocks)
{
    for (int32_t r = 0; r < rows; ++r, sums += TA_S8_OUTPUTS, start += step, wide += TA_S8_WIDE) {
        if (blocks == 2) {
            ta_s8_tile_1_avx2(1, sums, start, wide, depth, w);
        } else {
            ta_s8_tile_1_avx2(0, sums, start, wide, depth, w);
        }
    }
}

/* The tile. Its parts are functions, since a dense layer of one row would else wait for the registers of four. */
static inline void ta_s8_tile_avx2(int32_t rows, int32_t *sums, const int32_t *start, int32_t step,
                                   const int8_t *wide, int32_t depth, const int8_t *w, int32_t blocks)
{
    const int32_t fours = rows / 4 * 4;
    if (fours > 0) {
        ta_s8_tile_fours_avx2(fours, sums, start, step, wide, depth, w, blocks);
    }
    if (fours < rows) {
        ta_s8_tile_ones_avx2(rows - fours, sums + fours * TA_S8_OUTPUTS, start + fours * step, step,
                             wide + fours * TA_S8_WIDE, depth, w, blocks);
    }
}

/* Four sums, of which `a` and `b` have two parts each. */
static inline __m128i ta_s8_joined_sse2(__m128i a, __m128i b)
{
    const __m128 one = _mm_castsi128_ps(a), two = _mm_castsi128_ps(b);
    return _mm_add_epi32(_mm_castps_si128(_mm_shuffle_ps(one, two, 0x88)),
                         _mm_castps_si128(_mm_shuffle_ps(one, two, 0xdd)));
}

/* 8 outputs of all rows, one by one. */
static inline void ta_s8_tile_sse2(int32_t rows, int32_t *sums, const int32_t *start, int32_t step,
                                   const int8_t *wide, int32_t depth, const int8_t *w)
{
    for (int32_t r = 0; r < rows; ++r, sums += TA_S8_OUTPUTS, start += step, wide += TA_S8_WIDE) {
        __m128i a = _mm_setzero_si128(), b = a, c = a, d = a;
        for (int32_t k = 0; k < depth; k += 4) {
            const __m128i *const at = (const __m128i *)(w + k * TA_S8_BLOCK);
            const __m128i low = _mm_loadu_si128(at), high = _mm_loadu_si128(at + 1);
            const __m128i four = _mm_set1_epi64x(ta_s8_wide_four(wide, k));
            a = _mm_add_epi32(a, _mm_madd_epi16(four, _mm_srai_epi16(_mm_unpacklo_epi8(low, low), 8)));
            b = _mm_add_epi32(b, _mm_madd_epi16(four, _mm_srai_epi16(_mm_unpackhi_epi8(low, low), 8)));
            c = _mm_add_epi32(c, _mm_madd_epi16(four, _mm_srai_epi16(_mm_unpacklo_epi8(high, high), 8)));
            d = _mm_add_epi32(d, _mm_madd_epi16(four, _mm_srai_epi16(_mm_unpackhi_epi8(high, high), 8)));
        }
        const __m128i *const from = (const __m128i *)start;
        __m128i *const to = (__m128i *)sums;
        _mm_storeu_si128(to, _mm_add_epi32(_mm_loadu_si128(from), ta_s8_joined_sse2(a, b)));
        _mm_storeu_si128(to + 1, _mm_add_epi32(_mm_loadu_si128(from + 1), ta_s8_joined_sse2(c, d)));
    }
}
#endif

#ifdef TA_KERNELS_AVX_VNNI
/* Four k of 8 outputs, larger by 128. */
TA_AVX2_PART __m256i ta_s8_four_vnni(const int8_t *w, int32_t k)
{
    return _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(w + k * TA_S8_BLOCK)), _mm256_set1_epi8(-128));
}
#endif

#ifdef TA_KERNELS_AVX512
/* Four k of 16 outputs, larger by 128. */
TA_AVX512_PART __m512i ta_s8_four_avx512(const int8_t *w, const int8_t *v, int32_t k)
{
    (void)v;
    return _mm512_xor_si512(_mm512_loadu_si512(w + k * TA_S8_BLOCK), _mm512_set1_epi8(-128));
}
#endif

#include "kernels/s8_tile_amx.h"
#include "kernels/s8_tile_avx512.h"
#include "kernels/s8_tile_vnni.h"

#endif
