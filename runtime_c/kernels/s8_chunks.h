/* Sums of products of 8-bit values, weights packed in sixteens: the layout `chunks`. The contract of a layout is
 * in `s8_pairs.h`.
 *
 * For N outputs and K products each, weights are int8 w[N / 2][K / 16][2][16], both rounded up, zeros where there
 * is nothing: 16 products of an output are one vector, and what VMLADAVA adds to a sum.
 *
 * Forms: portable, Arm MVE.
 */
#ifndef TA_KERNELS_S8_CHUNKS_H
#define TA_KERNELS_S8_CHUNKS_H

#include <stdint.h>
#include <string.h>

#include "kernels/arm_m.h"

#define TA_S8_LAYOUT "chunks"
#define TA_S8_BLOCK 2
#define TA_S8_DEPTH 16
#define TA_S8_ROWS 3
#define TA_S8_OUTPUTS 16
#define TA_S8_PANEL 144
#define TA_S8_MORE 0
#define TA_S8_RESIDENT 16384
#define TA_S8_STRIDED

typedef int8_t ta_s8_cell;

/* Copies `count` values to the panel. */
static inline void ta_s8_fill(ta_s8_cell *panel, const int8_t *x, int32_t count)
{
#ifdef TA_KERNELS_MVE
    __asm__ volatile("wlstp.8 lr, %[count], 2f\n"
                     "1:\n"
                     "vldrb.8 q0, [%[x]], #16\n"
                     "vstrb.8 q0, [%[panel]], #16\n"
                     "letp  lr, 1b\n"
                     "2:\n"
                     : [panel] "+r"(panel), [x] "+r"(x)
                     : [count] "r"(count)
                     : "lr", "q0", "memory");
#else
    (void)memcpy(panel, x, (size_t)count);
#endif
}

/* Copies `count` values of type uint8, less 128 each, to the panel. */
static inline void ta_s8_fill_unsigned(ta_s8_cell *panel, const int8_t *x, int32_t count)
{
    for (int32_t k = 0; k < count; ++k) {
        panel[k] = (ta_s8_cell)(x[k] ^ -128);
    }
}

/* Puts `value` into `count` cells. */
static inline void ta_s8_pad(ta_s8_cell *panel, int32_t value, int32_t count)
{
#ifdef TA_KERNELS_MVE
    for (; count > 0; count -= 16, panel += 16) {
        vstrbq_p_s8(panel, vdupq_n_s8((int8_t)value), vctp8q((uint32_t)count));
    }
#else
    (void)memset(panel, value & 0xff, (size_t)count);
#endif
}

#ifdef TA_KERNELS_MVE
/* The values that the loop over blocks keeps in memory. The assembly knows the offsets of these members. */
typedef struct {
    int32_t step; /* bytes from the starts of a row to those of the next */
    const ta_s8_cell *panel;
    int32_t next;  /* bytes from a row of the panel to the next */
    int32_t count; /* of vectors */
    int32_t skip;  /* bytes from the end of a block in the weights to the next */
    const int32_t *end; /* of the sums of the first row */
    const int32_t *start;
    const int8_t *w;
    int32_t *sums;
} ta_s8_chunks;

/* All blocks of three rows. Sums are in even registers; r7 may be the frame pointer and is kept. */
static inline void ta_s8_tile_3_mve(const ta_s8_chunks *all)
{
    register const ta_s8_chunks *r11 __asm__("r11") = all;
    __asm__ volatile("push  {r7}\n"
                     "ldrd  r7, r1, [r11, #24]\n"
                     "ldr   r12, [r11, #32]\n"
                     "1:\n"
                     "ldrd  lr, r3, [r11]\n"
                     "add   r5, r7, lr\n"
                     "ldrd  r4, r6, [r5]\n"
                     "add   r5, lr\n"
                     "ldrd  r8, r10, [r5]\n"
                     "ldrd  r0, r2, [r7], #8\n"
                     "ldr   lr, [r11, #8]\n"
                     "add   r5, r3, lr\n"
                     "add   r9, r5, lr\n"
                     "ldr   lr, [r11, #12]\n"
                     "dls   lr, lr\n"
                     "2:\n"
                     "vldrb.8 q0, [r1], #16\n"
                     "vldrb.8 q2, [r3], #16\n"
                     "vmladava.s8 r0, q0, q2\n"
                     "vldrb.8 q1, [r1], #16\n"
                     "vmladava.s8 r2, q1, q2\n"
                     "vldrb.8 q3, [r5], #16\n"
                     "vmladava.s8 r4, q0, q3\n"
                     "vldrb.8 q2, [r9], #16\n"
                     "vmladava.s8 r6, q1, q3\n"
                     "vmladava.s8 r8, q0, q2\n"
                     "vmladava.s8 r10, q1, q2\n"
                     "le    lr, 2b\n"
                     "strd  r4, r6, [r12, %[row]]\n"
                     "strd  r8, r10, [r12, %[rows]]\n"
                     "ldrd  r3, r5, [r11, #16]\n"
                     "strd  r0, r2, [r12], #8\n"
                     "add   r1, r3\n"
                     "cmp   r12, r5\n"
                     "bne   1b\n"
                     "pop   {r7}\n"
                     :
                     : "r"(r11), [row] "i"(4 * TA_S8_OUTPUTS), [rows] "i"(8 * TA_S8_OUTPUTS)
                     : "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r12", "lr", "q0", "q1", "q2",
                       "q3", "cc", "memory");
}

