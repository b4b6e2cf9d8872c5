/* Depthwise convolution of 8-bit images, NHWC, one output for each channel.
 *
 * The layout. For C channels and T taps (elements of the kernel, row by row), weights are int8
 * w[C / 16][T / 2][16][2], both rounded up, zeros where there is nothing: two taps of a channel lie side by side. There
 * are 16 bytes more behind them, and 16 elements behind `bias`, `multiplier` and `shift` of whole groups: groups
 * may be read from their middle on.
 *
 * Channels are summed in groups of 16, pixels inside the image where they lie. Windows that touch the border are
 * gathered, pixels outside as `pad`; so are channels that do not fill a group.
 *
 * Forms: portable, AVX2, NEON, RISC-V V, for kernels of 3x3 Arm DSP extension and MVE (`s8_depthwise_arm_m.h`).
 */
#ifndef TA_KERNELS_S8_DEPTHWISE_H
#define TA_KERNELS_S8_DEPTHWISE_H

#include <stdint.h>
#include <string.h>

#include "kernels/s8_end.h"

#define TA_DW_GROUP 16
#define TA_DW_TAPS 26 /* the most, rounded up to pairs */
#if defined(TA_KERNELS_X86) || defined(TA_KERNELS_NEON)
#define TA_DW_PIXELS 4 /* pixels that are summed before they are scaled */
#else
#define TA_DW_PIXELS 1
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

/* Where the taps of a gathered window lie. */
static const int32_t ta_s8_gathered[TA_DW_TAPS] = {
    0,   16,  32,  48,  64,  80,  96,  112, 128, 144, 160, 176, 192,
    208, 224, 240, 256, 272, 288, 304, 320, 336, 352, 368, 384, 400,
};

/* The weights of a group and where its taps lie. */
typedef struct {
    const ta_s8_depthwise *conv;
    const int8_t *w;
    const int32_t *bias;
    int32_t taps;           /* rounded up to pairs */
    int32_t at[TA_DW_TAPS]; /* from the first tap of a window in the image to the others */
#ifdef TA_KERNELS_X86
    int16_t wide[TA_DW_TAPS * TA_DW_GROUP];
#endif
} ta_s8_taps;

#ifdef TA_KERNELS_X86
TA_AVX2 static inline void ta_s8_widen_avx2(ta_s8_taps *taps)
{
    for (int32_t k = 0; k < taps->taps * TA_DW_GROUP; k += 16) {
        const __m128i some = _mm_loadu_si128((const __m128i *)(taps->w + k));
        _mm256_storeu_si256((__m256i *)(taps->wide + k), _mm256_cvtepi8_epi16(some));
    }
}

/* 8 channels of two taps as pairs of 16 bits. */
#define TA_DW_WIDE(is_unsigned, pairs) ((is_unsigned) ? _mm256_cvtepu8_epi16(pairs) : _mm256_cvtepi8_epi16(pairs))

/* 16 channels of `pixels` windows, `step` bytes apart. */
TA_AVX2 static inline void ta_s8_dw_16_avx2(const ta_s8_taps *taps, const int32_t *at, int is_unsigned, int32_t *sums,
                                            const int8_t *x, int32_t step, int32_t pixels)
{
    for (int32_t pixel = 0; pixel < pixels; ++pixel, x += step, sums += TA_DW_GROUP) {
        __m256i low = _mm256_loadu_si256((const __m256i *)taps->bias);
        __m256i high = _mm256_loadu_si256((const __m256i *)(taps->bias + 8));
        const int16_t *w = taps->wide;
        for (int32_t t = 0; t < taps->taps; t += 2, w += 2 * TA_DW_GROUP) {
            const __m128i one = _mm_loadu_si128((const __m128i *)(x + at[t]));
            const __m128i two = _mm_loadu_si128((const __m128i *)(x + at[t + 1]));
            const __m256i a = TA_DW_WIDE(is_unsigned, _mm_unpacklo_epi8(one, two));
            const __m256i b = TA_DW_WIDE(is_unsigned, _mm_unpackhi_epi8(one, two));
            low = _mm256_add_epi32(low, _mm256_madd_epi16(a, _mm256_loadu_si256((const __m256i *)w)));
            high = _mm256_add_epi32(high, _mm256_madd_epi16(b, _mm256_loadu_si256((const __m256i *)(w + 16))));
        }
        _mm256_storeu_si256((__m256i *)sums, low);
        _mm256_storeu_si256((__m256i *)(sums + 8), high);
    }
}

