/* Convolution of 8-bit images, NHWC; a dense layer is one whose image has one column a row and whose kernel is
 * 1x1. Written in the operations of a layout (`s8_pairs.h` is one), which is included before.
 *
 * Windows are gathered into a panel of TA_S8_ROWS rows, pixels outside the image as `pad`, so that the tile has
 * no condition; a window of more than TA_S8_PANEL values is gathered in chunks, once for each TA_S8_OUTPUTS
 * outputs. Weights that would not stay in a cache are used for all pixels before the next ones.
 */
#ifndef TA_KERNELS_S8_CONV2D_H
#define TA_KERNELS_S8_CONV2D_H

#include <stdint.h>
#include <string.h>

#include "kernels/s8_end.h"
#include "kernels/s8_inner.h"

#ifndef TA_S8_UNIT
#define TA_S8_UNIT TA_S8_BLOCK
#endif

typedef struct {
    int32_t batch, height, width, channels; /* of the image */
    int32_t out_height, out_width, outputs;
    int32_t kernel_height, kernel_width;
    int32_t stride_y, stride_x, dilation_y, dilation_x;
    int32_t top, left;   /* padding before the first row and column */
    int32_t pad;         /* stored value outside the image */
    int32_t is_unsigned; /* 1 where the image is uint8 */
    int32_t apart;       /* elements from an output pixel to the next */
    int32_t depth;       /* products of an output, rounded up to TA_S8_DEPTH */
    int32_t narrow;      /* 1 where no weight is -128 */
} ta_s8_conv2d;

/* A pixel of the output. */
typedef struct {
    int32_t image, y, x;
} ta_s8_pixel;

static inline void ta_s8_next(const ta_s8_conv2d *conv, ta_s8_pixel *pixel)
{
    if (++pixel->x == conv->out_width) {
        pixel->x = 0;
        if (++pixel->y == conv->out_height) {
            pixel->y = 0;
            ++pixel->image;
        }
    }
}

/* Whether windows are the pixels of the image, one after the other. */
static inline int ta_s8_are_pixels(const ta_s8_conv2d *conv)
{
    return conv->kernel_height == 1 && conv->kernel_width == 1 && conv->stride_y == 1 && conv->stride_x == 1 &&
           conv->top == 0 && conv->left == 0 && conv->out_height == conv->height && conv->out_width == conv->width;
}

static inline void ta_s8_copy(const ta_s8_conv2d *conv, ta_s8_cell *panel, const int8_t *x, int32_t count)
{
    if (conv->is_unsigned) {
        ta_s8_fill_unsigned(panel, x, count);
    } else {
        ta_s8_fill(panel, x, count);
    }
}

/* Values `from` to `to` of a run that begins `first` values after the beginning of an image row of `length`
 * values: before and after the row they are `pad`. */
static inline void ta_s8_run(const ta_s8_conv2d *conv, ta_s8_cell *panel, const int8_t *row, int32_t length,
                             int32_t first, int32_t from, int32_t to)
{
    int32_t begin = -first, end = length - first;
    begin = begin < from ? from : begin > to ? to : begin;
    end = end > to ? to : end < begin ? begin : end;
    if (begin > from) {
        ta_s8_pad(panel, conv->pad, begin - from);
    }
    if (end > begin) {
        ta_s8_copy(conv, panel + (begin - from), row + first + begin, end - begin);
    }
    if (to > end) {
        ta_s8_pad(panel + (end - from), conv->pad, to - end);
    }
}

/* Products `from` to `to` of the window of a pixel. A window is runs of consecutive values: one for each row of
 * the kernel, or for each of its elements where columns are dilated. */
