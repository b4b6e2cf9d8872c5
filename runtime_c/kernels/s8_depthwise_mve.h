/* Depthwise convolution with a kernel of 3x3 for Arm MVE: a form of `s8_depthwise_arm_m.h`, which includes this file.
 *
 * Eight channels at a time, the last of which may be computed twice. Three lines of a strip of the image stand in a ring
 * on the stack, with the pixels outside, so that no window has a condition and every row of the image is read once for
 * each strip.
 */
#ifndef TA_KERNELS_S8_DEPTHWISE_MVE_H
#define TA_KERNELS_S8_DEPTHWISE_MVE_H

#include "kernels/arm_m.h"

#ifdef TA_KERNELS_MVE
#define TA_DW_LANES 8
#define TA_DW_LINE 20  /* pixels of a strip of the image */
#define TA_DW_STRIDE 3 /* the greatest */
#define TA_DW_LEAST 33 /* shift of `tflite_single` */

/* One pixel of a line. */
typedef struct {
    int8_t lane[TA_DW_LANES];
} ta_dw_cell;

/* Channels that are computed together. The assembly knows the offsets of these members. */
typedef struct {
    ta_dw_cell w[9];
    int32_t bias[TA_DW_LANES];
    int32_t multiplier[TA_DW_LANES], right[TA_DW_LANES]; /* even channels, then odd ones; so is the bias */
    const ta_dw_cell *line[3]; /* of the window's rows */
    int32_t step;              /* bytes from a window to the next */
    int8_t *out;
    int32_t apart; /* bytes from an output to the next */
    int32_t count; /* of outputs */
} ta_dw_lanes;

/* The weight of a tap and a channel; see the layout. */
static inline int8_t ta_s8_dw_weight(const int8_t *w, int32_t tap, int32_t n)
{
    return w[n / 16 * 160 + tap / 2 * 32 + n % 16 * 2 + tap % 2];
}

static inline void ta_s8_dw_lanes(ta_dw_lanes *all, const ta_s8_end *end, const int8_t *w, const int32_t *bias,
                                  int32_t n)
{
    for (int32_t i = 0; i < TA_DW_LANES; ++i) {
        const int32_t own = (n + i) * end->scale->each;
        const int32_t at = i / 2 + i % 2 * 4;
        all->bias[at] = bias[n + i];
        all->multiplier[at] = end->multiplier[own];
        all->right[at] = (ta_s8_rounding(end->rounding) == TA_S8_TFLITE ? 0 : 32) - end->shift[own];
        for (int32_t t = 0; t < 9; ++t) {
            all->w[t].lane[i] = ta_s8_dw_weight(w, t, n + i);
        }
    }
}

/* `count` pixels outside the image: `pad`. Returns the cell after them. */
static inline ta_dw_cell *ta_s8_dw_outside(ta_dw_cell *line, int32_t pad, int32_t count)
{
    for (; count > 0; --count, ++line) {
        vstrbq_p_s8(line->lane, vdupq_n_s8((int8_t)pad), 0xff);
    }
    return line;
}

/* `count` pixels of a line: from `first` on those of an image row, outside it or without a row `pad`. */
TA_PART void ta_s8_dw_line(ta_dw_cell *line, const ta_s8_depthwise *conv, const int8_t *row, int32_t first,
                                 int32_t count)
{
    const int32_t width = row == NULL ? 0 : conv->width, last = first + count;
    const int32_t begin = first > 0 ? first : last < 0 ? last : 0;
    const int32_t end = last < width ? last : width > begin ? width : begin;
    line = ta_s8_dw_outside(line, conv->pad, begin - first);
    if (end > begin) {
        const int8_t *from = row + begin * conv->channels;
        __asm__ volatile("dls   lr, %[count]\n"
                         "1:\n"
                         "vldrb.u16 q0, [%[from]]\n"
                         "add   %[from], %[from], %[apart]\n"
                         "vstrb.16 q0, [%[line]], #8\n"
                         "le    lr, 1b\n"
                         : [line] "+l"(line), [from] "+l"(from)
                         : [count] "r"(end - begin), [apart] "r"(conv->channels)
                         : "lr", "q0", "memory");
    }
    (void)ta_s8_dw_outside(line, conv->pad, last - end);
}

/* The products of 8 channels with one tap, or two, whose sum takes 16 bits; added to even channels and odd ones. */
#define TA_DW_PRODUCT(product, weights, line, x, w)    \
    "vldrb.s16 " product ", [" line ", #" x "]\n"      \
    "vldrb.s16 " weights ", [r0, #" w "]\n"            \
    "vmul.i16  " product ", " product ", " weights "\n"
#define TA_DW_SUM               \
    "vmovlb.s16 q3, q2\n"       \
    "vmovlt.s16 q2, q2\n"       \
    "vadd.i32  q0, q0, q3\n"    \
    "vadd.i32  q1, q1, q2\n"
#define TA_DW_TWO(line0, x0, w0, line1, x1, w1) \
    TA_DW_PRODUCT("q2", "q3", line0, x0, w0)    \
    TA_DW_PRODUCT("q4", "q5", line1, x1, w1)    \
    "vadd.i16  q2, q2, q4\n" TA_DW_SUM

/* The upper halves of the products of the sums in q0 and q1 with q2 and q3, as they are rounded first; q4 and q5 become
 * the shifts of what is left. */
#define TA_DW_SHIFTS                 \
    "vldrw.32 q4, [r0, #136]\n"      \
    "vldrw.32 q5, [r0, #152]\n"
