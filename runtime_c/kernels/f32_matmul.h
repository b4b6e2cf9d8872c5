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

/* out[M][N] = a[M][K] times b[K][N], for `batch` of each, one after the other. */
static inline void ta_f32_matmul(int32_t batch, int32_t m, int32_t k, int32_t n, const float *a, const float *b,
                                 float *out)
{
    static const float zeros[TA_F32_BLOCK] = {0};
    const int32_t whole = n / TA_F32_BLOCK * TA_F32_BLOCK;
    float sums[TA_F32_ROWS * TA_F32_BLOCK];
    for (; batch > 0; --batch, b += (int64_t)k * n) {
        int32_t rows;
        for (int32_t left = m; left > 0; left -= rows, a += (int64_t)rows * k, out += (int64_t)rows * n) {
            rows = left < TA_F32_ROWS ? left : TA_F32_ROWS;
            for (int32_t i = 0; i < whole; i += TA_F32_BLOCK) {
                ta_f32_tile(rows, sums, zeros, 0, a, k, k, b + i, n);
                for (int32_t r = 0; r < rows; ++r) {
                    memcpy(out + (int64_t)r * n + i, sums + r * TA_F32_BLOCK, TA_F32_BLOCK * sizeof *sums);
                }
            }
            if (whole < n) {
                ta_f32_matmul_rest(rows, whole, n, k, a, b, out);
            }
        }
    }
}

#endif