static inline void ta_s8_window(const ta_s8_conv2d *conv, ta_s8_cell *panel, const int8_t *x, ta_s8_pixel pixel,
                                int32_t from, int32_t to)
{
    const int32_t length = conv->width * conv->channels;
    const int32_t columns = conv->dilation_x == 1 ? 1 : conv->kernel_width;
    const int32_t run = conv->dilation_x == 1 ? conv->kernel_width * conv->channels : conv->channels;
    const int32_t left = pixel.x * conv->stride_x - conv->left;
    int32_t y = pixel.y * conv->stride_y - conv->top, start = 0;
    for (int32_t ky = 0; ky < conv->kernel_height; ++ky, y += conv->dilation_y) {
        const int inside = y >= 0 && y < conv->height;
        const int8_t *row = inside ? x + ((int64_t)pixel.image * conv->height + y) * length : x;
        for (int32_t kx = 0; kx < columns; ++kx, start += run) {
            const int32_t begin = start < from ? from - start : 0;
            const int32_t end = start + run > to ? to - start : run;
            if (begin >= end) {
                continue;
            }
            if (inside) {
                const int32_t first = (left + kx * conv->dilation_x) * conv->channels;
                ta_s8_run(conv, panel, row, length, first, begin, end);
            } else {
                ta_s8_pad(panel, conv->pad, end - begin);
            }
            panel += end - begin;
        }
    }
    for (; start < to; ++start) {
        *panel++ = 0;
    }
}

#ifdef TA_S8_WIDE
/* Where row `r` of a panel is for the tile: in bytes, `apart` of them behind the row before, or with `wide` 1 in 16-bit
 * cells. */
static inline int8_t *ta_s8_row(ta_s8_cell *panel, int32_t r, int32_t apart, int wide)
{
    return wide ? panel + TA_S8_BEHIND + r * TA_S8_WIDE : panel + r * apart;
}

/* Copies `count` values, 16 at once: up to 15 more are read and written. */
TA_AVX2_PART void ta_s8_sixteens_avx2(int8_t *to, const int8_t *from, int32_t count, __m128i flip, int wide)
{
    for (int32_t k = 0; k < count; k += 16) {
        const __m128i values = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(from + k)), flip);
        if (wide) {
            _mm256_storeu_si256((__m256i *)(to + 2 * k), _mm256_cvtepi8_epi16(values));
        } else {
            _mm_storeu_si128((__m128i *)(to + k), values);
        }
    }
}

/* Whole windows. Those inside the image are copied without looking at its border: bytes read and written beyond them
 * are inside the image, and are overwritten. */
TA_AVX2_PART void ta_s8_inside_avx2(const ta_s8_conv2d *conv, ta_s8_cell *panel, const int8_t *x,
                                    ta_s8_pixel pixel, int32_t rows, int32_t apart, int wide)
{
    const int32_t length = conv->width * conv->channels, run = conv->kernel_width * conv->channels;
    const int32_t last = (conv->kernel_height - 1) * conv->dilation_y, step = conv->dilation_y * length;
    const int32_t below = conv->height - last, size = wide ? 2 : 1;
    const int32_t right = conv->dilation_x == 1 ? conv->width - conv->kernel_width + 1 : 0;
    const int32_t height = conv->kernel_height, depth = conv->depth, filled = height * run;
    const int64_t most = (int64_t)conv->batch * conv->height * length - (int64_t)last * length - run - 16;
    const __m128i flip = _mm_set1_epi8(conv->is_unsigned ? -128 : 0);
    for (int32_t r = 0; r < rows; ++r, ta_s8_next(conv, &pixel)) {
        const int32_t y = pixel.y * conv->stride_y - conv->top, left = pixel.x * conv->stride_x - conv->left;
        const int64_t at = ((int64_t)pixel.image * conv->height + y) * length + (int64_t)left * conv->channels;
        int8_t *to = ta_s8_row(panel, r, apart, wide);
        if (y < 0 || y >= below || left < 0 || left >= right || at > most) {
            ta_s8_cell *const bytes = panel + r * apart;
            ta_s8_window(conv, bytes, x, pixel, 0, depth);
            if (wide) {
                ta_s8_sixteens_avx2(to, bytes, depth, _mm_setzero_si128(), 1);
            }
            continue;
        }
        const int8_t *row = x + at;
        for (int32_t ky = 0; ky < height; ++ky, row += step, to += size * run) {
            ta_s8_sixteens_avx2(to, row, run, flip, wide);
        }
        for (int32_t k = filled * size; k < depth * size; ++k) {
            *to++ = 0;
        }
    }
}

