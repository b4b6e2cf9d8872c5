/* The tile of `s8_pairs.h`, which includes this file, for AVX-VNNI, and what it shares with that for AVX-512 VNNI.
 *
 * VPDPBUSD takes four k of an output, unsigned values times signed ones: weights are taken as if each were larger by
 * 128, and 128 times the sum of a row's cells is taken away from where its sums start. `ta_s8_offset_avx2` adds it up,
 * once for all outputs, and leaves it behind the panel. Nothing saturates, and 32 bits wrap around: so the result is
 * that of the other forms.
 */
#ifndef TA_KERNELS_S8_PAIRS_VNNI_H
#define TA_KERNELS_S8_PAIRS_VNNI_H

#if defined(TA_KERNELS_AVX_VNNI) || defined(TA_KERNELS_AVX512)
/* 128 times the cells from `k` on of a row of `depth`, 32 at most, added to `sums`. */
TA_AVX2_PART __m256i ta_s8_added_avx2(__m256i sums, const ta_s8_cell *x, int32_t k, int32_t depth)
{
    const __m256i order = _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
                                           21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
    const int32_t left = depth - k < 32 ? depth - k : 32;
    const __m256i inside = _mm256_cmpgt_epi8(_mm256_set1_epi8((char)left), order);
    const __m256i cells = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(x + k)), inside);
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), cells);
    return _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(128)));
}

/* The offsets of `rows` rows, four at once: of rows that are not there they are not used. */
TA_AVX2 static inline void ta_s8_offset_avx2(ta_s8_cell *panel, int32_t rows, int32_t depth)
{
    for (int32_t r = 0; r < rows; r += 4) {
        const ta_s8_cell *x = panel + r * TA_S8_PANEL;
        __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
        for (int32_t k = 0; k < depth; k += 32) {
            a = ta_s8_added_avx2(a, x, k, depth);
            b = r + 1 < rows ? ta_s8_added_avx2(b, x + TA_S8_PANEL, k, depth) : b;
            c = r + 2 < rows ? ta_s8_added_avx2(c, x + 2 * TA_S8_PANEL, k, depth) : c;
            d = r + 3 < rows ? ta_s8_added_avx2(d, x + 3 * TA_S8_PANEL, k, depth) : d;
        }
        const __m256i four = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
        const __m128i all = _mm_add_epi32(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
        _mm_storeu_si128((__m128i *)(panel + TA_S8_BEHIND + 4 * r), all);
    }
}

/* Four cells of a row. */
static inline int32_t ta_s8_cells(const ta_s8_cell *x)
{
    int32_t four;
    (void)memcpy(&four, x, sizeof four);
    return four;
}

/* The last two. */
static inline int32_t ta_s8_last(const ta_s8_cell *x)
{
    uint16_t two;
    (void)memcpy(&two, x, sizeof two);
    return two;
}
#endif

#ifdef TA_KERNELS_AVX_VNNI
/* Four k of 8 outputs, larger by 128: those of two pairs, which are brought together. */
TA_AVX2_PART __m256i ta_s8_four_vnni(const int8_t *w)
{
    const __m256i pairs = _mm256_loadu_si256((const __m256i *)w);
    const __m256i order = _mm256_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15, 0, 1, 8, 9, 2, 3, 10,
                                           11, 4, 5, 12, 13, 6, 7, 14, 15);
    const __m256i fours = _mm256_shuffle_epi8(_mm256_permute4x64_epi64(pairs, 0xd8), order);
    return _mm256_xor_si256(fours, _mm256_set1_epi8(-128));
}

/* The last two k of 8 outputs, where the depth is no multiple of four: cells beyond are 0. */
TA_AVX2_PART __m256i ta_s8_two_vnni(const int8_t *w)
{
    const __m256i two = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)w));
    return _mm256_xor_si256(two, _mm256_set1_epi8(-128));
}

