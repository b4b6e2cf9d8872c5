/* How the tiles of x86 read weights in pairs; `s8_pairs.h` includes this file. VNNI and AMX take four k of an output
 * together: those of two pairs are brought together, for VNNI in every tile, for AMX once for all rows.
 */
#ifndef TA_KERNELS_S8_PAIRS_X86_H
#define TA_KERNELS_S8_PAIRS_X86_H

#if defined(TA_KERNELS_AVX_VNNI) || defined(TA_KERNELS_AVX512)
/* The last two cells of a row. */
static inline int32_t ta_s8_last(const ta_s8_cell *x)
{
    uint16_t two;
    (void)memcpy(&two, x, sizeof two);
    return two;
}
#endif

#ifdef TA_KERNELS_AVX_VNNI
/* Four k of 8 outputs, larger by 128: those of two pairs, which are brought together. */
TA_AVX2_PART __m256i ta_s8_four_vnni(const int8_t *w, int32_t k)
{
    const __m256i pairs = _mm256_loadu_si256((const __m256i *)(w + 8 * k));
    const __m256i order = _mm256_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15, 0, 1, 8, 9, 2, 3, 10,
                                           11, 4, 5, 12, 13, 6, 7, 14, 15);
    const __m256i fours = _mm256_shuffle_epi8(_mm256_permute4x64_epi64(pairs, 0xd8), order);
    return _mm256_xor_si256(fours, _mm256_set1_epi8(-128));
}

/* The last two k of 8 outputs, where the depth is no multiple of four: cells beyond are 0. */
TA_AVX2_PART __m256i ta_s8_two_vnni(const int8_t *w, int32_t k)
{
    const __m256i two = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(w + 8 * k)));
    return _mm256_xor_si256(two, _mm256_set1_epi8(-128));
}
#endif

#ifdef TA_KERNELS_AVX512
/* 32 bytes of weights of each of two blocks. */
TA_AVX512_PART __m512i ta_s8_both_avx512(__m256i w, __m256i v)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(w), v, 1);
}

/* Four k of 16 outputs: those of two pairs, which are brought together. */
TA_AVX512_PART __m512i ta_s8_together_avx512(const int8_t *w, const int8_t *v)
{
    const __m512i order = _mm512_set_epi16(31, 23, 30, 22, 29, 21, 28, 20, 27, 19, 26, 18, 25, 17, 24, 16, 15, 7, 14, 6,
                                           13, 5, 12, 4, 11, 3, 10, 2, 9, 1, 8, 0);
    const __m512i pairs = ta_s8_both_avx512(_mm256_loadu_si256((const __m256i *)w),
                                            _mm256_loadu_si256((const __m256i *)v));
    return _mm512_permutexvar_epi16(order, pairs);
}

/* The last two k of 16 outputs, where the depth is no multiple of four: cells beyond are 0. */
TA_AVX512_PART __m512i ta_s8_last_together_avx512(const int8_t *w, const int8_t *v)
{
    return ta_s8_both_avx512(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)w)),
                             _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)v)));
}

/* The same two, larger by 128. */
TA_AVX512_PART __m512i ta_s8_four_avx512(const int8_t *w, const int8_t *v, int32_t k)
{
    return _mm512_xor_si512(ta_s8_together_avx512(w + 8 * k, v + 8 * k), _mm512_set1_epi8(-128));
}

TA_AVX512_PART __m512i ta_s8_two_avx512(const int8_t *w, const int8_t *v, int32_t k)
{
    return _mm512_xor_si512(ta_s8_last_together_avx512(w + 8 * k, v + 8 * k), _mm512_set1_epi8(-128));
}
#endif

#include "kernels/s8_tile_amx.h"
#include "kernels/s8_tile_avx512.h"
#include "kernels/s8_tile_vnni.h"

#ifdef TA_KERNELS_AMX
#define TA_S8_ARRANGES /* `ta_s8_arrange_amx` makes the lines that the tile of AMX takes */

/* Lines of 16 outputs, each of 64 bytes: four products of every output. */
TA_AMX_PART void ta_s8_arrange_amx(int8_t *lines, const int8_t *w, const int8_t *v, int32_t depth)
{
    const int32_t fours = depth / 4;
    int32_t line = 0;
    for (; line < fours; ++line) {
        _mm512_storeu_si512(lines + 64 * line, ta_s8_together_avx512(w + 32 * line, v + 32 * line));
    }
    if (4 * line < depth) {
        _mm512_storeu_si512(lines + 64 * line, ta_s8_last_together_avx512(w + 32 * line, v + 32 * line));
    }
}
#endif

#endif
