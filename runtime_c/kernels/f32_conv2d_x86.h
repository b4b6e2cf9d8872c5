/* The driver of `f32_conv2d.h`, which includes this file, for the tiles of `f32_tile_x86.h`.
 *
 * Windows are read where they are in the image. Their values are in segments: where kernels are not dilated, a row of
 * the kernel, else one of its elements. Only segments that reach beyond the image are gathered, with zeros there.
 */
#ifndef TA_KERNELS_F32_CONV2D_X86_H
#define TA_KERNELS_F32_CONV2D_X86_H

#include "kernels/f32_tile_x86.h"

#ifdef TA_KERNELS_X86
#define TA_F32_SEGMENTS 16
#define TA_F32_GATHERED 1024

/* Some segments of a window, as many products as a tile sums at once. */
typedef struct {
    int32_t first, count, begin, depth; /* segments; of each, values from `begin` on */
} ta_f32_part;

/* Windows of the rows of a tile: their pixels, and the places of their segments. */
typedef struct {
    ta_f32_pixel pixels[TA_F32_TALLEST];
    const float *at[TA_F32_SEGMENTS * TA_F32_TALLEST];
    float gathered[TA_F32_TALLEST * TA_F32_GATHERED];
} ta_f32_windows;

/* Values of a segment. */
static inline int32_t ta_f32_segment(const ta_f32_conv2d *conv)
{
    if (conv->in_place) {
        return conv->depth;
    }
    return conv->dilation_x == 1 ? conv->kernel_width * conv->channels : conv->channels;
}

/* The part of a window that begins with product `k`. */
static inline ta_f32_part ta_f32_part_at(const ta_f32_conv2d *conv, int32_t k)
{
    const int32_t size = ta_f32_segment(conv), left = (conv->depth - k + size - 1) / size;
    ta_f32_part part = {k / size, 1, k % size, size};
    if (conv->in_place || size > TA_F32_GATHERED) {
        part.depth = size - part.begin;
        if (!conv->in_place && part.depth > TA_F32_GATHERED) {
            part.depth = TA_F32_GATHERED;
        }
        return part;
    }
    part.count = TA_F32_GATHERED / size;
    part.count = part.count < TA_F32_SEGMENTS ? part.count : TA_F32_SEGMENTS;
    part.count = part.count < left ? part.count : left;
    return part;
}

/* The nearest number from 0 to `most`. */
static inline int32_t ta_f32_within(int32_t value, int32_t most)
{
    return value < 0 ? 0 : value > most ? most : value;
}

/* Copies `depth` values of a segment from value `begin` on, whose columns start at `column` of row `y`. */
static inline void ta_f32_gather(const ta_f32_conv2d *conv, float *to, const float *image, int32_t y, int32_t column,
                                 int32_t begin, int32_t depth)
{
    const int32_t values = conv->width * conv->channels, first = column * conv->channels + begin;
    const int32_t lead = ta_f32_within(-first, depth), stop = ta_f32_within(values - first, depth);
    if (y < 0 || y >= conv->height || lead >= stop) {
        (void)memset(to, 0, (size_t)depth * sizeof *to);
        return;
    }
    (void)memset(to, 0, (size_t)lead * sizeof *to);
    (void)memcpy(to + lead, image + (int64_t)y * values + first + lead, (size_t)(stop - lead) * sizeof *to);
    (void)memset(to + stop, 0, (size_t)(depth - stop) * sizeof *to);
}

/* The places of the segments of this part for one pixel, `tall` apart: in the image, or gathered at `to`. */
static inline void ta_f32_row_places(const ta_f32_conv2d *conv, const ta_f32_part *part, const float *x,
                                     const ta_f32_pixel *pixel, int32_t tall, const float **at, float *to)
{
    const int32_t wide = conv->dilation_x == 1 ? 1 : conv->kernel_width, columns = conv->kernel_width / wide;
    const int32_t left = pixel->x * conv->stride_x - conv->left;
    const float *const image = x + (int64_t)pixel->image * conv->height * conv->width * conv->channels;
    int32_t kx = part->first % wide;
    int32_t y = pixel->y * conv->stride_y - conv->top + part->first / wide * conv->dilation_y;
    for (int32_t s = 0; s < part->count; ++s, at += tall, to += part->depth) {
        const int32_t column = left + kx * conv->dilation_x;
        if (y >= 0 && y < conv->height && column >= 0 && column + columns <= conv->width) {
            *at = image + ((int64_t)y * conv->width + column) * conv->channels + part->begin;
        } else {
            ta_f32_gather(conv, to, image, y, column, part->begin, part->depth);
            *at = to;
        }
        if (++kx == wide) {
            kx = 0;
            y += conv->dilation_y;
        }
    }
}

/* The places of the segments of this part, for `rows` pixels; more rows than these are as the first. */
static inline void ta_f32_places(const ta_f32_conv2d *conv, const ta_f32_part *part, const float *x, int32_t rows,
                                 int32_t tall, ta_f32_windows *windows)
{
    for (int32_t r = 0; r < rows; ++r) {
        ta_f32_row_places(conv, part, x, &windows->pixels[r], tall, windows->at + r,
                          windows->gathered + r * TA_F32_GATHERED);
    }
    for (int32_t r = rows; r < tall; ++r) {
        for (int32_t s = 0; s < part->count; ++s) {
            windows->at[s * tall + r] = windows->at[s * tall];
        }
    }
}

