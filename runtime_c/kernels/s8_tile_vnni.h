/* The tile for AVX-VNNI, of layouts whose `ta_s8_four_vnni` has four k of 8 outputs, from output `w` and product `k` on,
 * larger by 128 each; where depths need not be multiples of four, `ta_s8_two_vnni` has the last two.
 *
 * VPDPBUSD takes four k of an output. Sums start with the offsets of `s8_cells_x86.h` taken away. Nothing saturates, and
 * 32 bits wrap around: so the result is that of the other forms.
 */
#ifndef TA_KERNELS_S8_TILE_VNNI_H
#define TA_KERNELS_S8_TILE_VNNI_H

#ifdef TA_KERNELS_AVX_VNNI
/* Four cells of a row for all outputs. */
TA_AVX2_PART __m256i ta_s8_cells_vnni(const ta_s8_cell *x)
{
    return _mm256_set1_epi32(ta_s8_cells(x));
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
        __m256i wa = ta_s8_four_vnni(w, k), wb = both ? ta_s8_four_vnni(v, k) : wa;
        TA_S8_ROW_VNNI(a, b, ta_s8_cells_vnni(x + k));
        wa = ta_s8_four_vnni(w, k + 4), wb = both ? ta_s8_four_vnni(v, k + 4) : wa;
        TA_S8_ROW_VNNI(c, d, ta_s8_cells_vnni(x + k + 4));
    }
    if (k + 4 <= depth) {
        const __m256i wa = ta_s8_four_vnni(w, k), wb = both ? ta_s8_four_vnni(v, k) : wa;
        TA_S8_ROW_VNNI(a, b, ta_s8_cells_vnni(x + k));
        k += 4;
    }
#if TA_S8_DEPTH < 4
    if (k < depth) {
        const __m256i wa = ta_s8_two_vnni(w, k), wb = both ? ta_s8_two_vnni(v, k) : wa;
        TA_S8_ROW_VNNI(c, d, _mm256_set1_epi32(ta_s8_last(x + k)));
    }
#endif
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
        const __m256i wa = ta_s8_four_vnni(w, k), wb = both ? ta_s8_four_vnni(v, k) : wa;
        TA_S8_ROW_VNNI(a0, b0, ta_s8_cells_vnni(x + k));
        TA_S8_ROW_VNNI(a1, b1, ta_s8_cells_vnni(x1 + k));
        TA_S8_ROW_VNNI(a2, b2, ta_s8_cells_vnni(x2 + k));
        TA_S8_ROW_VNNI(a3, b3, ta_s8_cells_vnni(x3 + k));
    }
#if TA_S8_DEPTH < 4
    if (k < depth) {
        const __m256i wa = ta_s8_two_vnni(w, k), wb = both ? ta_s8_two_vnni(v, k) : wa;
        TA_S8_ROW_VNNI(a0, b0, _mm256_set1_epi32(ta_s8_last(x + k)));
        TA_S8_ROW_VNNI(a1, b1, _mm256_set1_epi32(ta_s8_last(x1 + k)));
        TA_S8_ROW_VNNI(a2, b2, _mm256_set1_epi32(ta_s8_last(x2 + k)));
        TA_S8_ROW_VNNI(a3, b3, _mm256_set1_epi32(ta_s8_last(x3 + k)));
    }
#endif
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

#endif
