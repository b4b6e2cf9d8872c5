/* Sums of products of 8-bit values, weights packed in pairs: the layout `pairs`.
 *
 * The contract of a layout. A header such as this one defines one way to pack weights, and the operations below
 * for it: in portable C99, and in forms for instruction sets, which the preprocessor chooses. All forms compute
 * the same 32-bit sums to the bit. Drivers (`s8_conv2d.h`) are written in these operations alone and are
 * included after the layout; the compiler of models packs with the same numbers
 * (`target_arch/backends/plain_c/kernels/layout.py`). A translation unit includes one layout.
 *
 *   TA_S8_BLOCK    outputs that are adjacent in the packed weights
 *   TA_S8_DEPTH    consecutive k (products of one sum) that are adjacent
 *   TA_S8_UNIT     outputs of a block of the tile, where they are fewer than TA_S8_BLOCK: then blocks are adjacent
 *   TA_S8_ROWS     rows (pixels) that one call of the tile sums
 *   TA_S8_OUTPUTS  outputs that one call of the tile sums, a multiple of TA_S8_BLOCK
 *   TA_S8_PANEL    k that a panel holds of each row, a multiple of TA_S8_DEPTH
 *   TA_S8_RESIDENT bytes of packed weights that are used for all rows before the next ones are looked at
 *   TA_S8_MORE     cells behind a panel, which may be overwritten
 *   ta_s8_cell     what a panel holds of a value
 *   ta_s8_fill     copies values to a panel
 *   ta_s8_pad      puts one value into several cells of a panel
 *   ta_s8_tile     sums
 *   TA_S8_STRIDED  defined where `ta_s8_tile_in_place` sums rows that are any number of cells apart
 *   TA_S8_FUSED    defined where `s8_conv2d_fused.h` takes layers that `ta_s8_is_fused` names, in place of a driver
 *   TA_S8_WALKS    defined where `s8_conv2d_amx.h` takes layers that `ta_s8_is_walked` names, in place of a driver
 *   TA_S8_BEHIND   where MORE begins that filling does not overwrite; defined where `ta_s8_ready` is to be called
 *                  between filling rows and summing them
 *
 * The layout. For N outputs and K products each, weights are int8 w[N / 8][K / 2][8][2], both rounded up, zeros
 * where there is nothing: the 16 bytes of 8 outputs and 2 k are what one multiply-add of 16-bit pairs takes.
 * A sum is that of the stored values: the zero point of the input is part of the bias.
 *
 * Forms: portable, SSE2, AVX2, AVX-VNNI, AVX-512 VNNI and AMX (`s8_pairs_x86.h` has how they read these weights,
 * `s8_tile_vnni.h`, `s8_tile_avx512.h` and `s8_tile_amx.h` the tiles), NEON with and without dot product
 * (`s8_pairs_neon.h`), RISC-V V (`s8_pairs_rvv.h`). Where the compiler may not use the forms of x86
 * for the whole program but can compile functions for them (GCC and Clang on x86-64), all are there and the processor
 * is asked (`x86.h`). On x86 a panel holds bytes, as VNNI takes them; for the other forms they are made wider behind
 * it. With TA_KERNELS_PORTABLE the portable form alone is there.
 */
#ifndef TA_KERNELS_S8_PAIRS_H
#define TA_KERNELS_S8_PAIRS_H

#include <stdint.h>
#include <string.h>

#include "kernels/neon.h"
#include "kernels/rvv.h"
#include "kernels/x86.h"

#define TA_S8_LAYOUT "pairs"
#define TA_S8_BLOCK 8
#define TA_S8_DEPTH 2
#define TA_S8_OUTPUTS 16
#if defined(TA_KERNELS_X86)
#include "kernels/s8_cells_x86.h"
#elif defined(TA_KERNELS_NEON) || defined(TA_KERNELS_RVV)
#define TA_S8_ROWS 8
#define TA_S8_PANEL 2048
#define TA_S8_RESIDENT 131072
#define TA_S8_MORE 16
#else
#define TA_S8_ROWS 2
#define TA_S8_PANEL 128
#define TA_S8_RESIDENT 16384
#define TA_S8_MORE 0
#endif

