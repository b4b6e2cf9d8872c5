/* Products of two matrices of float32 that are both computed at run time, in the tiles of `f32_conv2d.h`: the second
 * one's rows are read where they are.
 */
#ifndef TA_KERNELS_F32_MATMUL_H
#define TA_KERNELS_F32_MATMUL_H

#include <stdint.h>
#include <string.h>

#include "kernels/f32_conv2d.h"

/* out[r][n] of `rows` rows, for the outputs from `n` on, which fill no block. */
static inline void ta_f32_matmul_rest(int32_t rows, int32_t n, int32_t outputs, int32_t depth, const float *a,
                                      const float *b, float *out)
{
    for (int32_t r = 0; r < rows; ++r, a += depth, out += outputs) {
        for (int32_t i = n; i < outputs; ++i) {
            float sum = 0.0f;
            for (int32_t k = 0; k < depth; ++k) {
                sum += a[k] * b[(int64_t)k * outputs + i];
            }
            out[i] = sum;
        }
    }
}

/* out[r][n] of `rows` rows, for the first `whole` outputs, which fill blocks. */
static inline void ta_f32_matmul_blocks(int32_t rows, int32_t whole, int32_t outputs, int32_t depth, const float *a,
                                        const float *b, float *out)
{
    static const float zeros[TA_F32_BLOCK] = {0};
    float sums[TA_F32_ROWS * TA_F32_BLOCK];
    for (int32_t i = 0; i < whole; i += TA_F32_BLOCK) {
        ta_f32_tile(rows, sums, zeros, 0, a, depth, depth, b + i, outputs);
        for (int32_t r = 0; r < rows; ++r) {
            (void)memcpy(out + (int64_t)r * outputs + i, sums + r * TA_F32_BLOCK, (size_t)TA_F32_BLOCK * sizeof *sums);
        }
    }
}

#ifdef TA_KERNELS_X86
/* As `ta_f32_matmul_blocks`, in the tiles of `f32_tile_x86.h`. */
static inline void ta_f32_matmul_blocks_x86(int32_t rows, int32_t whole, int32_t outputs, int32_t depth,
                                            const float *a, const float *b, float *out)
{
    static const float zeros[TA_F32_WIDE] = {0};
    float sums[TA_F32_TALLEST * TA_F32_WIDE] TA_VECTORS;
    const float *at[TA_F32_TALLEST];
    const ta_f32_values values = {at, 1, depth};
    for (int32_t r = 0; r < ta_f32_tall(); ++r) {
        at[r] = a + (int64_t)(r < rows ? r : 0) * depth;
    }
    for (int32_t i = 0, count; i < whole; i += count) {
        const int32_t left = (whole - i) / TA_F32_BLOCK, most = ta_f32_blocks();
        const ta_f32_weights weights = {b + i, outputs, TA_F32_BLOCK, left < most ? left : most};
        count = weights.blocks * TA_F32_BLOCK;
        ta_f32_tile_x86(rows, sums, zeros, 0, &values, &weights);
        for (int32_t r = 0; r < rows; ++r) {
            (void)memcpy(out + (int64_t)r * outputs + i, sums + r * TA_F32_WIDE, (size_t)count * sizeof *sums);
        }
    }
}
#endif

/* Rows that are computed at once. */
static inline int32_t ta_f32_matmul_rows(void)
{
#ifdef TA_KERNELS_X86
    if (TA_HAS_AVX2) {
        return ta_f32_tall();
    }
#endif
    return TA_F32_ROWS;
}

/* out[M][N] = a[M][K] times b[K][N], for `batch` of each, one after the other. */
static inline void ta_f32_matmul(int32_t batch, int32_t m, int32_t k, int32_t n, const float *a, const float *b,
                                 float *out)
{
    const int32_t whole = n / TA_F32_BLOCK * TA_F32_BLOCK, most = ta_f32_matmul_rows();
    for (; batch > 0; --batch, b += (int64_t)k * n) {
        int32_t rows;
        for (int32_t left = m; left > 0; left -= rows, a += (int64_t)rows * k, out += (int64_t)rows * n) {
            rows = left < most ? left : most;
#ifdef TA_KERNELS_X86
            if (TA_HAS_AVX2) {
                ta_f32_matmul_blocks_x86(rows, whole, n, k, a, b, out);
            } else
#endif
            {
                ta_f32_matmul_blocks(rows, whole, n, k, a, b, out);
            }
            if (whole < n) {
                ta_f32_matmul_rest(rows, whole, n, k, a, b, out);
            }
        }
    }
}

#endif