#define TA_DW_TFLITE                 \
    "vqrdmulh.s32 q0, q0, q2\n"      \
    "vqrdmulh.s32 q1, q1, q3\n"      \
    TA_DW_SHIFTS                     \
    "vshr.s32 q2, q0, #31\n"         \
    "vshr.s32 q3, q1, #31\n"         \
    "vadd.i32 q0, q0, q2\n"          \
    "vadd.i32 q1, q1, q3\n"
#define TA_DW_SINGLE                 \
    "vmulh.s32 q0, q0, q2\n"         \
    "vmulh.s32 q1, q1, q3\n"         \
    TA_DW_SHIFTS

/* A row of outputs. Register r7 may be the frame pointer and is left alone. */
#define TA_DW_ROW(halves) \
    "ldrd   r1, r2, [r0, #168]\n"                         \
    "ldrd   r3, r4, [r0, #176]\n"                         \
    "ldrd   r6, r5, [r0, #184]\n"                         \
    "ldr    r12, [r0, #192]\n"                            \
    "dls    lr, r12\n"                                    \
    "1:\n"                                                \
    "vldrw.32 q0, [r0, #72]\n"                            \
    "vldrw.32 q1, [r0, #88]\n"                            \
    TA_DW_TWO("r1", "0", "0", "r1", "8", "8")             \
    TA_DW_TWO("r1", "16", "16", "r2", "0", "24")          \
    TA_DW_TWO("r2", "8", "32", "r2", "16", "40")          \
    TA_DW_TWO("r3", "0", "48", "r3", "8", "56")           \
    TA_DW_PRODUCT("q2", "q3", "r3", "16", "64") TA_DW_SUM \
    "vldrw.32 q2, [r0, #104]\n"                           \
    "vldrw.32 q3, [r0, #120]\n"                           \
    halves                                                \
    "vrshl.s32 q0, q0, q4\n"                              \
    "vrshl.s32 q1, q1, q5\n"                              \
    "add    r1, r4\n"                                     \
    "vqmovnb.s32 q2, q0\n"                                \
    "vqmovnt.s32 q2, q1\n"                                \
    "add    r2, r4\n"                                     \
    "vqadd.s16 q2, q2, r8\n"                              \
    "add    r3, r4\n"                                     \
    "vqmovnb.s16 q2, q2\n"                                \
    "vstrb.16 q2, [r6]\n"                                 \
    "add    r6, r5\n"                                     \
    "le     lr, 1b\n"
#define TA_DW_ASSEMBLY(halves)                                                                                  \
    __asm__ volatile(TA_DW_ROW(halves)                                                                         \
                     : "+r"(r0)                                                                                \
                     : "r"(r8)                                                                                 \
                     : "r1", "r2", "r3", "r4", "r5", "r6", "r12", "lr", "q0", "q1", "q2", "q3", "q4", "q5",    \
                       "memory")

static inline void ta_s8_dw_row_3x3(ta_dw_lanes *all, int32_t offset, int rounding)
{
    register ta_dw_lanes *r0 __asm__("r0") = all;
    register int32_t r8 __asm__("r8") = offset;
    if (rounding == TA_S8_TFLITE) {
        TA_DW_ASSEMBLY(TA_DW_TFLITE);
    } else {
        TA_DW_ASSEMBLY(TA_DW_SINGLE);
    }
}

/* A strip of all rows of an image: outputs from column `column` on, `all->count` of them. */
static inline void ta_s8_dw_strip(ta_dw_lanes *all, const ta_s8_depthwise *conv, const int8_t *image, int8_t *out,
                                  int32_t column, const ta_s8_end *end)
{
    ta_dw_cell ring[3][TA_DW_LINE];
    const int32_t first = column * conv->stride_x - conv->left, width = (all->count - 1) * conv->stride_x + 3;
    int32_t row = -conv->top, slot = 0, from = 0;
    for (int32_t y = 0; y < conv->out_height; ++y) {
        for (; from < 3; ++from, ++row) {
            const int8_t *line = row < 0 || row >= conv->height ? NULL : image + row * conv->width * conv->channels;
            ta_s8_dw_line(ring[slot], conv, line, first, width);
            slot = slot == 2 ? 0 : slot + 1;
        }
        for (int32_t r = 0; r < 3; ++r) {
            all->line[r] = ring[(slot + r) % 3];
        }
        all->out = out + (y * conv->out_width + column) * conv->apart;
        ta_s8_dw_row_3x3(all, end->scale->offset, ta_s8_rounding(end->rounding));
        from = 3 - conv->stride_y;
    }
}

/* The whole convolution. */
TA_PART void ta_s8_dw_3x3(const ta_s8_depthwise *conv, const ta_s8_end *end, const int8_t *x, const int8_t *w,
                                const int32_t *bias, int8_t *out)
{
    const int32_t most = (TA_DW_LINE - 3) / conv->stride_x + 1;
    ta_dw_lanes all;
    all.step = conv->stride_x * (int32_t)sizeof(ta_dw_cell);
    all.apart = conv->apart;
    for (int32_t group = 0; group < conv->channels; group += TA_DW_LANES) {
        const int32_t last = conv->channels - TA_DW_LANES, n = group < last ? group : last;
        ta_s8_dw_lanes(&all, end, w, bias, n);
        for (int32_t image = 0; image < conv->batch; ++image) {
            const int8_t *from = x + image * conv->height * conv->width * conv->channels + n;
            int8_t *to = out + image * conv->out_height * conv->out_width * conv->apart + n;
            for (int32_t column = 0; column < conv->out_width; column += all.count) {
                all.count = conv->out_width - column < most ? conv->out_width - column : most;
                ta_s8_dw_strip(&all, conv, from, to, column, end);
            }
        }
    }
}
#endif

#endif