#if defined(TA_KERNELS_NEON) || defined(TA_KERNELS_RVV)
#define TA_S8_BYTES /* cells are the values themselves */
typedef int8_t ta_s8_cell;
#elif !defined(TA_KERNELS_X86)
typedef int16_t ta_s8_cell;
#endif

/* Copies `count` values to the panel. */
static inline void ta_s8_fill(ta_s8_cell *panel, const int8_t *x, int32_t count)
{
#ifdef TA_S8_BYTES
    (void)memcpy(panel, x, (size_t)count);
#else
    for (int32_t k = 0; k < count; ++k) {
        panel[k] = x[k];
    }
#endif
}

/* Copies `count` values of type uint8, less 128 each, to the panel. */
static inline void ta_s8_fill_unsigned(ta_s8_cell *panel, const int8_t *x, int32_t count)
{
    ta_s8_fill(panel, x, count);
    for (int32_t k = 0; k < count; ++k) {
        panel[k] = (ta_s8_cell)((panel[k] & 0xff) - 128);
    }
}

/* Puts `value` into `count` cells. */
static inline void ta_s8_pad(ta_s8_cell *panel, int32_t value, int32_t count)
{
    for (int32_t k = 0; k < count; ++k) {
        panel[k] = (ta_s8_cell)value;
    }
}

#ifdef TA_KERNELS_X86
/* One row of a tile, 16 outputs; four accumulators, so that additions need not wait for one another. */
TA_AVX2 static inline void ta_s8_tile_1_avx2(int32_t *sums, const int32_t *start, const int8_t *x, int32_t depth,
                                             const int8_t *w0, const int8_t *w1)
{
    __m256i a0 = _mm256_loadu_si256((const __m256i *)start);
    __m256i a1 = _mm256_loadu_si256((const __m256i *)(start + 8));
    __m256i c0 = _mm256_setzero_si256(), c1 = c0;
    int32_t k = 0;
    for (; k + 4 <= depth; k += 4) {
        const __m256i one = _mm256_set1_epi32(ta_pair(x, k));
        const __m256i two = _mm256_set1_epi32(ta_pair(x, k + 2));
        const __m128i *p0 = (const __m128i *)(w0 + k * 8), *p1 = (const __m128i *)(w1 + k * 8);
        a0 = _mm256_add_epi32(a0, _mm256_madd_epi16(one, _mm256_cvtepi8_epi16(_mm_loadu_si128(p0))));
        a1 = _mm256_add_epi32(a1, _mm256_madd_epi16(one, _mm256_cvtepi8_epi16(_mm_loadu_si128(p1))));
        c0 = _mm256_add_epi32(c0, _mm256_madd_epi16(two, _mm256_cvtepi8_epi16(_mm_loadu_si128(p0 + 1))));
        c1 = _mm256_add_epi32(c1, _mm256_madd_epi16(two, _mm256_cvtepi8_epi16(_mm_loadu_si128(p1 + 1))));
    }
    if (k < depth) {
        const __m256i one = _mm256_set1_epi32(ta_pair(x, k));
        const __m128i *p0 = (const __m128i *)(w0 + k * 8), *p1 = (const __m128i *)(w1 + k * 8);
        a0 = _mm256_add_epi32(a0, _mm256_madd_epi16(one, _mm256_cvtepi8_epi16(_mm_loadu_si128(p0))));
        a1 = _mm256_add_epi32(a1, _mm256_madd_epi16(one, _mm256_cvtepi8_epi16(_mm_loadu_si128(p1))));
    }
    _mm256_storeu_si256((__m256i *)sums, _mm256_add_epi32(a0, c0));
    _mm256_storeu_si256((__m256i *)(sums + 8), _mm256_add_epi32(a1, c1));
}

