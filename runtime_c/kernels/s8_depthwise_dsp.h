/* Depthwise convolution with a kernel of 3x3 for the Arm DSP extension: a form of `s8_depthwise_arm_m.h`, which
 * includes this file.
 *
 * Four channels at a time, the last of which may be computed twice. Three lines of a strip of the image stand in a ring
 * on the stack, with the pixels outside, each channel for itself, as pairs of 16-bit values: SMLAD multiplies two
 * neighbours of a line, and a register serves two outputs. Every line is read once for each strip. Strips follow the
 * longer side of the output.
 *
 * Weights and bias are doubled, so that SMMULR of the sum is the first rounding of `tflite`. For `tflite_single` SMMUL
 * leaves out what the shift to the right drops anyway, which is one more for the doubled sum.
 */
#ifndef TA_KERNELS_S8_DEPTHWISE_DSP_H
#define TA_KERNELS_S8_DEPTHWISE_DSP_H

#include "kernels/arm_m.h"

#ifdef TA_KERNELS_DSP
#define TA_DW_LANES 4
#define TA_DW_LINE 20   /* values of a channel in a line */
#define TA_DW_STRIDE 2  /* the greatest */
#define TA_DW_LEAST 32  /* shift of `tflite_single` */

/* Added to the shift of a channel whose rounding is `tflite_single`: a shift by a register is by its lowest byte. */
#define TA_DW_SINGLE_SHIFT 256

/* A channel. The assembly knows the offsets of these members. */
typedef struct {
    int32_t bias, multiplier, added, shift;
    const int8_t *last; /* output of a line */
    int32_t apart;      /* bytes from an output to the next */
    int16_t w[3][4];    /* weights 0, 1, 1 and 2 of each line */
} ta_dw_lane;

/* An axis of the image. */
typedef struct {
    int32_t size, outputs, stride;
    int32_t before; /* padding */
    int32_t step;   /* bytes from a pixel to the next */
    int32_t apart;  /* bytes from an output to the next */
} ta_dw_axis;

/* The weight of a tap and a channel; see the layout. */
static inline int32_t ta_s8_dw_weight(const int8_t *w, int32_t tap, int32_t n)
{
    return w[n / 16 * 160 + tap / 2 * 32 + n % 16 * 2 + tap % 2];
}

/* Channels from `n` on. A tap is `line` taps from that of the next line, and `next` from its neighbour in a line. */
TA_PART void ta_s8_dw_lanes(ta_dw_lane *lanes, const ta_s8_end *end, const int8_t *w, const int32_t *bias, int32_t n,
                            int32_t line, int32_t next)
{
    for (int32_t i = 0; i < TA_DW_LANES; ++i, ++lanes, ++n) {
        const int32_t own = n * end->scale->each;
        const int single = ta_s8_rounding(end->rounding) == TA_S8_TFLITE ? 0 : 1;
        const int32_t shift = single ? end->shift[own] - 31 : end->shift[own];
        lanes->bias = 2 * bias[n];
        lanes->multiplier = end->multiplier[own];
        lanes->added = ta_s8_offset_and_half(end->scale->offset, shift);
        lanes->shift = single ? shift + TA_DW_SINGLE_SHIFT : shift;
        for (int32_t t = 0; t < 3; ++t) {
            lanes->w[t][0] = (int16_t)(2 * ta_s8_dw_weight(w, t * line, n));
            lanes->w[t][1] = (int16_t)(2 * ta_s8_dw_weight(w, t * line + next, n));
            lanes->w[t][2] = lanes->w[t][1];
            lanes->w[t][3] = (int16_t)(2 * ta_s8_dw_weight(w, t * line + 2 * next, n));
        }
    }
}

/* Four channels of two neighbours become a pair of each. */
static inline void ta_s8_dw_paired(uint32_t *pairs, uint32_t a, uint32_t b)
{
    const int16x2_t a0 = ta_even(a), a1 = ta_odd(a), b0 = ta_even(b), b1 = ta_odd(b);
    pairs[0] = ta_lower(a0, b0);
    pairs[TA_DW_LINE / 2] = ta_lower(a1, b1);
    pairs[TA_DW_LINE] = ta_upper(a0, b0);
    pairs[TA_DW_LINE * 3 / 2] = ta_upper(a1, b1);
}

/* `count` values of each channel, rounded up to pairs: from pixel `first` on those of an image line, outside it or
 * without a line `pad`, which has the values of four channels. */