/* Rows of an image whose windows are its pixels, one after the other, from pixel `first` on. */
TA_AVX2_PART void ta_s8_pixels_avx2(const ta_s8_conv2d *conv, ta_s8_cell *panel, const int8_t *x, int64_t first,
                                    int32_t rows, int32_t apart, int wide)
{
    const int32_t run = conv->channels, depth = conv->depth;
    const __m128i flip = _mm_set1_epi8(conv->is_unsigned ? -128 : 0);
    x += first * run;
    for (int32_t r = 0; r < rows; ++r, x += run) {
        int8_t *const to = ta_s8_row(panel, r, apart, wide);
        ta_s8_sixteens_avx2(to, x, run, flip, wide);
        const int32_t size = wide ? 2 : 1;
        for (int32_t k = run * size; k < depth * size; ++k) {
            to[k] = 0;
        }
    }
}

/* Whole windows of `rows` pixels: bytes, or with `wide` 1 what the tile needs. */
TA_AVX2_PART void ta_s8_whole_avx2(const ta_s8_conv2d *conv, ta_s8_cell *panel, const int8_t *x, ta_s8_pixel pixel,
                                   int32_t rows, int32_t apart, int wide)
{
    const int64_t first = ((int64_t)pixel.image * conv->out_height + pixel.y) * conv->out_width + pixel.x;
    const int64_t pixels = (int64_t)conv->batch * conv->height * conv->width;
    if (ta_s8_are_pixels(conv) && (pixels - first - rows) * conv->channels >= 16) { /* it reads so many more */
        ta_s8_pixels_avx2(conv, panel, x, first, rows, apart, wide);
    } else {
        ta_s8_inside_avx2(conv, panel, x, pixel, rows, apart, wide);
    }
}

TA_AVX2 static inline void ta_s8_bytes_avx2(const ta_s8_conv2d *conv, ta_s8_cell *panel, const int8_t *x,
                                            ta_s8_pixel pixel, int32_t rows, int32_t apart)
{
    ta_s8_whole_avx2(conv, panel, x, pixel, rows, apart, 0);
}

TA_AVX2 static inline void ta_s8_wide_avx2(const ta_s8_conv2d *conv, ta_s8_cell *panel, const int8_t *x,
                                           ta_s8_pixel pixel, int32_t rows)
{
    ta_s8_whole_avx2(conv, panel, x, pixel, rows, TA_S8_PANEL, 1);
}
#endif

#include "kernels/s8_conv2d_amx.h"
#include "kernels/s8_windows_neon.h"

/* Products of a window inside the image: `count` values from `x` on, of which the first `left` are the rest of a run,
 * then runs of `run` values with `gap` values between them. */
static inline void ta_s8_inner(const ta_s8_conv2d *conv, ta_s8_cell *panel, const int8_t *x, int32_t count,
                               int32_t left, int32_t run, int32_t gap)
{
    while (count > 0) {
        const int32_t some = left < count ? left : count;
        ta_s8_copy(conv, panel, x, some);
        x += some + gap;
        panel += some;
        count -= some;
        left = run;
    }
}