/* Four cells of a row for all outputs, and the last two. */
TA_AVX2_PART __m256i ta_s8_cells_vnni(const ta_s8_cell *x)
{
    return _mm256_set1_epi32(ta_s8_cells(x));
}

TA_AVX2_PART __m256i ta_s8_last_vnni(const ta_s8_cell *x)
{
    return _mm256_set1_epi32(ta_s8_last(x));
}

/* 8 sums of a row before its products. */
TA_AVX2_PART __m256i ta_s8_start_vnni(const int32_t *start, const ta_s8_cell *offset)
{
    return _mm256_sub_epi32(_mm256_loadu_si256((const __m256i *)start), ta_s8_cells_vnni(offset));
}

/* The products of cells `x` of a row with weights `wa` and, for `both`, `wb`. */
#define TA_S8_ROW_VNNI(a, b, x)                                \
    do {                                                       \
        const __m256i cells_ = x;                              \
        a = _mm256_dpbusd_avx_epi32(a, wa, cells_);            \
        b = both ? _mm256_dpbusd_avx_epi32(b, wb, cells_) : b; \
    } while (0)

/* One row; `v` are the weights of the second 8 outputs. Four accumulators, so that sums need not wait for one
 * another. */
TA_AVX_VNNI_PART void ta_s8_tile_1_vnni(int both, int32_t *sums, const int32_t *start, const ta_s8_cell *x,
                                        const ta_s8_cell *offset, int32_t depth, const int8_t *w, const int8_t *v)
{
    __m256i a = ta_s8_start_vnni(start, offset), b = both ? ta_s8_start_vnni(start + 8, offset) : a;
    __m256i c = _mm256_setzero_si256(), d = c;
    int32_t k = 0;
    for (; k + 8 <= depth; k += 8) {
        __m256i wa = ta_s8_four_vnni(w + 8 * k), wb = both ? ta_s8_four_vnni(v + 8 * k) : wa;
        TA_S8_ROW_VNNI(a, b, ta_s8_cells_vnni(x + k));
        wa = ta_s8_four_vnni(w + 8 * k + 32), wb = both ? ta_s8_four_vnni(v + 8 * k + 32) : wa;
        TA_S8_ROW_VNNI(c, d, ta_s8_cells_vnni(x + k + 4));
    }
    if (k + 4 <= depth) {
        const __m256i wa = ta_s8_four_vnni(w + 8 * k), wb = both ? ta_s8_four_vnni(v + 8 * k) : wa;
        TA_S8_ROW_VNNI(a, b, ta_s8_cells_vnni(x + k));
        k += 4;
    }
    if (k < depth) {
        const __m256i wa = ta_s8_two_vnni(w + 8 * k), wb = both ? ta_s8_two_vnni(v + 8 * k) : wa;
        TA_S8_ROW_VNNI(c, d, ta_s8_last_vnni(x + k));
    }
    _mm256_storeu_si256((__m256i *)sums, _mm256_add_epi32(a, c));
    if (both) {
        _mm256_storeu_si256((__m256i *)(sums + 8), _mm256_add_epi32(b, d));
    }
}

