/* Depthwise convolution of 8-bit images, NHWC, one output for each channel.
 *
 * The layout. For C channels and T taps (elements of the kernel, row by row), weights are int8
 * w[C / 16][T / 2][16][2], both rounded up, zeros where there is nothing: two taps of a channel are adjacent. There
 * are 16 bytes more behind them, and 16 elements behind `bias`, `multiplier` and `shift` of whole groups: groups
 * may be read from their middle on.
 *
 * Channels are summed in groups of 16, pixels inside the image where they are; taps outside are read from a line of
 * `pad`. Some neighbours are summed before they are scaled, where there are enough of them together. Where a form reads
 * whole groups, channels that do not fill 8 are read with bytes of what follows, and at the end of the image copied first.
 *
 * Forms: portable, AVX2 (`s8_depthwise_x86.h`), NEON, RISC-V V, for kernels of 3x3 Arm DSP extension and MVE
 * (`s8_depthwise_arm_m.h`).
 */
#ifndef TA_KERNELS_S8_DEPTHWISE_H
#define TA_KERNELS_S8_DEPTHWISE_H

#include <stdint.h>
#include <string.h>

#include "kernels/s8_end.h"
#include "kernels/s8_inner.h"

#define TA_DW_GROUP 16
#define TA_DW_TAPS 26 /* the most, rounded up to pairs */
#if defined(TA_KERNELS_X86) || defined(TA_KERNELS_NEON) || defined(TA_KERNELS_RVV)
#define TA_DW_WHOLE 1   /* forms read whole groups */
#define TA_DW_PIXELS 16 /* pixels that are summed before they are scaled */
#define TA_DW_AT_ONCE 4 /* neighbours that are summed together, at least */
#else
#define TA_DW_PIXELS 4
#define TA_DW_AT_ONCE 2
#endif

typedef struct {
    int32_t batch, height, width, channels; /* of the image */
    int32_t out_height, out_width;
    int32_t kernel_height, kernel_width;
    int32_t stride_y, stride_x, dilation_y, dilation_x;
    int32_t top, left;   /* padding before the first row and column */
    int32_t pad;         /* stored value outside the image */
    int32_t is_unsigned; /* 1 where the image is uint8 */
    int32_t apart;       /* elements from an output pixel to the next */
    int32_t narrow;      /* 1 where no pair of weights is -128 twice: two products fit 16 bits */
} ta_s8_depthwise;

#ifdef TA_KERNELS_DOT
/* Three taps of 16 channels, four bytes for each channel: what is in the fourth meets a weight of 0. */
typedef struct {
    int8_t of[4 * TA_DW_GROUP];
} ta_s8_dw_place_of;
#endif

/* The weights of a group, and where the taps of a window are read. */
typedef struct {
    const ta_s8_depthwise *conv;
    const int8_t *w;
    const int32_t *bias;
    int32_t taps;                 /* rounded up to pairs */
    int32_t step;                 /* bytes from a window in the image to its neighbour */
    const int8_t *at[TA_DW_TAPS]; /* `pad` for what is outside of the image */
    int8_t pad[TA_DW_GROUP];
#ifdef TA_KERNELS_DOT
    const int8_t *placed; /* whose weights are in `places` */
    ta_s8_dw_place_of places[3];
#endif
} ta_s8_taps;

/* Bytes from a tap of a window to that of the next. */
static inline int32_t ta_s8_dw_step(const ta_s8_taps *taps, int32_t t)
{
    return taps->at[t] == taps->pad ? 0 : taps->step;
}

#include "kernels/s8_depthwise_neon.h"
#include "kernels/s8_depthwise_rvv.h"
#include "kernels/s8_depthwise_x86.h"

