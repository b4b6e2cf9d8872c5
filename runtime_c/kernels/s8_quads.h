/* Sums of products of 8-bit values, weights packed in fours: the layout `quads`. The contract of a layout is in
 * `s8_pairs.h`.
 *
 * For N outputs and K products each, weights are int8 w[N / 2][K / 4][2][4], both rounded up, zeros where there is
 * nothing. The four of a group are those of k, k + 2, k + 1, k + 3: so SXTB16 makes two pairs of consecutive
 * 16-bit values of a word, which SMLAD multiplies with pairs of the panel. The packed weights are aligned to 4.
 *
 * Forms: portable, Arm DSP extension.
 */
#ifndef TA_KERNELS_S8_QUADS_H
#define TA_KERNELS_S8_QUADS_H

#include <stdint.h>
#include <string.h>

#include "kernels/arm_m.h"

#define TA_S8_LAYOUT "quads"
#define TA_S8_BLOCK 2
#define TA_S8_DEPTH 4
#define TA_S8_ROWS 3
#define TA_S8_OUTPUTS 16
#define TA_S8_PANEL 72
#define TA_S8_MORE 0
#define TA_S8_RESIDENT 16384

typedef int16_t ta_s8_cell;

#ifdef TA_KERNELS_DSP
static inline void ta_s8_fill_four(ta_s8_cell *panel, const int8_t *x)
{
    const uint32_t four = ta_word(x);
    const int16x2_t even = ta_even(four), odd = ta_odd(four);
    const uint32_t low = ta_lower(even, odd), high = ta_upper(even, odd);
    (void)memcpy(panel, &low, sizeof low);
    (void)memcpy(panel + 2, &high, sizeof high);
}
#endif

/* Copies `count` values to the panel. */
static inline void ta_s8_fill(ta_s8_cell *panel, const int8_t *x, int32_t count)
{
    int32_t k = 0;
#ifdef TA_KERNELS_DSP
    for (; k + 8 <= count; k += 8) {
        ta_s8_fill_four(panel + k, x + k);
        ta_s8_fill_four(panel + k + 4, x + k + 4);
    }
    if (k + 4 <= count) {
        ta_s8_fill_four(panel + k, x + k);
        k += 4;
    }
#endif
    for (; k < count; ++k) {
        panel[k] = x[k];
    }
}

/* Copies `count` values of type uint8, less 128 each, to the panel. */
static inline void ta_s8_fill_unsigned(ta_s8_cell *panel, const int8_t *x, int32_t count)
{
    for (int32_t k = 0; k < count; ++k) {
        panel[k] = (ta_s8_cell)((x[k] & 0xff) - 128);
    }
}

/* Puts `value` into `count` cells. */
static inline void ta_s8_pad(ta_s8_cell *panel, int32_t value, int32_t count)
{
    for (int32_t k = 0; k < count; ++k) {
        panel[k] = (ta_s8_cell)value;
    }
}

#ifdef TA_KERNELS_DSP
/* The values that the loop over blocks keeps in memory, since all registers are taken. */
typedef struct {
    const int32_t *start;
    int32_t *sums;
    const ta_s8_cell *panel;
    const int8_t *w;
    int32_t step;   /* bytes */
    int32_t skip;   /* bytes from the end of a block in the weights to the next */
    int32_t blocks; /* that are left */
    int32_t odd;    /* not 0 where the number of fours is odd */
    const ta_s8_cell *stop;
} ta_s8_quads;

/* Four k of two outputs become pairs: r8 and r10 of the first, r9 and r11 of the second. Times those of a row of the
 * panel, in r12 and lr, they are added to two sums. A core that issues two instructions at once loads and widens beside
 * its multiplications: those of a row begin with the values of the next one on their way. */
#define TA_QUAD_FIRST                \
    "ldrd   r10, r11, [r1], #8\n"    \
    "ldrd   r12, lr, [r0], #8\n"     \
    "sxtb16 r8, r10\n"               \
    "sxtb16 r9, r11\n"               \
    "smlad  r2, r8, r12, r2\n"       \
    "sxtb16 r10, r10, ror #8\n"      \
    "smlad  r3, r9, r12, r3\n"       \
    "sxtb16 r11, r11, ror #8\n"      \
    "smlad  r2, r10, lr, r2\n"
#define TA_QUAD_NEXT(before, a, b, row)            \
    "ldr    r12, [r0, %[" row "]]\n"               \
    "smlad  " before ", r11, lr, " before "\n"     \
    "ldr    lr, [r0, %[" row "] + 4]\n"            \
    "smlad  " a ", r8, r12, " a "\n"               \
    "smlad  " b ", r9, r12, " b "\n"               \
    "smlad  " a ", r10, lr, " a "\n"
#define TA_QUAD_ROWS                        \
    TA_QUAD_FIRST                           \
    TA_QUAD_NEXT("r3", "r4", "r5", "second") \
    TA_QUAD_NEXT("r5", "r6", "r7", "third")  \
    "smlad  r7, r11, lr, r7\n"

