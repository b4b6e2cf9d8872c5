/* Products of two matrices of 8-bit values that are both computed at run time: sums of
 *
 *   (a[r][k] + offset[0]) * (b[k][n] + offset[1])
 *
 * become 8-bit values as in `s8_scale.h`, with one multiplier and shift for all. `flip` is 0x80 for what is stored as
 * uint8, and the offsets are those of the int8 that it becomes. The compiler of models has proven that sums take less
 * than 31 bits. Nothing is packed: rows of the second matrix are read where they are.
 *
 * Forms: portable and AVX2.
 */
#ifndef TA_KERNELS_S8_MATMUL_H
#define TA_KERNELS_S8_MATMUL_H

#include <stdint.h>
#include <string.h>

#include "kernels/s8_add.h"
#include "kernels/s8_scale.h"

#define TA_S8_MATMUL_ROWS 4
#define TA_S8_MATMUL_OUTPUTS 16
#define TA_S8_MATMUL_DEPTH 128 /* values of a row that are widened at once; even */

/* `rows` rows of the first matrix are multiplied by one second matrix; there are `batch` such pairs. */
typedef struct {
    int32_t batch, rows, depth, outputs;
    int32_t offset[2];
    int32_t flip[2];
} ta_s8_matmul;

/* Sums of up to 4 rows and 16 outputs, 16 numbers apart. */
TA_PART void ta_s8_matmul_portable(const ta_s8_matmul *of, int32_t rows, int32_t count, const int8_t *a,
                                   const int8_t *b, int32_t *sums)
{
    const int8_t flip0 = (int8_t)(of->flip[0] ? -128 : 0), flip1 = (int8_t)(of->flip[1] ? -128 : 0);
    for (int32_t r = 0; r < rows; ++r) {
        for (int32_t n = 0; n < count; ++n) {
            int32_t sum = 0;
            for (int32_t k = 0; k < of->depth; ++k) {
                const int32_t first = (int8_t)(a[(int64_t)r * of->depth + k] ^ flip0);
                const int32_t second = (int8_t)(b[(int64_t)k * of->outputs + n] ^ flip1);
                sum += (first + of->offset[0]) * (second + of->offset[1]);
            }
            sums[r * TA_S8_MATMUL_OUTPUTS + n] = sum;
        }
    }
}

#ifdef TA_KERNELS_X86
/* The first `length` values of rows that are `depth` apart, as 16 bits with their offset; 0 where there are none. */
TA_AVX2_PART void ta_s8_matmul_line_avx2(const ta_s8_matmul *of, int32_t rows, int32_t length, const int8_t *a,
                                         int16_t line[TA_S8_MATMUL_ROWS][TA_S8_MATMUL_DEPTH])
{
    const __m128i flip = _mm_set1_epi8((char)of->flip[0]);
    const __m256i offset = _mm256_set1_epi16((int16_t)of->offset[0]);
    for (int32_t r = 0; r < TA_S8_MATMUL_ROWS; ++r) {
        for (int32_t k = 0; k < length; k += 16) {
            const int32_t count = length - k < 16 ? length - k : 16;
            __m256i values = _mm256_setzero_si256();
            if (r < rows) {
                const __m128i bytes = ta_s8_load_avx2(a + (int64_t)r * of->depth + k, count);
                values = _mm256_add_epi16(_mm256_cvtepi8_epi16(_mm_xor_si128(bytes, flip)), offset);
            }
            _mm256_storeu_si256((__m256i *)(line[r] + k), values);
        }
        if (length & 1) {
            line[r][length] = 0;
        }
    }
}