/* Four rows of a tile, 16 outputs. */
TA_AVX2 static inline void ta_s8_tile_4_avx2(int32_t *sums, const int32_t *start, int32_t step, const int8_t *x,
                                             int32_t depth, const int8_t *w0, const int8_t *w1)
{
    const int8_t *x1 = x + TA_S8_WIDE, *x2 = x1 + TA_S8_WIDE, *x3 = x2 + TA_S8_WIDE;
    const int32_t *start1 = start + step, *start2 = start1 + step, *start3 = start2 + step;
    __m256i a0 = _mm256_loadu_si256((const __m256i *)start);
    __m256i b0 = _mm256_loadu_si256((const __m256i *)(start + 8));
    __m256i a1 = _mm256_loadu_si256((const __m256i *)start1);
    __m256i b1 = _mm256_loadu_si256((const __m256i *)(start1 + 8));
    __m256i a2 = _mm256_loadu_si256((const __m256i *)start2);
    __m256i b2 = _mm256_loadu_si256((const __m256i *)(start2 + 8));
    __m256i a3 = _mm256_loadu_si256((const __m256i *)start3);
    __m256i b3 = _mm256_loadu_si256((const __m256i *)(start3 + 8));
    for (int32_t k = 0; k < depth; k += 2) {
        const __m256i wa = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(w0 + k * 8)));
        const __m256i wb = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(w1 + k * 8)));
        __m256i pair = _mm256_set1_epi32(ta_pair(x, k));
        ta_s8_add_products_avx2(&a0, pair, wa);
        ta_s8_add_products_avx2(&b0, pair, wb);
        pair = _mm256_set1_epi32(ta_pair(x1, k));
        ta_s8_add_products_avx2(&a1, pair, wa);
        ta_s8_add_products_avx2(&b1, pair, wb);
        pair = _mm256_set1_epi32(ta_pair(x2, k));
        ta_s8_add_products_avx2(&a2, pair, wa);
        ta_s8_add_products_avx2(&b2, pair, wb);
        pair = _mm256_set1_epi32(ta_pair(x3, k));
        ta_s8_add_products_avx2(&a3, pair, wa);
        ta_s8_add_products_avx2(&b3, pair, wb);
    }
    _mm256_storeu_si256((__m256i *)sums, a0);
    _mm256_storeu_si256((__m256i *)(sums + 8), b0);
    _mm256_storeu_si256((__m256i *)(sums + 16), a1);
    _mm256_storeu_si256((__m256i *)(sums + 24), b1);
    _mm256_storeu_si256((__m256i *)(sums + 32), a2);
    _mm256_storeu_si256((__m256i *)(sums + 40), b2);
    _mm256_storeu_si256((__m256i *)(sums + 48), a3);
    _mm256_storeu_si256((__m256i *)(sums + 56), b3);
}

/* Four rows of a tile, 8 outputs. */
TA_AVX2 static inline void ta_s8_half_4_avx2(int32_t *sums, const int32_t *start, int32_t step, const int8_t *x,
                                             int32_t depth, const int8_t *w)
{
    const int8_t *x1 = x + TA_S8_WIDE, *x2 = x1 + TA_S8_WIDE, *x3 = x2 + TA_S8_WIDE;
    __m256i a0 = _mm256_loadu_si256((const __m256i *)start);
    __m256i a1 = _mm256_loadu_si256((const __m256i *)(start + step));
    __m256i a2 = _mm256_loadu_si256((const __m256i *)(start + 2 * step));
    __m256i a3 = _mm256_loadu_si256((const __m256i *)(start + 3 * step));
    for (int32_t k = 0; k < depth; k += 2) {
        const __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(w + k * 8)));
        a0 = _mm256_add_epi32(a0, _mm256_madd_epi16(_mm256_set1_epi32(ta_pair(x, k)), wide));
        a1 = _mm256_add_epi32(a1, _mm256_madd_epi16(_mm256_set1_epi32(ta_pair(x1, k)), wide));
        a2 = _mm256_add_epi32(a2, _mm256_madd_epi16(_mm256_set1_epi32(ta_pair(x2, k)), wide));
        a3 = _mm256_add_epi32(a3, _mm256_madd_epi16(_mm256_set1_epi32(ta_pair(x3, k)), wide));
    }
    _mm256_storeu_si256((__m256i *)sums, a0);
    _mm256_storeu_si256((__m256i *)(sums + 16), a1);
    _mm256_storeu_si256((__m256i *)(sums + 32), a2);
    _mm256_storeu_si256((__m256i *)(sums + 48), a3);
}