TA_PART void ta_s8_dw_line(uint32_t *pairs, const ta_dw_axis *along, const int8_t *line, int32_t first, int32_t count,
                           uint32_t pad)
{
    const int32_t size = line == NULL ? 0 : along->size, step = along->step, stop = first + count;
    const int32_t inside = stop < size ? stop : size - 1;
    while (first < stop) {
        if (first < 0 || first >= inside) {
            const uint32_t a = first >= 0 && first < size ? ta_word(line + first * step) : pad;
            const uint32_t b = first >= -1 && first + 1 < size ? ta_word(line + (first + 1) * step) : pad;
            ta_s8_dw_paired(pairs, a, b);
            first += 2;
            ++pairs;
            continue;
        }
        for (const int8_t *at = line + first * step; first < inside; first += 2, ++pairs, at += 2 * step) {
            ta_s8_dw_paired(pairs, ta_word(at), ta_word(at + step));
        }
    }
}

/* Two neighbours, of windows one or two pixels apart: products with the values of a line, whose weights are w0 and w1.
 * For two pixels the third pair of values is read where the line goes on. `then` does not wait for the values. */
#define TA_DW_TAPS_1(load, third, w0, w1, then) \
    "ldrd   r2, r3, " load "\n" then            \
    "smlad  r4, r2, " w0 ", r4\n"               \
    "smlatb r5, r2, " w0 ", r5\n"               \
    "smlabt r4, r3, " w1 ", r4\n"               \
    "smlad  r5, r3, " w1 ", r5\n"
#define TA_DW_TAPS_2(load, third, w0, w1, then) \
    "ldrd   r2, r3, " load "\n" then            \
    "smlad  r4, r2, " w0 ", r4\n"               \
    "smlad  r5, r3, " w0 ", r5\n"               \
    "ldr    r2, " third "\n"                    \
    "smlabt r4, r3, " w1 ", r4\n"               \
    "smlabt r5, r2, " w1 ", r5\n"

/* The upper halves of the products of two sums with r2, as they are rounded first. `then` does not wait for them. */
#define TA_DW_TFLITE(then)                                          \
    "smmulr r4, r4, r2\n"                                           \
    "smmulr r5, r5, r2\n" then                                      \
    "add    r4, r4, r4, asr #31\n"                                  \
    "add    r5, r5, r5, asr #31\n"
#define TA_DW_SINGLE(then)                                          \
    "smmul  r4, r4, r2\n"                                           \
    "smmul  r5, r5, r2\n" then

/* A line of outputs of a channel, two at once. Register r7 may be the frame pointer and is left alone. */
#define TA_DW_PAIRS(taps, bytes, halves)                            \
    "ldrd   r6, r8, [r2]\n"                                         \
    "ldrd   r9, r10, [r3]\n"                                        \
    "ldrd   r11, r12, [r4]\n"                                       \
    "mov    lr, r5\n"                                               \
    "1:\n"                                                          \
    "ldr    r4, [r0]\n"                                             \
    taps("[r1, %[second]]", "[r1, %[second] + 8]", "r9", "r10", "mov r5, r4\n") \
    taps("[r1, %[third]]", "[r1, %[third] + 8]", "r11", "r12", "")  \
    taps("[r1], " bytes, "[r1]", "r6", "r8", "")                    \
    "ldr    r2, [r0, #4]\n"                                         \
    halves("ldrd   r2, r3, [r0, #8]\n")                             \
    "add    r4, r2\n"                                               \
    "add    r5, r2\n"                                               \
    "asr    r4, r3\n"                                               \
    "asr    r5, r3\n"                                               \
    "ldrd   r2, r3, [r0, #16]\n"                                    \
    "ssat   r4, #8, r4\n"                                           \
    "ssat   r5, #8, r5\n"                                           \
    "strb   r4, [lr]\n"                                             \
    "add    lr, r3\n"                                               \
    "cmp    lr, r2\n"                                               \
    "bhi    2f\n"                                                   \
    "strb   r5, [lr]\n"                                             \
    "add    lr, r3\n"                                               \
    "blo    1b\n"                                                   \
    "2:\n"