/* As the portable form; all 4 rows are written. */
TA_AVX2 static inline void ta_s8_matmul_avx2(const ta_s8_matmul *of, int32_t rows, int32_t count, const int8_t *a,
                                             const int8_t *b, int32_t *sums)
{
    const __m128i flip = _mm_set1_epi8((char)of->flip[1]);
    const __m256i offset = _mm256_set1_epi16((int16_t)of->offset[1]);
    int16_t line[TA_S8_MATMUL_ROWS][TA_S8_MATMUL_DEPTH];
    __m256i low[TA_S8_MATMUL_ROWS], high[TA_S8_MATMUL_ROWS];
    for (int32_t r = 0; r < TA_S8_MATMUL_ROWS; ++r) {
        low[r] = high[r] = _mm256_setzero_si256();
    }
    for (int32_t k = 0; k < of->depth; k += TA_S8_MATMUL_DEPTH) {
        const int32_t left = of->depth - k, length = left < TA_S8_MATMUL_DEPTH ? left : TA_S8_MATMUL_DEPTH;
        ta_s8_matmul_line_avx2(of, rows, length, a + k, line);
        for (int32_t i = 0; i < length; i += 2) {
            const int8_t *even = b + (int64_t)(k + i) * of->outputs;
            const int8_t *odd = i + 1 < length ? even + of->outputs : even;
            const __m128i first = _mm_xor_si128(ta_s8_load_avx2(even, count), flip);
            const __m128i second = _mm_xor_si128(ta_s8_load_avx2(odd, count), flip);
            const __m256i x = _mm256_add_epi16(_mm256_cvtepi8_epi16(first), offset);
            const __m256i y = _mm256_add_epi16(_mm256_cvtepi8_epi16(second), offset);
            const __m256i near = _mm256_unpacklo_epi16(x, y), far = _mm256_unpackhi_epi16(x, y);
            for (int32_t r = 0; r < TA_S8_MATMUL_ROWS; ++r) {
                int32_t two;
                (void)memcpy(&two, line[r] + i, sizeof two);
                const __m256i pair = _mm256_set1_epi32(two);
                low[r] = _mm256_add_epi32(low[r], _mm256_madd_epi16(near, pair));
                high[r] = _mm256_add_epi32(high[r], _mm256_madd_epi16(far, pair));
            }
        }
    }
    for (int32_t r = 0; r < TA_S8_MATMUL_ROWS; ++r, sums += TA_S8_MATMUL_OUTPUTS) {
        _mm256_storeu_si256((__m256i *)sums, _mm256_permute2x128_si256(low[r], high[r], 0x20));
        _mm256_storeu_si256((__m256i *)(sums + 8), _mm256_permute2x128_si256(low[r], high[r], 0x31));
    }
}
#endif

static inline void ta_s8_matmul_sums(const ta_s8_matmul *of, int32_t rows, int32_t count, const int8_t *a,
                                     const int8_t *b, int32_t *sums)
{
#ifdef TA_KERNELS_X86
    if (TA_HAS_AVX2) {
        ta_s8_matmul_avx2(of, rows, count, a, b, sums);
        return;
    }
#endif
    ta_s8_matmul_portable(of, rows, count, a, b, sums);
}

/* All products; `multiplier` and `shift` are 16 equal ones. */
TA_PART void ta_s8_multiply(const ta_s8_matmul *of, int rounding, const ta_s8_scale *scale, const int32_t *multiplier,
                            const int8_t *shift, const int8_t *a, const int8_t *b, int8_t *out)
{
    int32_t sums[TA_S8_MATMUL_ROWS * TA_S8_MATMUL_OUTPUTS] TA_VECTORS;
    for (int32_t pair = 0; pair < of->batch; ++pair, b += (int64_t)of->depth * of->outputs) {
        for (int32_t r = 0, rows; r < of->rows; r += rows) {
            rows = of->rows - r < TA_S8_MATMUL_ROWS ? of->rows - r : TA_S8_MATMUL_ROWS;
            for (int32_t n = 0; n < of->outputs; n += TA_S8_MATMUL_OUTPUTS) {
                const int32_t left = of->outputs - n;
                const int32_t count = left < TA_S8_MATMUL_OUTPUTS ? left : TA_S8_MATMUL_OUTPUTS;
                const ta_s8_rows all = {multiplier, shift, rows, count, sums, TA_S8_MATMUL_OUTPUTS, out + n, of->outputs};
                ta_s8_matmul_sums(of, rows, count, a, b + n, sums);
                ta_s8_scale_rows(rounding, scale, &all);
            }
            a += (int64_t)rows * of->depth;
            out += (int64_t)rows * of->outputs;
        }
    }
}

#endif