/* The first 8 channels of a group. */
TA_AVX2 static inline void ta_s8_dw_8_avx2(const ta_s8_taps *taps, const int32_t *at, int is_unsigned, int32_t *sums,
                                           const int8_t *x, int32_t step, int32_t pixels)
{
    for (int32_t pixel = 0; pixel < pixels; ++pixel, x += step, sums += TA_DW_GROUP) {
        __m256i low = _mm256_loadu_si256((const __m256i *)taps->bias);
        const int16_t *w = taps->wide;
        for (int32_t t = 0; t < taps->taps; t += 2, w += 2 * TA_DW_GROUP) {
            const __m128i one = _mm_loadl_epi64((const __m128i *)(x + at[t]));
            const __m128i two = _mm_loadl_epi64((const __m128i *)(x + at[t + 1]));
            const __m256i a = TA_DW_WIDE(is_unsigned, _mm_unpacklo_epi8(one, two));
            low = _mm256_add_epi32(low, _mm256_madd_epi16(a, _mm256_loadu_si256((const __m256i *)w)));
        }
        _mm256_storeu_si256((__m256i *)sums, low);
    }
}

TA_AVX2 static inline void ta_s8_dw_sums_avx2(const ta_s8_taps *taps, const int32_t *at, int32_t *sums,
                                              const int8_t *x, int32_t step, int32_t pixels, int32_t count)
{
    if (count > 8) {
        if (taps->conv->is_unsigned) {
            ta_s8_dw_16_avx2(taps, at, 1, sums, x, step, pixels);
        } else {
            ta_s8_dw_16_avx2(taps, at, 0, sums, x, step, pixels);
        }
    } else if (taps->conv->is_unsigned) {
        ta_s8_dw_8_avx2(taps, at, 1, sums, x, step, pixels);
    } else {
        ta_s8_dw_8_avx2(taps, at, 0, sums, x, step, pixels);
    }
}
#endif

#ifdef TA_KERNELS_NEON
/* 8 channels as 16 bits. */
#define TA_DW_EIGHT(is_unsigned, x) \
    ((is_unsigned) ? vreinterpretq_s16_u16(vmovl_u8(vld1_u8((const uint8_t *)(x)))) : vmovl_s8(vld1_s8(x)))

#define TA_DW_PIXEL_NEON(a, b, one, other)                                       \
    do {                                                                         \
        const int16x8_t one_ = TA_DW_EIGHT(is_unsigned, one);                    \
        const int16x8_t other_ = TA_DW_EIGHT(is_unsigned, other);                \
        a = vmlal_s16(a, vget_low_s16(one_), vget_low_s16(w0));                  \
        b = vmlal_high_s16(b, one_, w0);                                         \
        a = vmlal_s16(a, vget_low_s16(other_), vget_low_s16(w1));                \
        b = vmlal_high_s16(b, other_, w1);                                       \
    } while (0)

/* 8 channels of one window. */
static inline void ta_s8_dw_1_neon(const ta_s8_taps *taps, const int32_t *at, int32_t *sums, const int8_t *x,
                                   int32_t first)
{
    const int is_unsigned = taps->conv->is_unsigned;
    const int8_t *w = taps->w + 2 * first;
    int32x4_t a = vld1q_s32(taps->bias + first), b = vld1q_s32(taps->bias + first + 4);
    x += first;
    for (int32_t t = 0; t < taps->taps; t += 2, w += 2 * TA_DW_GROUP) {
        const int8x8x2_t two = vld2_s8(w);
        const int16x8_t w0 = vmovl_s8(two.val[0]), w1 = vmovl_s8(two.val[1]);
        TA_DW_PIXEL_NEON(a, b, x + at[t], x + at[t + 1]);
    }
    vst1q_s32(sums + first, a);
    vst1q_s32(sums + first + 4, b);
}

