/* Matrices whose rows become columns, of float32 and of bytes: out[i][c][r] = x[i][r][c].
 *
 * Forms: portable, SSE2, which turns blocks of eight rows and eight columns in registers. Blocks follow each other along
 * the shorter side, so that a cache holds what is read and written for them until the next ones.
 */
#ifndef TA_KERNELS_TRANSPOSES_H
#define TA_KERNELS_TRANSPOSES_H

#include <stdint.h>

#include "kernels/x86.h"

#define TA_TURNED 8

typedef struct {
    int32_t count, rows, columns; /* matrices, and the sides of each of `x` */
} ta_matrices;

#ifdef TA_KERNELS_X86
/* Four rows and columns of elements of four bytes; rows are `from` bytes apart, and `to` afterwards. */
static inline void ta_turn_words_sse2(const unsigned char *x, int64_t from, unsigned char *out, int64_t to)
{
    const __m128i a = _mm_loadu_si128((const __m128i *)(const void *)x);
    const __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(x + from));
    const __m128i c = _mm_loadu_si128((const __m128i *)(const void *)(x + 2 * from));
    const __m128i d = _mm_loadu_si128((const __m128i *)(const void *)(x + 3 * from));
    const __m128i ab = _mm_unpacklo_epi32(a, b), cd = _mm_unpacklo_epi32(c, d);
    const __m128i ab_right = _mm_unpackhi_epi32(a, b), cd_right = _mm_unpackhi_epi32(c, d);
    _mm_storeu_si128((__m128i *)(void *)out, _mm_unpacklo_epi64(ab, cd));
    _mm_storeu_si128((__m128i *)(void *)(out + to), _mm_unpackhi_epi64(ab, cd));
    _mm_storeu_si128((__m128i *)(void *)(out + 2 * to), _mm_unpacklo_epi64(ab_right, cd_right));
    _mm_storeu_si128((__m128i *)(void *)(out + 3 * to), _mm_unpackhi_epi64(ab_right, cd_right));
}

/* Two columns of eight bytes each. */
static inline void ta_put_bytes_sse2(__m128i columns, unsigned char *out, int64_t to)
{
    _mm_storel_epi64((__m128i *)(void *)out, columns);
    _mm_storel_epi64((__m128i *)(void *)(out + to), _mm_unpackhi_epi64(columns, columns));
}

/* Eight bytes of two rows, those of each column together. */
static inline __m128i ta_pair_bytes_sse2(const unsigned char *x, int64_t from)
{
    const __m128i first = _mm_loadl_epi64((const __m128i *)(const void *)x);
    return _mm_unpacklo_epi8(first, _mm_loadl_epi64((const __m128i *)(const void *)(x + from)));
}

/* Eight rows and columns of bytes. */
static inline void ta_turn_bytes_sse2(const unsigned char *x, int64_t from, unsigned char *out, int64_t to)
{
    const __m128i ab = ta_pair_bytes_sse2(x, from), cd = ta_pair_bytes_sse2(x + 2 * from, from);
    const __m128i ef = ta_pair_bytes_sse2(x + 4 * from, from), gh = ta_pair_bytes_sse2(x + 6 * from, from);
    const __m128i above = _mm_unpacklo_epi16(ab, cd), above_right = _mm_unpackhi_epi16(ab, cd);
    const __m128i below = _mm_unpacklo_epi16(ef, gh), below_right = _mm_unpackhi_epi16(ef, gh);
    ta_put_bytes_sse2(_mm_unpacklo_epi32(above, below), out, to);
    ta_put_bytes_sse2(_mm_unpackhi_epi32(above, below), out + 2 * to, to);
    ta_put_bytes_sse2(_mm_unpacklo_epi32(above_right, below_right), out + 4 * to, to);
    ta_put_bytes_sse2(_mm_unpackhi_epi32(above_right, below_right), out + 6 * to, to);
}

/* A whole block of elements of `size` bytes, 1 or 4. */
static inline void ta_turn_block_sse2(int32_t size, const unsigned char *x, int64_t from, unsigned char *out,
                                      int64_t to)
{
    if (size == 1) {
        ta_turn_bytes_sse2(x, from, out, to);
    } else {
        ta_turn_words_sse2(x, from, out, to);
        ta_turn_words_sse2(x + 16, from, out + 4 * to, to);
        ta_turn_words_sse2(x + 4 * from, from, out + 16, to);
        ta_turn_words_sse2(x + 4 * from + 16, from, out + 4 * to + 16, to);
    }
}

/* All whole blocks of a matrix. */
static inline void ta_turn_sse2(const ta_matrices *all, int32_t size, const void *x, void *out)
{
    const int64_t from = (int64_t)all->columns * size, to = (int64_t)all->rows * size;
    const int32_t high = all->rows / TA_TURNED, wide = all->columns / TA_TURNED;
    for (int32_t along = 0; along < (high < wide ? wide : high); ++along) {
        for (int32_t across = 0; across < (high < wide ? high : wide); ++across) {
            const int64_t r = TA_TURNED * (high < wide ? across : along);
            const int64_t c = TA_TURNED * (high < wide ? along : across);
            ta_turn_block_sse2(size, (const unsigned char *)x + r * from + c * size, from,
                               (unsigned char *)out + c * to + r * size, to);
        }
    }
}
#endif

/* The rows and columns of a matrix from these on, and before `end`. */
static inline void ta_f32_exchange(const ta_matrices *all, int32_t row, int32_t end, int32_t column, const float *x,
                               float *out)
{
    for (int32_t c = column; c < all->columns; ++c) {
        for (int32_t r = row; r < end; ++r) {
            out[(int64_t)c * all->rows + r] = x[(int64_t)r * all->columns + c];
        }
    }
}

/* The same of bytes. */
static inline void ta_s8_exchange(const ta_matrices *all, int32_t row, int32_t end, int32_t column, const int8_t *x,
                              int8_t *out)
{
    for (int32_t c = column; c < all->columns; ++c) {
        for (int32_t r = row; r < end; ++r) {
            out[(int64_t)c * all->rows + r] = x[(int64_t)r * all->columns + c];
        }
    }
}

/* All matrices of float32. */
static inline void ta_f32_transpose(const ta_matrices *all, const float *x, float *out)
{
    const int64_t each = (int64_t)all->rows * all->columns;
    int32_t rows = 0, columns = 0; /* of blocks */
#ifdef TA_KERNELS_X86
    rows = all->rows / TA_TURNED * TA_TURNED;
    columns = all->columns / TA_TURNED * TA_TURNED;
#endif
    for (int32_t i = 0; i < all->count; ++i, x += each, out += each) {
#ifdef TA_KERNELS_X86
        ta_turn_sse2(all, 4, x, out);
#endif
        ta_f32_exchange(all, 0, rows, columns, x, out);
        ta_f32_exchange(all, rows, all->rows, 0, x, out);
    }
}

/* The same of bytes. */
static inline void ta_s8_transpose(const ta_matrices *all, const int8_t *x, int8_t *out)
{
    const int64_t each = (int64_t)all->rows * all->columns;
    int32_t rows = 0, columns = 0;
#ifdef TA_KERNELS_X86
    rows = all->rows / TA_TURNED * TA_TURNED;
    columns = all->columns / TA_TURNED * TA_TURNED;
#endif
    for (int32_t i = 0; i < all->count; ++i, x += each, out += each) {
#ifdef TA_KERNELS_X86
        ta_turn_sse2(all, 1, x, out);
#endif
        ta_s8_exchange(all, 0, rows, columns, x, out);
        ta_s8_exchange(all, rows, all->rows, 0, x, out);
    }
}

#endif