static inline void ta_s8_windows(const ta_s8_conv2d *conv, ta_s8_cell *panel, const int8_t *x, ta_s8_pixel pixel,
                                 int32_t rows, int32_t from, int32_t to)
{
    const int32_t below = conv->height - (conv->kernel_height - 1) * conv->dilation_y;
    const int32_t right = conv->dilation_x == 1 ? conv->width - conv->kernel_width + 1 : 0;
    const int32_t run = conv->kernel_width * conv->channels, step = conv->dilation_y * conv->width * conv->channels;
    const int32_t products = run * conv->kernel_height, end = products < to ? products : to;
    const int32_t first = from > 0 ? from / run : 0, begin = from - first * run, before = first * step + begin;
    for (int32_t r = 0; r < rows; ++r, panel += TA_S8_PANEL) {
        const int32_t top = pixel.y * conv->stride_y - conv->top, left = pixel.x * conv->stride_x - conv->left;
        if (top >= 0 && top < below && left >= 0 && left < right) {
            const int32_t row = pixel.image * conv->height + top;
            const int8_t *const values = x + ((int64_t)row * conv->width + left) * conv->channels + before;
            ta_s8_inner(conv, panel, values, end - from, run - begin, run, step - run);
            if (end < to) {
                ta_s8_pad(panel + (end - from), 0, to - end);
            }
        } else {
            ta_s8_window(conv, panel, x, pixel, from, to);
        }
        ta_s8_next(conv, &pixel);
    }
}

/* Products `from` to `to` of the windows of `rows` pixels, as the tile needs them. */
TA_PART void ta_s8_gather(const ta_s8_conv2d *conv, ta_s8_cell *panel, const int8_t *x, ta_s8_pixel pixel,
                          int32_t rows, int32_t from, int32_t to)
{
#ifdef TA_S8_WIDE
    if (TA_HAS_AVX2 && from == 0 && to == conv->depth) {
        if (TA_S8_IS_WIDE) {
            ta_s8_wide_avx2(conv, panel, x, pixel, rows);
        } else {
            ta_s8_bytes_avx2(conv, panel, x, pixel, rows, TA_S8_PANEL);
            ta_s8_ready(panel, rows, to);
        }
        return;
    }
#endif
#ifdef TA_S8_SIXTEENS
    if (from == 0 && to == conv->depth && ta_s8_is_copied_neon(conv)) {
        ta_s8_windows_neon(conv, panel, x, pixel, rows);
        return;
    }
#endif
    ta_s8_windows(conv, panel, x, pixel, rows, from, to);
#ifdef TA_S8_BEHIND
    ta_s8_ready(panel, rows, to - from);
#endif
}

/* The windows of `rows` pixels in the image, where the tile can read them there, with what it reads behind them: then
 * rows are as many cells apart as the image has channels. Else NULL. */
static inline const ta_s8_cell *ta_s8_in_place(const ta_s8_conv2d *conv, const int8_t *x, ta_s8_pixel pixel,
                                               int32_t rows)
{
#ifdef TA_S8_STRIDED
    const int64_t pixels = (int64_t)conv->batch * conv->height * conv->width;
    const int64_t first = ((int64_t)pixel.image * conv->height + pixel.y) * conv->width + pixel.x;
    const int64_t last = first + (rows > 1 ? TA_S8_ROWS - 1 : 0);
    if (ta_s8_are_pixels(conv) && !conv->is_unsigned && last * conv->channels + conv->depth <= pixels * conv->channels) {
        return x + first * conv->channels;
    }
#else
    (void)conv, (void)x, (void)pixel, (void)rows;
#endif
    return NULL;
}

/* Sums of `count` outputs from `n` on for `rows` pixels, which begin with `start`. Windows that are not
 * `in_place` are gathered where `fresh` is 1, or where they take more than one panel, which otherwise has them already. */