/* 8 channels of four windows of int8 values, `step` bytes apart. */
static inline void ta_s8_dw_4_neon(const ta_s8_taps *taps, const int32_t *at, int32_t *sums, const int8_t *x,
                                   int32_t step, int32_t first)
{
    const int is_unsigned = 0;
    const int8_t *w = taps->w + 2 * first;
    int32x4_t a0 = vld1q_s32(taps->bias + first), b0 = vld1q_s32(taps->bias + first + 4);
    int32x4_t a1 = a0, b1 = b0, a2 = a0, b2 = b0, a3 = a0, b3 = b0;
    x += first;
    for (int32_t t = 0; t < taps->taps; t += 2, w += 2 * TA_DW_GROUP) {
        const int8x8x2_t two = vld2_s8(w);
        const int16x8_t w0 = vmovl_s8(two.val[0]), w1 = vmovl_s8(two.val[1]);
        const int8_t *one = x + at[t], *other = x + at[t + 1];
        TA_DW_PIXEL_NEON(a0, b0, one, other);
        TA_DW_PIXEL_NEON(a1, b1, one + step, other + step);
        TA_DW_PIXEL_NEON(a2, b2, one + 2 * step, other + 2 * step);
        TA_DW_PIXEL_NEON(a3, b3, one + 3 * step, other + 3 * step);
    }
    sums += first;
    vst1q_s32(sums, a0);
    vst1q_s32(sums + 4, b0);
    vst1q_s32(sums + TA_DW_GROUP, a1);
    vst1q_s32(sums + TA_DW_GROUP + 4, b1);
    vst1q_s32(sums + 2 * TA_DW_GROUP, a2);
    vst1q_s32(sums + 2 * TA_DW_GROUP + 4, b2);
    vst1q_s32(sums + 3 * TA_DW_GROUP, a3);
    vst1q_s32(sums + 3 * TA_DW_GROUP + 4, b3);
}

static inline void ta_s8_dw_sums_neon(const ta_s8_taps *taps, const int32_t *at, int32_t *sums, const int8_t *x,
                                      int32_t step, int32_t pixels, int32_t count)
{
    for (int32_t first = 0; first < count; first += 8) {
        if (pixels == TA_DW_PIXELS && !taps->conv->is_unsigned) {
            ta_s8_dw_4_neon(taps, at, sums, x, step, first);
            continue;
        }
        for (int32_t pixel = 0; pixel < pixels; ++pixel) {
            ta_s8_dw_1_neon(taps, at, sums + pixel * TA_DW_GROUP, x + pixel * step, first);
        }
    }
}
#endif

#ifdef TA_KERNELS_RVV
/* 8 channels of one window. */
static inline void ta_s8_dw_8_rvv(const ta_s8_taps *taps, const int32_t *at, int32_t *sums, const int8_t *x,
                                  int32_t first)
{
    const int8_t *w = taps->w + 2 * first;
    vint32m2_t sum = __riscv_vle32_v_i32m2(taps->bias + first, 8);
    for (int32_t t = 0; t < taps->taps; ++t) {
        const vint8mf2_t value = __riscv_vle8_v_i8mf2(x + first + at[t], 8);
        const vuint8mf2_t bits = __riscv_vreinterpret_v_i8mf2_u8mf2(value);
        const vint8mf2_t some = __riscv_vlse8_v_i8mf2(w + t / 2 * 2 * TA_DW_GROUP + t % 2, 2, 8);
        const vint16m1_t wide = taps->conv->is_unsigned
                                    ? __riscv_vreinterpret_v_u16m1_i16m1(__riscv_vzext_vf2_u16m1(bits, 8))
                                    : __riscv_vsext_vf2_i16m1(value, 8);
        sum = __riscv_vwmacc_vv_i32m2(sum, wide, __riscv_vsext_vf2_i16m1(some, 8), 8);
    }
    __riscv_vse32_v_i32m2(sums + first, sum, 8);
}
#endif

