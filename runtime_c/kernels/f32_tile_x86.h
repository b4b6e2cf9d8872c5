/* Tiles of sums of products in float32 for AVX2 with FMA, and for AVX-512.
 *
 * Each row of a tile reads its values where they are, in segments of `depth` values: segment s of row r begins at
 * `at[s * rows + r]`. Sums of a row and the next are TA_F32_WIDE apart. They start from `start`, where those of a row
 * and the next are `from` values apart; `start` may be `sums`.
 */
#ifndef TA_KERNELS_F32_TILE_X86_H
#define TA_KERNELS_F32_TILE_X86_H

#include <stdint.h>

#include "kernels/x86.h"

#ifdef TA_KERNELS_X86
#define TA_F32_WIDE 32
#define TA_F32_TALL_AVX2 6
#define TA_F32_TALL_AVX512 8
#define TA_F32_TALLEST 8

/* The values of a tile's rows. */
typedef struct {
    const float *const *at;
    int32_t segments, depth;
} ta_f32_values;

/* The weights of a block of 16 outputs: those of a product and the next are `across` values apart. The second block,
 * where there are two, is `apart` values behind the first. */
typedef struct {
    const float *w;
    int64_t across, apart;
    int32_t blocks;
} ta_f32_weights;

/* Six rows, one block. */
TA_AVX2 static inline void ta_f32_tile_6_avx2(float *sums, const float *start, int32_t from, const ta_f32_values *x,
                                              const float *w, int64_t across)
{
#define TA_F32_EACH(row) row(0, a, b) row(1, c, d) row(2, e, f) row(3, g, h) row(4, i, j) row(5, l, m)
#define TA_F32_START(r, low, high) \
    __m256 low = _mm256_loadu_ps(start + r * from), high = _mm256_loadu_ps(start + r * from + 8);
#define TA_F32_PLACE(r, low, high) const float *const x##r = x->at[s * TA_F32_TALL_AVX2 + r];
#define TA_F32_PRODUCT(r, low, high)       \
    value = _mm256_broadcast_ss(x##r + k); \
    low = _mm256_fmadd_ps(value, p, low);  \
    high = _mm256_fmadd_ps(value, q, high);
#define TA_F32_STORE(r, low, high)                 \
    _mm256_storeu_ps(sums + r * TA_F32_WIDE, low); \
    _mm256_storeu_ps(sums + r * TA_F32_WIDE + 8, high);
    TA_F32_EACH(TA_F32_START)
    for (int32_t s = 0; s < x->segments; ++s) {
        TA_F32_EACH(TA_F32_PLACE)
        for (int32_t k = 0; k < x->depth; ++k, w += across) {
            const __m256 p = _mm256_loadu_ps(w), q = _mm256_loadu_ps(w + 8);
            __m256 value;
            TA_F32_EACH(TA_F32_PRODUCT)
        }
    }
    TA_F32_EACH(TA_F32_STORE)
#undef TA_F32_EACH
#undef TA_F32_START
#undef TA_F32_PLACE
#undef TA_F32_PRODUCT
#undef TA_F32_STORE
}

/* Row `r` of `rows`, one block; two sums of each output, so that additions need not wait for one another. */
TA_AVX2 static inline void ta_f32_tile_1_avx2(float *sums, const float *start, const ta_f32_values *x, int32_t r,
                                              const float *w, int64_t across)
{
    __m256 a = _mm256_loadu_ps(start), b = _mm256_loadu_ps(start + 8);
    __m256 c = _mm256_setzero_ps(), d = c;
    for (int32_t s = 0; s < x->segments; ++s) {
        const float *const values = x->at[s * TA_F32_TALL_AVX2 + r];
        int32_t k = 0;
        for (; k + 2 <= x->depth; k += 2, w += 2 * across) {
            const __m256 one = _mm256_broadcast_ss(values + k), two = _mm256_broadcast_ss(values + k + 1);
            a = _mm256_fmadd_ps(one, _mm256_loadu_ps(w), a);
            b = _mm256_fmadd_ps(one, _mm256_loadu_ps(w + 8), b);
            c = _mm256_fmadd_ps(two, _mm256_loadu_ps(w + across), c);
            d = _mm256_fmadd_ps(two, _mm256_loadu_ps(w + across + 8), d);
        }
        if (k < x->depth) {
            const __m256 one = _mm256_broadcast_ss(values + k);
            a = _mm256_fmadd_ps(one, _mm256_loadu_ps(w), a);
            b = _mm256_fmadd_ps(one, _mm256_loadu_ps(w + 8), b);
            w += across;
        }
    }
    _mm256_storeu_ps(sums, _mm256_add_ps(a, c));
    _mm256_storeu_ps(sums + 8, _mm256_add_ps(b, d));
}

#ifdef TA_KERNELS_AVX512
/* Eight rows, one or two blocks: a constant. */
TA_AVX512_PART void ta_f32_tile_8_avx512(float *sums, const float *start, int32_t from, const ta_f32_values *x,
                                         const ta_f32_weights *weights, int32_t blocks)
{
    const int64_t across = weights->across, apart = weights->apart;
    const float *w = weights->w;
#define TA_F32_EACH(row)                                                           \
    row(0, a, b) row(1, c, d) row(2, e, f) row(3, g, h) row(4, i, j) row(5, l, m) \
        row(6, n, o) row(7, u, v)
#define TA_F32_START(r, one, two)                   \
    __m512 one = _mm512_loadu_ps(start + r * from); \
    __m512 two = blocks == 2 ? _mm512_loadu_ps(start + r * from + 16) : one;
#define TA_F32_PLACE(r, one, two) const float *const x##r = x->at[s * TA_F32_TALL_AVX512 + r];
#define TA_F32_PRODUCT(r, one, two)           \
    value = _mm512_set1_ps(x##r[k]);          \
    one = _mm512_fmadd_ps(value, p, one);     \
    if (blocks == 2) {                        \
        two = _mm512_fmadd_ps(value, q, two); \
    }
#define TA_F32_STORE(r, one, two)                           \
    _mm512_storeu_ps(sums + r * TA_F32_WIDE, one);          \
    if (blocks == 2) {                                      \
        _mm512_storeu_ps(sums + r * TA_F32_WIDE + 16, two); \
    }
    TA_F32_EACH(TA_F32_START)
    for (int32_t s = 0; s < x->segments; ++s) {
        TA_F32_EACH(TA_F32_PLACE)
        for (int32_t k = 0; k < x->depth; ++k, w += across) {
            const __m512 p = _mm512_loadu_ps(w), q = blocks == 2 ? _mm512_loadu_ps(w + apart) : p;
            __m512 value;
            TA_F32_EACH(TA_F32_PRODUCT)
        }
    }
    TA_F32_EACH(TA_F32_STORE)
#undef TA_F32_EACH
#undef TA_F32_START
#undef TA_F32_PLACE
#undef TA_F32_PRODUCT
#undef TA_F32_STORE
}

/* Row `r`, one or two blocks: a constant. Two sums of each output, as above. */
TA_AVX512_PART void ta_f32_tile_1_avx512(float *sums, const float *start, const ta_f32_values *x, int32_t r,
                                         const ta_f32_weights *weights, int32_t blocks)
{
    const int64_t across = weights->across, apart = weights->apart;
    const float *w = weights->w;
    __m512 a = _mm512_loadu_ps(start), b = blocks == 2 ? _mm512_loadu_ps(start + 16) : a;
    __m512 c = _mm512_setzero_ps(), d = c;
    for (int32_t s = 0; s < x->segments; ++s) {
        const float *const values = x->at[s * TA_F32_TALL_AVX512 + r];
        for (int32_t k = 0; k < x->depth; ++k, w += across) {
            const __m512 value = _mm512_set1_ps(values[k]), spare = a, other = b;
            a = _mm512_fmadd_ps(value, _mm512_loadu_ps(w), c);
            c = spare;
            if (blocks == 2) {
                b = _mm512_fmadd_ps(value, _mm512_loadu_ps(w + apart), d);
                d = other;
            }
        }
    }
    _mm512_storeu_ps(sums, _mm512_add_ps(a, c));
    if (blocks == 2) {
        _mm512_storeu_ps(sums + 16, _mm512_add_ps(b, d));
    }
}

TA_AVX512 static inline void ta_f32_tile_avx512(int32_t rows, float *sums, const float *start, int32_t from,
                                                const ta_f32_values *x, const ta_f32_weights *weights)
{
    if (rows > 3 && weights->blocks == 2) {
        ta_f32_tile_8_avx512(sums, start, from, x, weights, 2);
    } else if (rows > 3) {
        ta_f32_tile_8_avx512(sums, start, from, x, weights, 1);
    } else {
        for (int32_t r = 0; r < rows; ++r, sums += TA_F32_WIDE, start += from) {
            if (weights->blocks == 2) {
                ta_f32_tile_1_avx512(sums, start, x, r, weights, 2);
            } else {
                ta_f32_tile_1_avx512(sums, start, x, r, weights, 1);
            }
        }
    }
}
#endif

/* Sums of the first `rows` rows: what `sums` has of others is of no use. All rows have values. */
static inline void ta_f32_tile_x86(int32_t rows, float *sums, const float *start, int32_t from,
                                   const ta_f32_values *x, const ta_f32_weights *weights)
{
#ifdef TA_KERNELS_AVX512
    if (TA_HAS_AVX512) {
        ta_f32_tile_avx512(rows, sums, start, from, x, weights);
        return;
    }
#endif
    if (rows > 3) {
        ta_f32_tile_6_avx2(sums, start, from, x, weights->w, weights->across);
        return;
    }
    for (int32_t r = 0; r < rows; ++r) {
        ta_f32_tile_1_avx2(sums + r * TA_F32_WIDE, start + r * from, x, r, weights->w, weights->across);
    }
}

/* Rows and blocks of outputs of a tile. */
static inline int32_t ta_f32_tall(void)
{
    return TA_HAS_AVX512 ? TA_F32_TALL_AVX512 : TA_F32_TALL_AVX2;
}

static inline int32_t ta_f32_blocks(void)
{
    return TA_HAS_AVX512 ? 2 : 1;
}
#endif

#endif