/* Values from `line` on, of three lines, the first of which is number `first`. */
static inline void ta_s8_dw_pairs(const ta_dw_lane *lane, const uint32_t *line, int32_t first, int8_t *out,
                                  int32_t stride)
{
    const int single = TA_S8_HAS_TFLITE_SINGLE && (!TA_S8_HAS_TFLITE || lane->shift >= TA_DW_SINGLE_SHIFT) ? 1 : 0;
    register const ta_dw_lane *r0 __asm__("r0") = lane;
    register const uint32_t *r1 __asm__("r1") = line;
    register const int16_t *r2 __asm__("r2") = lane->w[first == 0 ? 0 : 3 - first];
    register const int16_t *r3 __asm__("r3") = lane->w[first == 2 ? 2 : 1 - first];
    register const int16_t *r4 __asm__("r4") = lane->w[2 - first];
    register int8_t *r5 __asm__("r5") = out;
#define TA_DW_ASSEMBLY(taps, bytes, halves)                                                                    \
    __asm__ volatile(TA_DW_PAIRS(taps, bytes, halves)                                                          \
                     : "+r"(r1), "+r"(r2), "+r"(r3), "+r"(r4), "+r"(r5)                                        \
                     : "r"(r0), [second] "i"(TA_DW_LANES * TA_DW_LINE * 2),                                    \
                       [third] "i"(TA_DW_LANES * TA_DW_LINE * 4)                                               \
                     : "r6", "r8", "r9", "r10", "r11", "r12", "lr", "cc", "memory")
    if (stride == 1 && !single) {
        TA_DW_ASSEMBLY(TA_DW_TAPS_1, "#4", TA_DW_TFLITE);
    } else if (stride == 1) {
        TA_DW_ASSEMBLY(TA_DW_TAPS_1, "#4", TA_DW_SINGLE);
    } else if (!single) {
        TA_DW_ASSEMBLY(TA_DW_TAPS_2, "#8", TA_DW_TFLITE);
    } else {
        TA_DW_ASSEMBLY(TA_DW_TAPS_2, "#8", TA_DW_SINGLE);
    }
}

/* A strip of all lines of an image: outputs from `column` on, `count` of them. */
static inline void ta_s8_dw_strip(ta_dw_lane *lanes, const ta_dw_axis *along, const ta_dw_axis *across,
                                  const int8_t *image, int8_t *out, int32_t column, int32_t count, uint32_t pad)
{
    uint32_t ring[3][TA_DW_LANES][TA_DW_LINE / 2];
    const int32_t first = column * along->stride - along->before, width = (count - 1) * along->stride + 3;
    int32_t row = -across->before, slot = 0, more = 3;
    for (int32_t y = 0; y < across->outputs; ++y, out += across->apart) {
        for (; more > 0; --more, ++row) {
            const int8_t *line = row < 0 || row >= across->size ? NULL : image + row * across->step;
            ta_s8_dw_line(ring[slot][0], along, line, first, width, pad);
            slot = slot == 2 ? 0 : slot + 1;
        }
        int8_t *to = out + column * along->apart;
        for (int32_t i = 0; i < TA_DW_LANES; ++i, ++to) {
            lanes[i].last = to + (count - 1) * along->apart;
            ta_s8_dw_pairs(lanes + i, ring[0][i], slot, to, along->stride);
        }
        more = across->stride;
    }
}

/* The whole convolution. */
TA_PART void ta_s8_dw_3x3(const ta_s8_depthwise *conv, const ta_s8_end *end, const int8_t *x, const int8_t *w,
                          const int32_t *bias, int8_t *out)
{
    const int32_t row = conv->width * conv->channels, out_row = conv->out_width * conv->apart;
    const ta_dw_axis columns = {conv->width, conv->out_width, conv->stride_x, conv->left, conv->channels, conv->apart};
    const ta_dw_axis rows = {conv->height, conv->out_height, conv->stride_y, conv->top, row, out_row};
    const int down = conv->out_height > conv->out_width;
    const ta_dw_axis *const along = down ? &rows : &columns, *const across = down ? &columns : &rows;
    const int32_t most = (TA_DW_LINE - 2) / along->stride / 2 * 2;
    const uint32_t pad = (uint32_t)(conv->pad & 0xff) * 0x01010101u;
    ta_dw_lane lanes[TA_DW_LANES];
    for (int32_t i = 0; i < TA_DW_LANES; ++i) {
        lanes[i].apart = along->apart;
    }
    for (int32_t group = 0; group < conv->channels; group += TA_DW_LANES) {
        const int32_t last = conv->channels - TA_DW_LANES, n = group < last ? group : last;
        ta_s8_dw_lanes(lanes, end, w, bias, n, down ? 1 : 3, down ? 3 : 1);
        for (int32_t image = 0; image < conv->batch; ++image) {
            const int8_t *from = x + image * conv->height * row + n;
            int8_t *to = out + image * conv->out_height * out_row + n;
            for (int32_t column = 0, count; column < along->outputs; column += count) {
                count = along->outputs - column < most ? along->outputs - column : most;
                ta_s8_dw_strip(lanes, along, across, from, to, column, count, pad);
            }
        }
    }
}
#endif

#endif