/* Two taps of a window added to its sums. */
static inline void ta_s8_dw_pair(const ta_s8_depthwise *conv, int32_t *sums, const int8_t *one, const int8_t *two,
                                 const int8_t *w, int32_t count)
{
    if (conv->is_unsigned) {
        for (int32_t c = 0; c < count; ++c) {
            sums[c] += (one[c] & 0xff) * w[2 * c] + (two[c] & 0xff) * w[2 * c + 1];
        }
    } else {
        for (int32_t c = 0; c < count; ++c) {
            sums[c] += one[c] * w[2 * c] + two[c] * w[2 * c + 1];
        }
    }
}

/* sums[pixel][c] of one pixel, or of TA_DW_AT_ONCE and more neighbours, and of `count` channels: 8, 16, or where a
 * group is not full fewer than 8, whose sums are rounded up to 8 where TA_DW_WHOLE is defined. */
static inline void ta_s8_dw_sums(const ta_s8_taps *taps, int32_t *sums, int32_t pixels, int32_t count)
{
#ifdef TA_KERNELS_X86
    if (TA_HAS_AVX2) {
        ta_s8_dw_sums_avx2(taps, sums, pixels, count);
        return;
    }
#endif
#ifdef TA_KERNELS_NEON
    ta_s8_dw_sums_neon(taps, sums, pixels, count);
#elif defined(TA_KERNELS_RVV)
    ta_s8_dw_sums_rvv(taps, sums, pixels, count);
#else
    for (int32_t pixel = 0, from = 0; pixel < pixels; ++pixel, from += taps->step, sums += TA_DW_GROUP) {
        const int8_t *w = taps->w;
        (void)memcpy(sums, taps->bias, (size_t)TA_DW_GROUP * sizeof *sums);
        for (int32_t t = 0; t < taps->taps; t += 2, w += 2 * TA_DW_GROUP) {
            const int8_t *one = taps->at[t], *two = taps->at[t + 1];
            ta_s8_dw_pair(taps->conv, sums, one == taps->pad ? one : one + from,
                          two == taps->pad ? two : two + from, w, count);
        }
    }
#endif
}

/* The window whose first tap is at row y and column x of the image. A pair that lacks its second tap repeats the first,
 * with a weight of 0. */
static inline void ta_s8_dw_place(ta_s8_taps *taps, const int8_t *image, int32_t y, int32_t x)
{
    const ta_s8_depthwise *conv = taps->conv;
    const int32_t width = conv->width, kernel = conv->kernel_width, dilation = conv->dilation_x;
    const int32_t step = dilation * conv->channels;
    const int whole = x >= 0 && x + (kernel - 1) * dilation < width;
    const int8_t **at = taps->at;
    for (int32_t ky = 0; ky < conv->kernel_height; ++ky, y += conv->dilation_y, at += kernel) {
        int32_t from = (y * width + x) * conv->channels;
        if (y < 0 || y >= conv->height) {
            for (int32_t kx = 0; kx < kernel; ++kx) {
                at[kx] = taps->pad;
            }
        } else if (whole) {
            for (int32_t kx = 0; kx < kernel; ++kx, from += step) {
                at[kx] = image + from;
            }
        } else {
            for (int32_t kx = 0, column = x; kx < kernel; ++kx, from += step, column += dilation) {
                at[kx] = column >= 0 && column < width ? image + from : taps->pad;
            }
        }
    }
    if (conv->kernel_height * kernel < taps->taps) {
        *at = at[-1];
    }
}

#ifdef TA_DW_WHOLE
/* Bytes behind the image, which ends at `stop`, that are read with whole groups of `pixels` neighbours, if any. */
static inline int64_t ta_s8_dw_behind(const ta_s8_taps *taps, const int8_t *stop, int32_t pixels)
{
    int32_t t = taps->taps - 1;
    while (t > 0 && taps->at[t] == taps->pad) {
        --t;
    }
    if (taps->at[t] == taps->pad) {
        return 0;
    }
    return 8 - (stop - taps->at[t]) + (int64_t)(pixels - 1) * taps->step;
}