/* The rows of a dense layer. */
static inline void ta_f32_lines(const ta_f32_conv2d *conv, const float *x, int32_t rows, int32_t tall,
                                ta_f32_windows *windows)
{
    for (int32_t r = 0; r < tall; ++r) {
        windows->at[r] = x + (int64_t)(r < rows ? r : 0) * conv->depth;
    }
}

#ifdef TA_KERNELS_AVX512
/* As `ta_f32_finish_x86`. */
TA_AVX512 static inline void ta_f32_finish_avx512(const ta_f32_conv2d *conv, int32_t rows, int32_t count,
                                                  const float *sums, const ta_f32_end *end, float *out, int64_t at)
{
    for (int32_t n = 0; n < count; n += 16) {
        const __mmask16 mask = count - n < 16 ? (__mmask16)((1 << (count - n)) - 1) : (__mmask16)65535;
        int64_t to = at + n;
        for (int32_t r = 0; r < rows; ++r, to += conv->apart) {
            const __m512 sum = _mm512_loadu_ps(sums + r * TA_F32_WIDE + n);
            _mm512_mask_storeu_ps(out + to, mask, ta_f32_ended_avx512(end, sum, conv->low, conv->high, to, mask));
        }
    }
}
#endif

/* `count` outputs of every row, a multiple of eight. */
TA_AVX2 static inline void ta_f32_finish_avx2(const ta_f32_conv2d *conv, int32_t rows, int32_t count,
                                              const float *sums, const ta_f32_end *end, float *out, int64_t at)
{
    for (int32_t r = 0; r < rows; ++r, at += conv->apart) {
        for (int32_t n = 0; n < count; n += 8) {
            const __m256 sum = _mm256_loadu_ps(sums + r * TA_F32_WIDE + n);
            _mm256_storeu_ps(out + at + n, ta_f32_ended_avx2(end, sum, conv->low, conv->high, at + n));
        }
    }
}

/* `count` sums of every row become outputs, the first is element `at`. */
static inline void ta_f32_finish_x86(const ta_f32_conv2d *conv, int32_t rows, int32_t count, const float *sums,
                                     const ta_f32_end *end, float *out, int64_t at)
{
#ifdef TA_KERNELS_AVX512
    if (TA_HAS_AVX512) {
        ta_f32_finish_avx512(conv, rows, count, sums, end, out, at);
        return;
    }
#endif
    if (count % 8 == 0) {
        ta_f32_finish_avx2(conv, rows, count, sums, end, out, at);
    } else {
        ta_f32_finish(conv, rows, count, sums, TA_F32_WIDE, end, out, at);
    }
}

/* Outputs `begin` to `stop` of all pixels. */
static inline void ta_f32_outputs_x86(const ta_f32_conv2d *conv, const ta_f32_end *end, const float *x,
                                      const float *w, const float *bias, float *out, int32_t begin, int32_t stop)
{
    const int32_t depth = conv->depth, pixels = conv->batch * conv->out_height * conv->out_width;
    const int32_t tall = ta_f32_tall(), most = ta_f32_blocks();
    const int64_t apart = (int64_t)depth * TA_F32_BLOCK;
    float sums[TA_F32_TALLEST * TA_F32_WIDE] TA_VECTORS;
    ta_f32_windows windows;
    ta_f32_pixel pixel = {0, 0, 0};
    for (int32_t first = 0; first < pixels; first += tall) {
        const int32_t rows = pixels - first < tall ? pixels - first : tall;
        for (int32_t r = 0; r < rows; ++r, ta_f32_next(conv, &pixel)) {
            windows.pixels[r] = pixel;
        }
        for (int32_t n = begin, blocks; n < stop; n += blocks * TA_F32_BLOCK) {
            const int32_t count = stop - n < most * TA_F32_BLOCK ? stop - n : most * TA_F32_BLOCK;
            ta_f32_part part;
            blocks = (count + TA_F32_BLOCK - 1) / TA_F32_BLOCK;
            for (int32_t k = 0; k < depth; k += part.count * part.depth) {
                const ta_f32_weights weights = {w + n * (int64_t)depth + (int64_t)k * TA_F32_BLOCK, TA_F32_BLOCK,
                                                apart, blocks};
                part = ta_f32_part_at(conv, k);
                if (conv->in_place) {
                    ta_f32_lines(conv, x + (int64_t)first * depth, rows, tall, &windows);
                } else if (n == begin || part.count * part.depth < depth) {
                    ta_f32_places(conv, &part, x, rows, tall, &windows);
                }
                const ta_f32_values values = {windows.at, part.count, part.depth};
                ta_f32_tile_x86(rows, sums, k ? sums : bias + n, k ? TA_F32_WIDE : 0, &values, &weights);
            }
            ta_f32_finish_x86(conv, rows, count, sums, end, out, (int64_t)first * conv->apart + n);
        }
    }
}
#endif

#endif
