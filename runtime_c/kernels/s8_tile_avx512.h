/* The tile for AVX-512 VNNI, of layouts whose `ta_s8_four_avx512` has four k of 16 outputs, from product `k` on, larger by
 * 128 each; where depths need not be multiples of four, `ta_s8_two_avx512` has the last two. `w` and `v` are the weights
 * of the first and of the second 8 outputs. Offsets are those of `s8_cells_x86.h`.
 *
 * Sums of 16 outputs are written where there are 8: the second 8 are those of the same weights. Eight rows are summed
 * where there are three, with whatever the panel has in rows beyond.
 */
#ifndef TA_KERNELS_S8_TILE_AVX512_H
#define TA_KERNELS_S8_TILE_AVX512_H

#ifdef TA_KERNELS_AVX512
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
    sum = _mm512_dpbusd_epi32(sum, ta_s8_four_avx512(w, v, k + at), \
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
#if TA_S8_DEPTH < 4
    if (k < depth) {
        b = _mm512_dpbusd_epi32(b, ta_s8_two_avx512(w, v, k), _mm512_set1_epi32(ta_s8_last(x + k)));
    }
#endif
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
        const __m512i weights = ta_s8_four_avx512(w, v, k);
        TA_S8_EACH_AVX512(TA_S8_FOUR_AVX512)
    }
#if TA_S8_DEPTH < 4
    if (k < depth) {
        const __m512i weights = ta_s8_two_avx512(w, v, k);
        TA_S8_EACH_AVX512(TA_S8_LAST_AVX512)
    }
#endif
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