/* How many of `pixels` neighbours can be summed together, when some of their bytes are `behind` the image. */
static inline int32_t ta_s8_dw_before_end(const ta_s8_taps *taps, int64_t behind, int32_t pixels)
{
    const int64_t fewer = behind > 0 ? (behind + taps->step - 1) / taps->step : 0;
    return pixels - fewer >= TA_DW_AT_ONCE ? (int32_t)(pixels - fewer) : 1;
}

/* Copies `count` channels of the taps to `lines`, TA_DW_GROUP bytes for each, which are read instead. */
static inline void ta_s8_dw_copy(ta_s8_taps *taps, int8_t *lines, int32_t count)
{
    for (int32_t t = 0; t < taps->taps; ++t, lines += TA_DW_GROUP) {
        (void)memcpy(lines, taps->at[t], (size_t)count);
        taps->at[t] = lines;
    }
}
#endif

/* A line of the output: row number `at`, or where `down` is 1 that column. */
typedef struct {
    int32_t down, at;
    int32_t outputs;     /* its length */
    int32_t begin, stop; /* outputs that may be summed together */
    int32_t count;       /* channels */
} ta_s8_dw_run;

static inline ta_s8_dw_run ta_s8_dw_run_at(const ta_s8_depthwise *conv, int down, int32_t at, int32_t count)
{
    ta_s8_dw_run line = {down, at, down ? conv->out_height : conv->out_width, 0, 0, count};
    if (down) {
        ta_s8_inner_outputs(conv->height, line.outputs, (conv->kernel_height - 1) * conv->dilation_y, conv->top,
                            conv->stride_y, &line.begin, &line.stop);
    } else {
        ta_s8_inner_outputs(conv->width, line.outputs, (conv->kernel_width - 1) * conv->dilation_x, conv->left,
                            conv->stride_x, &line.begin, &line.stop);
    }
    return line;
}

/* Sums of `some` outputs of a line from output `from` on, TA_DW_PIXELS at most. */
static inline void ta_s8_dw_run_sums(ta_s8_taps *taps, const ta_s8_dw_run *line, const int8_t *image, int32_t from,
                                      int32_t some, int32_t *sums)
{
    const ta_s8_depthwise *conv = taps->conv;
#ifdef TA_DW_WHOLE
    const int8_t *stop = image + (int64_t)(conv->height * conv->width - 1) * conv->channels + line->count;
    int8_t lines[TA_DW_TAPS * TA_DW_GROUP];
    if (line->count < 8) {
        (void)memset(lines, 0, sizeof lines);
    }
#endif
    for (int32_t done = 0, pixels; done < some; done += pixels) {
        const int32_t at = from + done, left = line->stop - at < some - done ? line->stop - at : some - done;
        const int32_t y = line->down ? at : line->at, x = line->down ? line->at : at;
        pixels = at >= line->begin && left >= TA_DW_AT_ONCE ? left : 1;
        ta_s8_dw_place(taps, image, y * conv->stride_y - conv->top, x * conv->stride_x - conv->left);
#ifdef TA_DW_WHOLE
        if (line->count < 8) {
            pixels = ta_s8_dw_before_end(taps, ta_s8_dw_behind(taps, stop, pixels), pixels);
            if (ta_s8_dw_behind(taps, stop, pixels) > 0) {
                ta_s8_dw_copy(taps, lines, line->count);
            }
        }
#endif
        ta_s8_dw_sums(taps, sums + done * TA_DW_GROUP, pixels, line->count);
    }
}

#include "kernels/s8_depthwise_fused.h"

/* The results of a line: `count` outputs from output `n` on; the first pixel of the image has the number `first` in the
 * output. */
