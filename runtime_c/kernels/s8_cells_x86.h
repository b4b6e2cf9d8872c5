/* What a panel of 8-bit values holds on x86, for the layouts that include this file: bytes, as VNNI and AMX take them,
 * and behind them what the tile of this processor needs beside: for SSE2 and AVX2 the same values in 16 bits, for VNNI
 * the offsets of rows.
 *
 * VPDPBUSD multiplies unsigned values by signed ones: weights are taken as if each were larger by 128, and 128 times the
 * sum of a row's cells is taken away from where its sums start. `ta_s8_offset_avx2` adds it up, once for all outputs.
 */
#ifndef TA_KERNELS_S8_CELLS_X86_H
#define TA_KERNELS_S8_CELLS_X86_H

#ifdef TA_KERNELS_X86
#define TA_S8_ROWS 8
#define TA_S8_PANEL 2080 /* so that rows of a panel do not compete for the same lines of a cache */
#define TA_S8_RESIDENT 131072
#define TA_S8_WIDE (2 * TA_S8_PANEL) /* bytes of a row of 16-bit cells */
#define TA_S8_IS_WIDE (!TA_HAS_AVX_VNNI && !TA_HAS_AVX512) /* whether the tile takes these */
#define TA_S8_BEHIND (TA_S8_ROWS * TA_S8_PANEL + 16)
#define TA_S8_MORE (16 + TA_S8_ROWS * TA_S8_WIDE + 32) /* they, or the offsets of rows */

#define TA_S8_BYTES
typedef int8_t ta_s8_cell;

/* Cells of `rows` rows as 16-bit values, 16 at once: up to 15 more are read and written. */
TA_AVX2 static inline void ta_s8_widen_avx2(ta_s8_cell *panel, int32_t rows, int32_t depth)
{
    int8_t *wide = panel + TA_S8_BEHIND;
    for (int32_t r = 0; r < rows; ++r, panel += TA_S8_PANEL, wide += TA_S8_WIDE) {
        for (int32_t k = 0; k < depth; k += 16) {
            const __m128i cells = _mm_loadu_si128((const __m128i *)(panel + k));
            _mm256_storeu_si256((__m256i *)(wide + 2 * k), _mm256_cvtepi8_epi16(cells));
        }
    }
}

static inline void ta_s8_widen_sse2(ta_s8_cell *panel, int32_t rows, int32_t depth)
{
    int8_t *wide = panel + TA_S8_BEHIND;
    for (int32_t r = 0; r < rows; ++r, panel += TA_S8_PANEL, wide += TA_S8_WIDE) {
        for (int32_t k = 0; k < depth; k += 16) {
            const __m128i cells = _mm_loadu_si128((const __m128i *)(panel + k));
            __m128i *const to = (__m128i *)(wide + 2 * k);
            _mm_storeu_si128(to, _mm_srai_epi16(_mm_unpacklo_epi8(cells, cells), 8));
            _mm_storeu_si128(to + 1, _mm_srai_epi16(_mm_unpackhi_epi8(cells, cells), 8));
        }
    }
}

/* Adds the products of 16-bit pairs to 8 sums. Not as two intrinsics: gcc keeps the sums before and after apart where there
 * are eight such vectors or more, and moves most of them in each turn, or adds products first and runs out of registers. */
TA_AVX2_PART void ta_s8_add_products_avx2(__m256i *sums, __m256i cells, __m256i weights)
{
    __m256i products;
    __asm__("vpmaddwd %3, %2, %1\n\t"
            "vpaddd %1, %0, %0"
            : "+x"(*sums), "=&x"(products)
            : "x"(cells), "x"(weights));
}

/* 16-bit cells k and k + 1 of a row. */
static inline int32_t ta_pair(const int8_t *wide, int32_t k)
{
    int32_t pair;
    (void)memcpy(&pair, wide + 2 * k, sizeof pair);
    return pair;
}

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
#endif

/* What the tile needs behind the panel, made from `depth` cells of `rows` rows. */
static inline void ta_s8_ready(ta_s8_cell *panel, int32_t rows, int32_t depth)
{
#if defined(TA_KERNELS_AVX_VNNI) || defined(TA_KERNELS_AVX512)
    if (TA_HAS_AVX_VNNI || TA_HAS_AVX512) {
        ta_s8_offset_avx2(panel, rows, depth);
        return;
    }
#endif
    if (TA_HAS_AVX2) {
        ta_s8_widen_avx2(panel, rows, depth);
    } else {
        ta_s8_widen_sse2(panel, rows, depth);
    }
}
#endif

#endif