/* One row, 8 outputs. */
TA_AVX2 static inline void ta_s8_half_1_avx2(int32_t *sums, const int32_t *start, const int8_t *x, int32_t depth,
                                             const int8_t *w)
{
    __m256i a = _mm256_loadu_si256((const __m256i *)start);
    for (int32_t k = 0; k < depth; k += 2) {
        const __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(w + k * 8)));
        a = _mm256_add_epi32(a, _mm256_madd_epi16(_mm256_set1_epi32(ta_pair(x, k)), wide));
    }
    _mm256_storeu_si256((__m256i *)sums, a);
}

/* The tile, four rows at once and then one by one. */
TA_AVX2 static inline void ta_s8_tile_avx2(int32_t rows, int32_t *sums, const int32_t *start, int32_t step,
                                           const int8_t *wide, int32_t depth, const int8_t *w, int32_t apart,
                                           int32_t blocks)
{
    int32_t r = 0;
    for (; r + 4 <= rows; r += 4, sums += 4 * TA_S8_OUTPUTS, start += 4 * step, wide += 4 * TA_S8_WIDE) {
        if (blocks == 2) {
            ta_s8_tile_4_avx2(sums, start, step, wide, depth, w, w + apart);
        } else {
            ta_s8_half_4_avx2(sums, start, step, wide, depth, w);
        }
    }
    for (; r < rows; ++r, sums += TA_S8_OUTPUTS, start += step, wide += TA_S8_WIDE) {
        if (blocks == 2) {
            ta_s8_tile_1_avx2(sums, start, wide, depth, w, w + apart);
        } else {
            ta_s8_half_1_avx2(sums, start, wide, depth, w);
        }
    }
}

/* One row, 8 outputs. */
static inline void ta_s8_tile_sse2(int32_t *sums, const int32_t *start, const int8_t *x, int32_t depth,
                                   const int8_t *w)
{
    __m128i a = _mm_loadu_si128((const __m128i *)start), b = _mm_loadu_si128((const __m128i *)(start + 4));
    for (int32_t k = 0; k < depth; k += 2) {
        const __m128i packed = _mm_loadu_si128((const __m128i *)(w + k * 8));
        const __m128i pair = _mm_set1_epi32(ta_pair(x, k));
        a = _mm_add_epi32(a, _mm_madd_epi16(pair, _mm_srai_epi16(_mm_unpacklo_epi8(packed, packed), 8)));
        b = _mm_add_epi32(b, _mm_madd_epi16(pair, _mm_srai_epi16(_mm_unpackhi_epi8(packed, packed), 8)));
    }
    _mm_storeu_si128((__m128i *)sums, a);
    _mm_storeu_si128((__m128i *)(sums + 4), b);
}
#endif

#include "kernels/s8_pairs_neon.h"
#include "kernels/s8_pairs_rvv.h"
#include "kernels/s8_pairs_x86.h"

#if defined(TA_KERNELS_NEON) || defined(TA_KERNELS_RVV)
/* Up to TA_S8_ROWS rows, 8 outputs: four at once and then one by one. */
static inline void ta_s8_tile_vector(int32_t rows, int32_t *sums, const int32_t *start, int32_t step,
                                     const ta_s8_cell *panel, int32_t depth, const int8_t *w)
{
    int32_t r = 0;
    for (; r + 4 <= rows; r += 4) {
        ta_s8_tile_4_vector(sums + r * TA_S8_OUTPUTS, start + r * step, step, panel + r * TA_S8_PANEL, depth, w);
    }
    for (; r < rows; ++r) {
        ta_s8_tile_1_vector(sums + r * TA_S8_OUTPUTS, start + r * step, panel + r * TA_S8_PANEL, depth, w);
    }
}
#endif

