/* Products of two tensors of 8-bit values, place by place: sums of one product, which become 8-bit values as those of
 * `s8_conv2d.h` do. The result may be where an operand is.
 *
 * Forms: portable, AVX2; of the scaling those of `s8_scale.h`.
 */
#ifndef TA_KERNELS_S8_MUL_H
#define TA_KERNELS_S8_MUL_H

#include <stdint.h>

#include "kernels/s8_scale.h"

#define TA_S8_MUL_SIDE 16
#define TA_S8_MUL_ROWS 4
#define TA_S8_MUL_COUNT (TA_S8_MUL_SIDE * TA_S8_MUL_ROWS)

/* `rows` rows of `count` elements; the second operand has `rows` of them too, or one for all: `step` is what its rows are
 * apart. `flip` is 0x80 for what is stored as uint8, and the offsets are those of the int8 that it becomes. */
typedef struct {
    int32_t rows, count, step;
    int32_t offset[2], flip[2];
} ta_s8_mul;

#ifdef TA_KERNELS_X86
/* 16 values of operand `part` as 16-bit values. */
TA_AVX2_PART __m256i ta_s8_mul_load_avx2(const ta_s8_mul *of, int part, const int8_t *x)
{
    const __m128i bytes = _mm_xor_si128(_mm_loadu_si128((const __m128i *)x), _mm_set1_epi8((char)of->flip[part]));
    return _mm256_add_epi16(_mm256_cvtepi8_epi16(bytes), _mm256_set1_epi16((int16_t)of->offset[part]));
}

/* `count` products, a multiple of 16. */
TA_AVX2 static inline void ta_s8_products_avx2(const ta_s8_mul *of, const int8_t *a, const int8_t *b, int32_t count,
                                               int32_t *out)
{
    for (int32_t k = 0; k < count; k += 16) {
        const __m256i x = ta_s8_mul_load_avx2(of, 0, a + k), y = ta_s8_mul_load_avx2(of, 1, b + k);
        const __m256i low = _mm256_mullo_epi16(x, y), high = _mm256_mulhi_epi16(x, y);
        const __m256i near = _mm256_unpacklo_epi16(low, high), far = _mm256_unpackhi_epi16(low, high);
        _mm256_storeu_si256((__m256i *)(out + k), _mm256_permute2x128_si256(near, far, 0x20));
        _mm256_storeu_si256((__m256i *)(out + k + 8), _mm256_permute2x128_si256(near, far, 0x31));
    }
}
#endif

/* `count` products. */
static inline void ta_s8_products(const ta_s8_mul *of, const int8_t *a, const int8_t *b, int32_t count, int32_t *out)
{
    int32_t k = 0;
#ifdef TA_KERNELS_X86
    if (TA_HAS_AVX2) {
        k = count / 16 * 16;
        ta_s8_products_avx2(of, a, b, k, out);
    }
#endif
    for (; k < count; ++k) {
        const int32_t x = (int8_t)(a[k] ^ (of->flip[0] ? -128 : 0)) + of->offset[0];
        out[k] = x * ((int8_t)(b[k] ^ (of->flip[1] ? -128 : 0)) + of->offset[1]);
    }
}

/* All products; `multiplier` and `shift` are 16 equal ones. */
TA_PART void ta_s8_multiply_places(const ta_s8_mul *of, int rounding, const ta_s8_scale *scale,
                                   const int32_t *multiplier, const int8_t *shift, const int8_t *a, const int8_t *b,
                                   int8_t *out)
{
    int32_t sums[TA_S8_MUL_COUNT] TA_VECTORS;
    for (int32_t r = 0; r < of->rows; ++r, a += of->count, b += of->step, out += of->count) {
        for (int32_t k = 0, count; k < of->count; k += count) {
            const int32_t left = of->count - k, rows = left / TA_S8_MUL_SIDE;
            count = left < TA_S8_MUL_SIDE ? left : (rows < TA_S8_MUL_ROWS ? rows : TA_S8_MUL_ROWS) * TA_S8_MUL_SIDE;
            const int32_t side = count < TA_S8_MUL_SIDE ? count : TA_S8_MUL_SIDE;
            const ta_s8_rows all = {multiplier, shift, count / side, side, sums, TA_S8_MUL_SIDE, out + k, TA_S8_MUL_SIDE};
            ta_s8_products(of, a + k, b + k, count, sums);
            ta_s8_scale_rows(rounding, scale, &all);
        }
    }
}

#endif