/* sums[pixel][c] of `count` channels: 8, 16, or where a group is not full any number of gathered ones, whose
 * sums are rounded up to one of these. Taps lie at the distances `at` from the beginning of a window. */
static inline void ta_s8_dw_sums(const ta_s8_taps *taps, const int32_t *at, int32_t *sums, const int8_t *x,
                                 int32_t step, int32_t pixels, int32_t count)
{
#ifdef TA_KERNELS_X86
    if (TA_HAS_AVX2) {
        ta_s8_dw_sums_avx2(taps, at, sums, x, step, pixels, count);
        return;
    }
#endif
#ifdef TA_KERNELS_NEON
    ta_s8_dw_sums_neon(taps, at, sums, x, step, pixels, count);
#elif defined(TA_KERNELS_RVV)
    (void)step;
    (void)pixels;
    for (int32_t first = 0; first < count; first += 8) {
        ta_s8_dw_8_rvv(taps, at, sums, x, first);
    }
#else
    for (int32_t pixel = 0; pixel < pixels; ++pixel, x += step, sums += TA_DW_GROUP) {
        const int8_t *w = taps->w;
        memcpy(sums, taps->bias, TA_DW_GROUP * sizeof *sums);
        for (int32_t t = 0; t < taps->taps; t += 2, w += 2 * TA_DW_GROUP) {
            const int8_t *one = x + at[t], *two = x + at[t + 1];
            if (taps->conv->is_unsigned) {
                for (int32_t c = 0; c < count; ++c) {
                    sums[c] += (one[c] & 0xff) * w[2 * c] + (two[c] & 0xff) * w[2 * c + 1];
                }
            } else {
                for (int32_t c = 0; c < count; ++c) {
                    sums[c] += one[c] * w[2 * c] + two[c] * w[2 * c + 1];
                }
            }
        }
    }
#endif
}

/* `count` channels of the window whose first tap is at row y and column x of the image; `lines` has
 * TA_DW_GROUP bytes for each tap. */
static inline void ta_s8_dw_gather(const ta_s8_depthwise *conv, int8_t *lines, const int8_t *image, int32_t y,
                                   int32_t x, int32_t count)
{
    for (int32_t ky = 0; ky < conv->kernel_height; ++ky, y += conv->dilation_y) {
        int32_t column = x;
        for (int32_t kx = 0; kx < conv->kernel_width; ++kx, column += conv->dilation_x, lines += TA_DW_GROUP) {
            if (y < 0 || y >= conv->height || column < 0 || column >= conv->width) {
                memset(lines, conv->pad, TA_DW_GROUP);
            } else if (count == TA_DW_GROUP) {
                memcpy(lines, image + (y * conv->width + column) * conv->channels, TA_DW_GROUP);
            } else {
                memcpy(lines, image + (y * conv->width + column) * conv->channels, (size_t)count);
            }
        }
    }
}

/* The output columns whose windows lie inside the image: from `begin` to `end`. */
static inline void ta_s8_dw_inner(const ta_s8_depthwise *conv, int32_t *begin, int32_t *end)
{
    const int32_t reach = (conv->kernel_width - 1) * conv->dilation_x;
    const int32_t room = conv->width - 1 - reach + conv->left;
    *begin = (conv->left + conv->stride_x - 1) / conv->stride_x;
    *end = room < 0 ? 0 : room / conv->stride_x + 1;
    *end = *end < conv->out_width ? *end : conv->out_width;
    *begin = *begin < *end ? *begin : *end;
}