/* All blocks of three rows. Register r7 may be the frame pointer, so it is saved here; 16 bytes of stack. */
static inline void ta_s8_tile_3_dsp(ta_s8_quads *all)
{
    register ta_s8_quads *r0 __asm__("r0") = all;
    __asm__ volatile("ldr    r1, [r0, #32]\n"
                     "push   {r0, r1, r2, r7}\n"
                     "1:\n"
                     "ldr    r12, [sp]\n"
                     "ldr    lr, [r12]\n"
                     "ldrd   r0, r1, [r12, #8]\n"
                     "ldr    r8, [r12, #16]\n"
                     "ldrd   r2, r3, [lr], #8\n"
                     "str    lr, [r12]\n"
                     "add    lr, r8\n"
                     "ldrd   r4, r5, [lr, #-8]\n"
                     "add    lr, r8\n"
                     "ldrd   r6, r7, [lr, #-8]\n"
                     "ldr    r8, [r12, #28]\n"
                     "cmp    r8, #0\n"
                     "bne    3f\n"
                     "2:\n" TA_QUAD_ROWS "3:\n" TA_QUAD_ROWS
                     "ldr    r12, [sp, #4]\n"
                     "cmp    r0, r12\n"
                     "bne    2b\n"
                     "ldr    r12, [sp]\n"
                     "ldr    lr, [r12, #4]\n"
                     "strd   r4, r5, [lr, %[sums]]\n"
                     "strd   r6, r7, [lr, %[last]]\n"
                     "strd   r2, r3, [lr], #8\n"
                     "str    lr, [r12, #4]\n"
                     "ldrd   r8, r9, [r12, #20]\n"
                     "add    r1, r8\n"
                     "str    r1, [r12, #12]\n"
                     "subs   r9, #1\n"
                     "str    r9, [r12, #24]\n"
                     "bne    1b\n"
                     "pop    {r0, r1, r2, r7}\n"
                     : "+r"(r0)
                     : [second] "i"(2 * TA_S8_PANEL - 8), [third] "i"(4 * TA_S8_PANEL - 8),
                       [sums] "i"(4 * TA_S8_OUTPUTS), [last] "i"(8 * TA_S8_OUTPUTS)
                     : "r1", "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r11", "r12", "lr", "cc", "memory");
}

/* Four k of two outputs of one row. */
#define TA_QUAD_ALONE                            \
    "ldrd   %[t2], %[t3], [%[w]], #8\n"          \
    "ldrd   %[x0], %[x1], [%[x]], #8\n"          \
    "sxtb16 %[t0], %[t2]\n"                      \
    "sxtb16 %[t1], %[t3]\n"                      \
    "sxtb16 %[t2], %[t2], ror #8\n"              \
    "sxtb16 %[t3], %[t3], ror #8\n"              \
    "smlad  %[a], %[t0], %[x0], %[a]\n"          \
    "smlad  %[b], %[t1], %[x0], %[b]\n"          \
    "smlad  %[a], %[t2], %[x1], %[a]\n"          \
    "smlad  %[b], %[t3], %[x1], %[b]\n"

/* Two outputs of one row. */
static inline void ta_s8_tile_1_dsp(int32_t *sums, const int32_t *start, const ta_s8_cell *x, int32_t depth,
                                    const int8_t *w)
{
    const ta_s8_cell *const stop = x + depth;
    int32_t a = start[0], b = start[1];
    uint32_t t0, t1, t2, t3, x0, x1;
    __asm__("tst    %[depth], #4\n"
            "bne    2f\n"
            "1:\n" TA_QUAD_ALONE "2:\n" TA_QUAD_ALONE
            "cmp    %[x], %[stop]\n"
            "bne    1b\n"
            : [a] "+r"(a), [b] "+r"(b), [x] "+r"(x), [w] "+r"(w), [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2),
              [t3] "=&r"(t3), [x0] "=&r"(x0), [x1] "=&r"(x1)
            : [stop] "r"(stop), [depth] "r"(depth)
            : "cc", "memory");
    sums[0] = a;
    sums[1] = b;
}
#endif

/* One row, two outputs. */
static inline void ta_s8_tile_portable(int32_t *sums, const int32_t *start, const ta_s8_cell *x, int32_t depth,
                                       const int8_t *w)
{
    int32_t a = start[0], b = start[1];
    for (int32_t k = 0; k < depth; k += 4, w += 8) {
        a += x[k] * w[0] + x[k + 1] * w[2] + x[k + 2] * w[1] + x[k + 3] * w[3];
        b += x[k] * w[4] + x[k + 1] * w[6] + x[k + 2] * w[5] + x[k + 3] * w[7];
    }
    sums[0] = a;
    sums[1] = b;
}

TA_PART void ta_s8_tile(int32_t rows, int32_t *sums, const int32_t *start, int32_t step,
                              const ta_s8_cell *panel, int32_t depth, const int8_t *w, int32_t apart,
                              int32_t blocks, int narrow)
{
    (void)narrow;
#ifdef TA_KERNELS_DSP
    if (rows > 1) { /* of two rows the third is computed and not used */
        ta_s8_quads all = {start, sums, panel, w, 4 * step, apart - 2 * depth, blocks, depth & 4, panel + depth};
        ta_s8_tile_3_dsp(&all);
        return;
    }
#endif
    for (int32_t block = 0; block < blocks; ++block, sums += 2, start += 2, w += apart) {
#ifdef TA_KERNELS_DSP
        ta_s8_tile_1_dsp(sums, start, panel, depth, w);
#else
        for (int32_t r = 0; r < rows; ++r) {
            ta_s8_tile_portable(sums + r * TA_S8_OUTPUTS, start + r * step, panel + r * TA_S8_PANEL, depth, w);
        }
#endif
    }
}

#endif