/* Four rows. */
TA_AVX_VNNI_PART void ta_s8_tile_4_vnni(int both, int32_t *sums, const int32_t *start, int32_t step,
                                        const ta_s8_cell *x, const ta_s8_cell *offset, int32_t depth, const int8_t *w,
                                        const int8_t *v)
{
    const ta_s8_cell *x1 = x + TA_S8_PANEL, *x2 = x1 + TA_S8_PANEL, *x3 = x2 + TA_S8_PANEL;
    const int32_t *start1 = start + step, *start2 = start1 + step, *start3 = start2 + step;
    __m256i a0 = ta_s8_start_vnni(start, offset), b0 = both ? ta_s8_start_vnni(start + 8, offset) : a0;
    __m256i a1 = ta_s8_start_vnni(start1, offset + 4), b1 = both ? ta_s8_start_vnni(start1 + 8, offset + 4) : a1;
    __m256i a2 = ta_s8_start_vnni(start2, offset + 8), b2 = both ? ta_s8_start_vnni(start2 + 8, offset + 8) : a2;
    __m256i a3 = ta_s8_start_vnni(start3, offset + 12), b3 = both ? ta_s8_start_vnni(start3 + 8, offset + 12) : a3;
    int32_t k = 0;
    for (; k + 4 <= depth; k += 4) {
        const __m256i wa = ta_s8_four_vnni(w + 8 * k), wb = both ? ta_s8_four_vnni(v + 8 * k) : wa;
        TA_S8_ROW_VNNI(a0, b0, ta_s8_cells_vnni(x + k));
        TA_S8_ROW_VNNI(a1, b1, ta_s8_cells_vnni(x1 + k));
        TA_S8_ROW_VNNI(a2, b2, ta_s8_cells_vnni(x2 + k));
        TA_S8_ROW_VNNI(a3, b3, ta_s8_cells_vnni(x3 + k));
    }
    if (k < depth) {
        const __m256i wa = ta_s8_two_vnni(w + 8 * k), wb = both ? ta_s8_two_vnni(v + 8 * k) : wa;
        TA_S8_ROW_VNNI(a0, b0, ta_s8_last_vnni(x + k));
        TA_S8_ROW_VNNI(a1, b1, ta_s8_last_vnni(x1 + k));
        TA_S8_ROW_VNNI(a2, b2, ta_s8_last_vnni(x2 + k));
        TA_S8_ROW_VNNI(a3, b3, ta_s8_last_vnni(x3 + k));
    }
    _mm256_storeu_si256((__m256i *)sums, a0);
    _mm256_storeu_si256((__m256i *)(sums + 16), a1);
    _mm256_storeu_si256((__m256i *)(sums + 32), a2);
    _mm256_storeu_si256((__m256i *)(sums + 48), a3);
    if (both) {
        _mm256_storeu_si256((__m256i *)(sums + 8), b0);
        _mm256_storeu_si256((__m256i *)(sums + 24), b1);
        _mm256_storeu_si256((__m256i *)(sums + 40), b2);
        _mm256_storeu_si256((__m256i *)(sums + 56), b3);
    }
}

/* All rows of one block of weights, or of two; `both` says which. */
TA_AVX_VNNI_PART void ta_s8_rows_vnni(int both, int32_t rows, int32_t *sums, const int32_t *start, int32_t step,
                                      const ta_s8_cell *panel, int32_t depth, const int8_t *w, const int8_t *v)
{
    const ta_s8_cell *offset = panel + TA_S8_BEHIND;
    int32_t r = 0;
    for (; r + 4 <= rows; r += 4, sums += 4 * TA_S8_OUTPUTS, start += 4 * step, panel += 4 * TA_S8_PANEL) {
        ta_s8_tile_4_vnni(both, sums, start, step, panel, offset + 4 * r, depth, w, v);
    }
    for (; r < rows; ++r, sums += TA_S8_OUTPUTS, start += step, panel += TA_S8_PANEL) {
        ta_s8_tile_1_vnni(both, sums, start, panel, offset + 4 * r, depth, w, v);
    }
}

/* The tile. */
TA_AVX_VNNI static inline void ta_s8_tile_vnni(int32_t rows, int32_t *sums, const int32_t *start, int32_t step,
                                               const ta_s8_cell *panel, int32_t depth, const int8_t *w, int32_t apart,
                                               int32_t blocks)
{
    if (blocks == 2) {
        ta_s8_rows_vnni(1, rows, sums, start, step, panel, depth, w, w + apart);
    } else {
        ta_s8_rows_vnni(0, rows, sums, start, step, panel, depth, w, w);
    }
}
#endif

#include "kernels/s8_pairs_avx512.h"

#endif
