/* The greatest value of each window of float32 images, NHWC.
 *
 * Results are those of the definition to the bit: of a window whose values are all below, -FLT_MAX.
 *
 * Forms: portable, AVX2, where the greatest values of 32 channels stay in registers.
 */
#ifndef TA_KERNELS_F32_POOL_H
#define TA_KERNELS_F32_POOL_H

#include <float.h>
#include <stdint.h>

#include "kernels/f32_end.h"
#include "kernels/x86.h"

typedef struct {
    int32_t batch, height, width, channels; /* of the image */
    int32_t out_height, out_width;
    int32_t kernel_height, kernel_width;
    int32_t stride_y, stride_x;
    int32_t top, left; /* padding before the first row and column */
    float low, high;   /* the activation: the least and the greatest result */
} ta_f32_pool;

/* The part of a window that is in the image: its rows and columns, and how far a value is from that of the row below. */
typedef struct {
    int32_t rows, columns;
    int64_t line;
} ta_f32_seen;

#ifdef TA_KERNELS_X86
/* Eight channels of a window, the first at `x`; 32 where `four` is 1. */
TA_AVX2_PART void ta_f32_greatest_avx2(const ta_f32_pool *pool, const ta_f32_seen *seen, int32_t four, const float *x,
                                       float *out)
{
    __m256 a = _mm256_set1_ps(-FLT_MAX), b = a, c = a, d = a;
    for (int32_t row = 0; row < seen->rows; ++row, x += seen->line) {
        const float *at = x;
        for (int32_t column = 0; column < seen->columns; ++column, at += pool->channels) {
            a = _mm256_max_ps(a, _mm256_loadu_ps(at));
            if (four) {
                b = _mm256_max_ps(b, _mm256_loadu_ps(at + 8));
                c = _mm256_max_ps(c, _mm256_loadu_ps(at + 16));
                d = _mm256_max_ps(d, _mm256_loadu_ps(at + 24));
            }
        }
    }
    _mm256_storeu_ps(out, ta_f32_clamp_avx2(a, pool->low, pool->high));
    if (four) {
        _mm256_storeu_ps(out + 8, ta_f32_clamp_avx2(b, pool->low, pool->high));
        _mm256_storeu_ps(out + 16, ta_f32_clamp_avx2(c, pool->low, pool->high));
        _mm256_storeu_ps(out + 24, ta_f32_clamp_avx2(d, pool->low, pool->high));
    }
}

/* The first `count` channels of a window, a multiple of eight. */
TA_AVX2 static inline void ta_f32_window_avx2(const ta_f32_pool *pool, const ta_f32_seen *seen, int32_t count,
                                              const float *x, float *out)
{
    int32_t c = 0;
    for (; c + 32 <= count; c += 32) {
        ta_f32_greatest_avx2(pool, seen, 1, x + c, out + c);
    }
    for (; c < count; c += 8) {
        ta_f32_greatest_avx2(pool, seen, 0, x + c, out + c);
    }
}
#endif

/* All channels of a window. */
static inline void ta_f32_greatest(const ta_f32_pool *pool, const ta_f32_seen *seen, const float *x, float *out)
{
    int32_t c = 0;
#ifdef TA_KERNELS_X86
    if (TA_HAS_AVX2) {
        c = pool->channels / 8 * 8;
        ta_f32_window_avx2(pool, seen, c, x, out);
    }
#endif
    for (; c < pool->channels; ++c) {
        float greatest = -FLT_MAX;
        for (int32_t row = 0; row < seen->rows; ++row) {
            const float *at = x + row * seen->line + c;
            for (int32_t column = 0; column < seen->columns; ++column, at += pool->channels) {
                greatest = greatest > *at ? greatest : *at;
            }
        }
        out[c] = ta_f32_clamp(greatest, pool->low, pool->high);
    }
}

/* The whole pool. */
static inline void ta_f32_max_pool(const ta_f32_pool *pool, const float *x, float *out)
{
    ta_f32_seen seen = {0, 0, (int64_t)pool->width * pool->channels};
    for (int32_t line = 0; line < pool->batch * pool->out_height; ++line) {
        const float *const image = x + line / pool->out_height * pool->height * seen.line;
        const int32_t top = line % pool->out_height * pool->stride_y - pool->top;
        const int32_t bottom = top + pool->kernel_height, y = top < 0 ? 0 : top;
        seen.rows = (bottom < pool->height ? bottom : pool->height) - y;
        for (int32_t column = 0; column < pool->out_width; ++column, out += pool->channels) {
            const int32_t left = column * pool->stride_x - pool->left;
            const int32_t right = left + pool->kernel_width, first = left < 0 ? 0 : left;
            seen.columns = (right < pool->width ? right : pool->width) - first;
            ta_f32_greatest(pool, &seen, image + y * seen.line + (int64_t)first * pool->channels, out);
        }
    }
}

#endif