static inline void ta_s8_sums(const ta_s8_conv2d *conv, const ta_s8_cell *in_place, ta_s8_cell *panel, const int8_t *x,
                              ta_s8_pixel pixel, int32_t rows, int fresh, const int8_t *w, const int32_t *start,
                              int32_t n, int32_t count, int32_t *sums)
{
    const int32_t depth = conv->depth, apart = TA_S8_BLOCK * depth;
    const int32_t blocks = (count + TA_S8_UNIT - 1) / TA_S8_UNIT;
    w += n * depth;
#ifdef TA_S8_STRIDED
    if (in_place) {
        ta_s8_tile_in_place(rows, sums, start, 0, in_place, conv->channels, depth, w, apart, blocks, conv->narrow);
        return;
    }
#else
    (void)in_place;
#endif
    for (int32_t k = 0; k < depth; k += TA_S8_PANEL) {
        const int32_t some = depth - k < TA_S8_PANEL ? depth - k : TA_S8_PANEL;
        if (fresh || depth > TA_S8_PANEL) {
            ta_s8_gather(conv, panel, x, pixel, rows, k, k + some);
        }
        ta_s8_tile(rows, sums, k ? sums : start, k ? TA_S8_OUTPUTS : 0, panel, some, w + k * TA_S8_BLOCK, apart,
                   blocks, conv->narrow);
    }
}

/* Outputs that use their weights for all rows before the next ones. */
static inline int32_t ta_s8_resident(int32_t depth)
{
    const int32_t some = TA_S8_RESIDENT / depth / TA_S8_OUTPUTS * TA_S8_OUTPUTS;
    return some > TA_S8_OUTPUTS ? some : TA_S8_OUTPUTS;
}

/* Outputs `begin` to `stop` of all pixels. */
static inline void ta_s8_conv2d_outputs(const ta_s8_conv2d *conv, const ta_s8_end *end, const int8_t *x,
                                        const int8_t *w, const int32_t *bias, int8_t *out, int32_t begin,
                                        int32_t stop)
{
    ta_s8_cell panel[TA_S8_ROWS * TA_S8_PANEL + TA_S8_MORE];
    int32_t sums[TA_S8_ROWS * TA_S8_OUTPUTS] TA_VECTORS;
    const int32_t pixels = conv->batch * conv->out_height * conv->out_width;
    ta_s8_pixel pixel = {0, 0, 0};
    for (int32_t first = 0, rows; first < pixels; first += rows) {
        rows = pixels - first < TA_S8_ROWS ? pixels - first : TA_S8_ROWS;
        const ta_s8_cell *const in_place = ta_s8_in_place(conv, x, pixel, rows);
        for (int32_t n = begin; n < stop; n += TA_S8_OUTPUTS) {
            const int32_t count = stop - n < TA_S8_OUTPUTS ? stop - n : TA_S8_OUTPUTS;
            ta_s8_sums(conv, in_place, panel, x, pixel, rows, n == begin, w, bias + n, n, count, sums);
            for (int32_t done = 0; done < count; done += 16) {
                ta_s8_finish(end, n + done, rows, count - done < 16 ? count - done : 16, sums + done, TA_S8_OUTPUTS,
                             out, (int64_t)first * conv->apart, conv->apart);
            }
        }
        for (int32_t r = 0; r < rows; ++r) {
            ta_s8_next(conv, &pixel);
        }
    }
}

#include "kernels/s8_conv2d_fused.h"

/* The whole convolution. `w` and `bias` are as the layout has them, `bias` for whole groups of 16 outputs. */
static inline void ta_s8_convolve(const ta_s8_conv2d *conv, const ta_s8_end *end, const int8_t *x, const int8_t *w,
                                  const int32_t *bias, int8_t *out)
{
#ifdef TA_S8_WALKS
    if (ta_s8_is_walked(conv)) {
        ta_s8_convolve_amx(conv, end, x, w, bias, out);
        return;
    }
#endif
    const int32_t step = ta_s8_resident(conv->depth);
    for (int32_t n = 0; n < conv->outputs; n += step) {
        const int32_t stop = conv->outputs - n < step ? conv->outputs : n + step;
#ifdef TA_S8_FUSED
        if (ta_s8_is_fused(conv)) {
            ta_s8_conv2d_fused(conv, end, x, w, bias, out, n, stop);
            continue;
        }
#endif
        ta_s8_conv2d_outputs(conv, end, x, w, bias, out, n, stop);
    }
}

#endif
