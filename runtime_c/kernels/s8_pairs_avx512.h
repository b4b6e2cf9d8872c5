/* The tile of `s8_pairs.h` for AVX-512 VNNI: 16 outputs in one vector, offsets as in `s8_pairs_vnni.h`, which includes
 * this file.
 *
 * Sums of 16 outputs are written where there are 8: the second 8 are those of the same weights. Eight rows are summed
 * where there are three, with whatever the panel has in rows beyond.
 */
#ifndef TA_KERNELS_S8_PAIRS_AVX512_H
#define TA_KERNELS_S8_PAIRS_AVX512_H

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
TA_AVX512_PART __m512i ta_s8_four_avx512(const int8_t *w, const int8_t *v)
{
    return _mm512_xor_si512(ta_s8_together_avx512(w, v), _mm512_set1_epi8(-128));
}

TA_AVX512_PART __m512i ta_s8_two_avx512(const int8_t *w, const int8_t *v)
{
    return _mm512_xor_si512(ta_s8_last_together_avx512(w, v), _mm512_set1_epi8(-128));
}

/* 16 sums of a row before its products. */
TA_AVX512_PART __m512i ta_s8_start_avx512(const int32_t *start, const ta_s8_cell *offset)
{
    return _mm512_sub_epi32(_mm512_loadu_si512(start), _mm512_set1_epi32(ta_s8_cells(offset)));
}

/* One row. Four accumulators, so that sums need not wait for one another. */
TA_AVX512_PART void ta_s8_tile_1_avx512(int32_t *sums, const int32_t *start, const ta_s8_cell *x,
                                        const ta_s8_cell *offset, int32_t depth, const int8_t *w, const int8_t *v)
{
    __m512i a = ta_s8_start_avx512(start, offset), b = _mm512_setzero_si512(), c = b, d = b;
    int32_t k = 0;
#define TA_S8_FOUR_AVX512(sum, at)                                                        \
    sum = _mm512_dpbusd_epi32(sum, ta_s8_four_avx512(w + 8 * (k + at), v + 8 * (k + at)), \
                              _mm512_set1_epi32(ta_s8_cells(x + k + at)))
    for (; k + 16 <= depth; k += 16) {
        TA_S8_FOUR_AVX512(a, 0);
        TA_S8_FOUR_AVX512(b, 4);
        TA_S8_FOUR_AVX512(c, 8);
        TA_S8_FOUR_AVX512(d, 12);
    }
    for (; k + 4 <= depth; k += 4) {
        TA_S8_FOUR_AVX512(a, 0);
    }
#undef TA_S8_FOUR_AVX512
    if (k < depth) {
        b = _mm512_dpbusd_epi32(b, ta_s8_two_avx512(w + 8 * k, v + 8 * k), _mm512_set1_epi32(ta_s8_last(x + k)));
    }
    _mm512_storeu_si512(sums, _mm512_add_epi32(_mm512_add_epi32(a, b), _mm512_add_epi32(c, d)));
}

/* Eight rows. */
TA_AVX512_PART void ta_s8_tile_8_avx512(int32_t *sums, const int32_t *start, int32_t step, const ta_s8_cell *x,
                                        const ta_s8_cell *offset, int32_t depth, const int8_t *w, const int8_t *v)
{
#define TA_S8_EACH_AVX512(row) row(0, a) row(1, b) row(2, c) row(3, d) row(4, e) row(5, f) row(6, g) row(7, h)
#define TA_S8_START_AVX512(r, sum) __m512i sum = ta_s8_start_avx512(start + r * step, offset + 4 * r);
#define TA_S8_FOUR_AVX512(r, sum) \
    sum = _mm512_dpbusd_epi32(sum, weights, _mm512_set1_epi32(ta_s8_cells(x + r * TA_S8_PANEL + k)));
#define TA_S8_LAST_AVX512(r, sum) \
    sum = _mm512_dpbusd_epi32(sum, weights, _mm512_set1_epi32(ta_s8_last(x + r * TA_S8_PANEL + k)));
#define TA_S8_STORE_AVX512(r, sum) _mm512_storeu_si512(sums + r * TA_S8_OUTPUTS, sum);
    TA_S8_EACH_AVX512(TA_S8_START_AVX512)
    int32_t k = 0;
    for (; k + 4 <= depth; k += 4) {
        const __m512i weights = ta_s8_four_avx512(w + 8 * k, v + 8 * k);
        TA_S8_EACH_AVX512(TA_S8_FOUR_AVX512)
    }
    if (k < depth) {
        const __m512i weights = ta_s8_two_avx512(w + 8 * k, v + 8 * k);
        TA_S8_EACH_AVX512(TA_S8_LAST_AVX512)
    }
    TA_S8_EACH_AVX512(TA_S8_STORE_AVX512)
#undef TA_S8_EACH_AVX512
#undef TA_S8_START_AVX512
#undef TA_S8_FOUR_AVX512
#undef TA_S8_LAST_AVX512
#undef TA_S8_STORE_AVX512
}

/* The tile. */
TA_AVX512 static inline void ta_s8_tile_avx512(int32_t rows, int32_t *sums, const int32_t *start, int32_t step,
                                               const ta_s8_cell *panel, int32_t depth, const int8_t *w,
                                               int32_t apart, int32_t blocks)
{
    const ta_s8_cell *const offset = panel + TA_S8_BEHIND;
    const int8_t *const v = blocks == 2 ? w + apart : w;
    if (rows > 2) {
        ta_s8_tile_8_avx512(sums, start, step, panel, offset, depth, w, v);
        return;
    }
    for (int32_t r = 0; r < rows; ++r) {
        ta_s8_tile_1_avx512(sums + r * TA_S8_OUTPUTS, start + r * step, panel + r * TA_S8_PANEL, offset + 4 * r, depth,
                            w, v);
    }
}
#endif

#endif