/* Two outputs of one row. */
static inline void ta_s8_tile_1_mve(int32_t *sums, const int32_t *start, const ta_s8_cell *x, int32_t depth,
                                    const int8_t *w)
{
    int32_t a = start[0], b = start[1];
    __asm__("dls   lr, %[count]\n"
            "1:\n"
            "vldrb.8 q0, [%[x]], #16\n"
            "vldrb.8 q1, [%[w]], #16\n"
            "vmladava.s8 %[a], q0, q1\n"
            "vldrb.8 q2, [%[w]], #16\n"
            "vmladava.s8 %[b], q0, q2\n"
            "le    lr, 1b\n"
            : [a] "+Te"(a), [b] "+Te"(b), [w] "+r"(w), [x] "+r"(x)
            : [count] "r"(depth / 16)
            : "lr", "q0", "q1", "q2", "memory");
    sums[0] = a;
    sums[1] = b;
}
#endif

/* One row, two outputs. */
static inline void ta_s8_tile_portable(int32_t *sums, const int32_t *start, const ta_s8_cell *x, int32_t depth,
                                       const int8_t *w)
{
    int32_t a = start[0], b = start[1];
    for (int32_t k = 0; k < depth; k += 16, w += 32) {
        for (int32_t i = 0; i < 16; ++i) {
            a += x[k + i] * w[i];
            b += x[k + i] * w[16 + i];
        }
    }
    sums[0] = a;
    sums[1] = b;
}

/* `ta_s8_tile` for rows that are `next` cells apart. Where there is more than one, cells of TA_S8_ROWS rows are read. */
TA_PART void ta_s8_tile_strided(int32_t rows, int32_t *sums, const int32_t *start, int32_t step,
                                const ta_s8_cell *cells, int32_t next, int32_t depth, const int8_t *w,
                                int32_t apart, int32_t blocks)
{
#ifdef TA_KERNELS_MVE
    if (rows > 1) { /* of two rows the third is computed and not used */
        const ta_s8_chunks all = {4 * step, cells, next, depth / 16, apart - 2 * depth, sums + 2 * blocks, start, w, sums};
        ta_s8_tile_3_mve(&all);
        return;
    }
#endif
    for (int32_t block = 0; block < blocks; ++block, sums += 2, start += 2, w += apart) {
#ifdef TA_KERNELS_MVE
        ta_s8_tile_1_mve(sums, start, cells, depth, w);
#else
        for (int32_t r = 0; r < rows; ++r) {
            ta_s8_tile_portable(sums + r * TA_S8_OUTPUTS, start + r * step, cells + r * next, depth, w);
        }
#endif
    }
}

/* The same, whatever the weights. */
static inline void ta_s8_tile_in_place(int32_t rows, int32_t *sums, const int32_t *start, int32_t step,
                                       const ta_s8_cell *cells, int32_t next, int32_t depth, const int8_t *w,
                                       int32_t apart, int32_t blocks, int narrow)
{
    (void)narrow;
    ta_s8_tile_strided(rows, sums, start, step, cells, next, depth, w, apart, blocks);
}

static inline void ta_s8_tile(int32_t rows, int32_t *sums, const int32_t *start, int32_t step,
                              const ta_s8_cell *panel, int32_t depth, const int8_t *w, int32_t apart,
                              int32_t blocks, int narrow)
{
    ta_s8_tile_in_place(rows, sums, start, step, panel, TA_S8_PANEL, depth, w, apart, blocks, narrow);
}

#endif