TA_PART void ta_s8_dw_line_of(ta_s8_taps *taps, const ta_s8_end *end, const int8_t *image, int down, int32_t at,
                              int32_t n, int32_t count, int8_t *out, int64_t first)
{
    const ta_s8_depthwise *conv = taps->conv;
    const int32_t outputs = down ? conv->out_height : conv->out_width, next = down ? conv->out_width : 1;
    int32_t sums[TA_DW_PIXELS * TA_DW_GROUP] TA_VECTORS;
    first += (int64_t)at * (down ? 1 : conv->out_width);
#ifdef TA_KERNELS_DOT
    if (ta_s8_dw_is_dot(conv, down, outputs) && ta_s8_dw_is_fused(taps, end, count)) {
        const ta_s8_dw_run whole = {down, at, outputs, 0, outputs, count};
        ta_s8_dw_line_right_dot(taps, end, &whole, image, n, out + first * conv->apart + n,
                                (int64_t)conv->apart * next);
        return;
    }
#endif
    const ta_s8_dw_run line = ta_s8_dw_run_at(conv, down, at, count);
#ifdef TA_KERNELS_NEON
    if (ta_s8_dw_is_fused(taps, end, count)) {
        ta_s8_dw_line_right_neon(taps, end, &line, image, n, out + first * conv->apart + n,
                                 (int64_t)conv->apart * next);
        return;
    }
#endif
    for (int32_t from = 0, some; from < outputs; from += some) {
        some = outputs - from < TA_DW_PIXELS ? outputs - from : TA_DW_PIXELS;
        ta_s8_dw_run_sums(taps, &line, image, from, some, sums);
        ta_s8_finish(end, n, some, count, sums, TA_DW_GROUP, out, (first + from * next) * conv->apart,
                     conv->apart * next);
    }
}

#include "kernels/s8_depthwise_arm_m.h"

/* What is the same for all groups: lines follow the longer side of the output, which is `down` where that is 1. */
static inline void ta_s8_dw_taps(ta_s8_taps *taps, const ta_s8_depthwise *conv, int down)
{
    taps->conv = conv;
    taps->taps = (conv->kernel_height * conv->kernel_width + 1) / 2 * 2;
    taps->step = (down ? conv->stride_y * conv->width : conv->stride_x) * conv->channels;
    (void)memset(taps->pad, conv->pad, sizeof taps->pad);
#ifdef TA_KERNELS_DOT
    taps->placed = NULL;
#endif
}

/* Channels from `n` on that are summed at once. */
static inline int32_t ta_s8_dw_group(const ta_s8_depthwise *conv, int32_t n)
{
    const int32_t left = conv->channels - n;
    return left >= TA_DW_GROUP ? TA_DW_GROUP : left >= 8 ? 8 : left;
}

/* The whole convolution, whatever its kernel. */
TA_PART void ta_s8_dw_any(const ta_s8_depthwise *conv, const ta_s8_end *end, const int8_t *x, const int8_t *w,
                          const int32_t *bias, int8_t *out)
{
    const int down = conv->out_height > conv->out_width;
    const int32_t lines = down ? conv->out_width : conv->out_height;
    ta_s8_taps taps;
    ta_s8_dw_taps(&taps, conv, down);
    for (int32_t n = 0, some; n < conv->channels; n += some) {
        some = ta_s8_dw_group(conv, n);
        taps.w = w + n / TA_DW_GROUP * taps.taps * TA_DW_GROUP + n % TA_DW_GROUP * 2;
        taps.bias = bias + n;
        for (int32_t image = 0; image < conv->batch; ++image) {
            const int8_t *from = x + (int64_t)image * conv->height * conv->width * conv->channels + n;
            for (int32_t line = 0; line < lines; ++line) {
                ta_s8_dw_line_of(&taps, end, from, down, line, n, some, out,
                                 (int64_t)image * conv->out_height * conv->out_width);
            }
        }
    }
}

/* The whole convolution. */
static inline void ta_s8_convolve_depthwise(const ta_s8_depthwise *conv, const ta_s8_end *end, const int8_t *x,
                                            const int8_t *w, const int32_t *bias, int8_t *out)
{
#if defined(TA_KERNELS_DSP) || defined(TA_KERNELS_MVE)
    if (ta_s8_dw_3x3_takes(conv, end)) {
        ta_s8_dw_3x3_clamped(conv, end, x, w, bias, out);
        return;
    }
#endif
    ta_s8_dw_any(conv, end, x, w, bias, out);
}

#endif