/* A row of the output, whose first pixel has the number `first`: `count` outputs from output `n` on. */
TA_PART void ta_s8_dw_row(const ta_s8_taps *taps, const ta_s8_end *end, const int8_t *image, int32_t y,
                                int32_t n, int32_t count, int8_t *out, int64_t first)
{
    const ta_s8_depthwise *conv = taps->conv;
    const int32_t reach = (conv->kernel_height - 1) * conv->dilation_y;
    int32_t sums[TA_DW_PIXELS * TA_DW_GROUP], begin = 0, stop = 0;
    int8_t lines[TA_DW_TAPS * TA_DW_GROUP];
    if (y >= 0 && y + reach < conv->height && count % 8 == 0) {
        ta_s8_dw_inner(conv, &begin, &stop);
    }
    memset(lines, 0, sizeof lines);
    for (int32_t column = 0; column < conv->out_width;) {
        const int32_t x = column * conv->stride_x - conv->left;
        int32_t pixels = 1;
        if (column >= begin && column < stop) {
            const int32_t step = conv->stride_x * conv->channels;
            pixels = stop - column < TA_DW_PIXELS ? stop - column : TA_DW_PIXELS;
            ta_s8_dw_sums(taps, taps->at, sums, image + (y * conv->width + x) * conv->channels, step, pixels, count);
        } else {
            ta_s8_dw_gather(conv, lines, image, y, x, count);
            ta_s8_dw_sums(taps, ta_s8_gathered, sums, lines, 0, 1, count);
        }
        ta_s8_finish(end, n, pixels, count, sums, TA_DW_GROUP, out, first + column, conv->apart);
        column += pixels;
    }
}

#include "kernels/s8_depthwise_arm_m.h"

/* The whole convolution, whatever its kernel. A pair that lacks its second tap repeats the first, with a weight of
 * 0. */
TA_PART void ta_s8_dw_any(const ta_s8_depthwise *conv, const ta_s8_end *end, const int8_t *x, const int8_t *w,
                          const int32_t *bias, int8_t *out)
{
    ta_s8_taps taps;
    const int32_t count = conv->kernel_height * conv->kernel_width;
    taps.conv = conv;
    taps.taps = (count + 1) / 2 * 2;
    for (int32_t t = 0; t < taps.taps; ++t) {
        const int32_t ky = t / conv->kernel_width, kx = t % conv->kernel_width;
        const int32_t pixel = ky * conv->dilation_y * conv->width + kx * conv->dilation_x;
        taps.at[t] = t < count ? pixel * conv->channels : taps.at[t - 1];
    }
    for (int32_t n = 0, some; n < conv->channels; n += some) {
        const int32_t left = conv->channels - n;
        some = left >= TA_DW_GROUP ? TA_DW_GROUP : left >= 8 ? 8 : left;
        taps.w = w + n / TA_DW_GROUP * taps.taps * TA_DW_GROUP + n % TA_DW_GROUP * 2;
        taps.bias = bias + n;
#ifdef TA_KERNELS_X86
        if (TA_HAS_AVX2) {
            ta_s8_widen_avx2(&taps);
        }
#endif
        for (int32_t row = 0; row < conv->batch * conv->out_height; ++row) {
            const int32_t image = row / conv->out_height, y = row % conv->out_height;
            const int8_t *from = x + (int64_t)image * conv->height * conv->width * conv->channels + n;
            ta_s8_dw_row(&taps, end, from, y * conv->stride_y - conv->top, n, some, out,
                         (int64_t)row * conv->out_width);
        }
    }
}

/* The whole convolution. */
static inline void ta_s8_convolve_depthwise(const ta_s8_depthwise *conv, const ta_s8_end *end, const int8_t *x,
                                            const int8_t *w, const int32_t *bias, int8_t *out)
{
#if defined(TA_KERNELS_DSP) || defined(TA_KERNELS_MVE)
    if (ta_s8_dw_3x3_takes(conv, end)) {
        ta_s8_dw_3x3(conv, end, x, w, bias, out);
        return;
    }
#endif
    ta_s8_dw_any(conv, end, x, w, bias, out);
}

#endif