/* One row, 8 outputs. */
static inline void ta_s8_tile_portable(int32_t *sums, const int32_t *start, const ta_s8_cell *x, int32_t depth,
                                       const int8_t *w)
{
    int32_t acc[TA_S8_BLOCK];
    (void)memcpy(acc, start, sizeof acc);
    for (int32_t k = 0; k < depth; k += 2) {
        const int32_t one = x[k], two = x[k + 1];
        for (int32_t n = 0; n < TA_S8_BLOCK; ++n) {
            acc[n] += one * w[2 * n] + two * w[2 * n + 1];
        }
        w += 2 * TA_S8_BLOCK;
    }
    (void)memcpy(sums, acc, sizeof acc);
}

/* sums[r][n] = start[r * step + n] + the sum over `depth` k of panel[r][k] * w[n][k], for `rows` rows (at most
 * TA_S8_ROWS; the panel has TA_S8_PANEL cells for each, `sums` TA_S8_OUTPUTS numbers) and `blocks` blocks of
 * outputs (at most TA_S8_OUTPUTS / TA_S8_BLOCK), `apart` bytes apart in the weights. `depth` is a multiple of
 * TA_S8_DEPTH. `start` may be `sums` with `step` TA_S8_OUTPUTS. With `narrow` 1 no weight is -128. */
static inline void ta_s8_tile(int32_t rows, int32_t *sums, const int32_t *start, int32_t step,
                              const ta_s8_cell *panel, int32_t depth, const int8_t *w, int32_t apart,
                              int32_t blocks, int narrow)
{
    (void)narrow;
#ifdef TA_KERNELS_AVX512
    if (TA_HAS_AVX512) {
        ta_s8_tile_avx512(rows, sums, start, step, panel, depth, w, apart, blocks);
        return;
    }
#endif
#ifdef TA_KERNELS_AVX_VNNI
    if (TA_HAS_AVX_VNNI) {
        ta_s8_tile_vnni(rows, sums, start, step, panel, depth, w, apart, blocks);
        return;
    }
#endif
#ifdef TA_KERNELS_X86
    if (TA_HAS_AVX2) {
        ta_s8_tile_avx2(rows, sums, start, step, panel + TA_S8_BEHIND, depth, w, apart, blocks);
        return;
    }
#endif
#if defined(TA_KERNELS_NEON) && !defined(TA_KERNELS_DOT)
    if (narrow) {
        ta_s8_narrow_neon(rows, sums, start, step, panel, depth, w, apart, blocks);
        return;
    }
#endif
#ifdef TA_KERNELS_RVV
    if (blocks == 2) {
        ta_s8_both_rvv(rows, sums, start, step, panel, depth, w, w + apart);
        return;
    }
#endif
#if defined(TA_KERNELS_NEON) || defined(TA_KERNELS_RVV)
    for (int32_t block = 0; block < blocks; ++block, sums += TA_S8_BLOCK, start += TA_S8_BLOCK, w += apart) {
        ta_s8_tile_vector(rows, sums, start, step, panel, depth, w);
    }
#else
    for (int32_t r = 0; r < rows; ++r) {
        for (int32_t block = 0; block < blocks; ++block) {
            int32_t *to = sums + r * TA_S8_OUTPUTS + block * TA_S8_BLOCK;
            const int32_t *from = start + r * step + block * TA_S8_BLOCK;
#ifdef TA_KERNELS_X86
            ta_s8_tile_sse2(to, from, panel + TA_S8_BEHIND + r * TA_S8_WIDE, depth, w + block * apart);
#else
            ta_s8_tile_portable(to, from, panel + r * TA_S8_PANEL, depth, w + block * apart);
#endif
        }
    }
#endif
}

#endif
