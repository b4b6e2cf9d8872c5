/* The tile of `s8_pairs.h` for the extension V of RISC-V; `s8_pairs.h` includes this file. Cells are int8. Weights of
 * several pairs are loaded before they are widened, so that the type of vectors changes seldom.
 */
#ifndef TA_KERNELS_S8_PAIRS_RVV_H
#define TA_KERNELS_S8_PAIRS_RVV_H

#ifdef TA_KERNELS_RVV
/* A pair of weights of 8 outputs, and as 16 bits. */
#define TA_S8_LOAD_RVV(part)     \
    vint8mf2_t even##part, odd##part; \
    __riscv_vlseg2e8_v_i8mf2(&even##part, &odd##part, w + 16 * (part), 8)
#define TA_S8_WIDEN_RVV(part)                                              \
    const vint16m1_t one##part = __riscv_vsext_vf2_i16m1(even##part, 8);   \
    const vint16m1_t two##part = __riscv_vsext_vf2_i16m1(odd##part, 8)
#define TA_S8_ADD_RVV(sum, x, part)                                        \
    sum = __riscv_vwmacc_vx_i32m2(sum, (x)[2 * (part)], one##part, 8);     \
    sum = __riscv_vwmacc_vx_i32m2(sum, (x)[2 * (part) + 1], two##part, 8)
#define TA_S8_LOAD_4_RVV  \
    TA_S8_LOAD_RVV(0);    \
    TA_S8_LOAD_RVV(1);    \
    TA_S8_LOAD_RVV(2);    \
    TA_S8_LOAD_RVV(3);    \
    TA_S8_WIDEN_RVV(0);   \
    TA_S8_WIDEN_RVV(1);   \
    TA_S8_WIDEN_RVV(2);   \
    TA_S8_WIDEN_RVV(3)
#define TA_S8_ADD_4_RVV(sum, x)   \
    TA_S8_ADD_RVV(sum, x, 0);     \
    TA_S8_ADD_RVV(sum, x, 1);     \
    TA_S8_ADD_RVV(sum, x, 2);     \
    TA_S8_ADD_RVV(sum, x, 3)

/* One row, 8 outputs. */
static inline void ta_s8_tile_1_vector(int32_t *sums, const int32_t *start, const ta_s8_cell *x, int32_t depth,
                                       const int8_t *w)
{
    vint32m2_t a = __riscv_vle32_v_i32m2(start, 8);
    for (; depth >= 8; depth -= 8, x += 8, w += 64) {
        TA_S8_LOAD_4_RVV;
        TA_S8_ADD_4_RVV(a, x);
    }
    for (; depth > 0; depth -= 2, x += 2, w += 16) {
        TA_S8_LOAD_RVV(0);
        TA_S8_WIDEN_RVV(0);
        TA_S8_ADD_RVV(a, x, 0);
    }
    __riscv_vse32_v_i32m2(sums, a, 8);
}

/* Four rows, 8 outputs. */
static inline void ta_s8_tile_4_vector(int32_t *sums, const int32_t *start, int32_t step, const ta_s8_cell *x,
                                       int32_t depth, const int8_t *w)
{
    const ta_s8_cell *x1 = x + TA_S8_PANEL, *x2 = x1 + TA_S8_PANEL, *x3 = x2 + TA_S8_PANEL;
    vint32m2_t a = __riscv_vle32_v_i32m2(start, 8), b = __riscv_vle32_v_i32m2(start + step, 8);
    vint32m2_t c = __riscv_vle32_v_i32m2(start + 2 * step, 8), d = __riscv_vle32_v_i32m2(start + 3 * step, 8);
    for (; depth >= 8; depth -= 8, x += 8, x1 += 8, x2 += 8, x3 += 8, w += 64) {
        TA_S8_LOAD_4_RVV;
        TA_S8_ADD_4_RVV(a, x);
        TA_S8_ADD_4_RVV(b, x1);
        TA_S8_ADD_4_RVV(c, x2);
        TA_S8_ADD_4_RVV(d, x3);
    }
    for (; depth > 0; depth -= 2, x += 2, x1 += 2, x2 += 2, x3 += 2, w += 16) {
        TA_S8_LOAD_RVV(0);
        TA_S8_WIDEN_RVV(0);
        TA_S8_ADD_RVV(a, x, 0);
        TA_S8_ADD_RVV(b, x1, 0);
        TA_S8_ADD_RVV(c, x2, 0);
        TA_S8_ADD_RVV(d, x3, 0);
    }
    __riscv_vse32_v_i32m2(sums, a, 8);
    __riscv_vse32_v_i32m2(sums + TA_S8_OUTPUTS, b, 8);
    __riscv_vse32_v_i32m2(sums + 2 * TA_S8_OUTPUTS, c, 8);
    __riscv_vse32_v_i32m2(sums + 3 * TA_S8_OUTPUTS, d, 8);
}

/* A pair of weights of 16 outputs: those of two blocks, one value of 16 bits for each output, of which the first k is
 * the low byte; and each k as 16 bits. */
#define TA_S8_BLOCKS_RVV(part)                                                                            \
    const vint8m1_t low##part = __riscv_vle8_v_i8m1(w + 16 * (part), 16);                                 \
    const vint8m1_t high##part = __riscv_vle8_v_i8m1(v + 16 * (part), 16)
#define TA_S8_SPLIT_RVV(part)                                                                             \
    const vint16m2_t two##part = __riscv_vslideup_vx_i16m2(                                               \
        __riscv_vlmul_ext_v_i16m1_i16m2(__riscv_vreinterpret_v_i8m1_i16m1(low##part)),                    \
        __riscv_vlmul_ext_v_i16m1_i16m2(__riscv_vreinterpret_v_i8m1_i16m1(high##part)), 8, 16);           \
    const vint16m2_t first##part = __riscv_vsra_vx_i16m2(__riscv_vsll_vx_i16m2(two##part, 8, 16), 8, 16); \
    const vint16m2_t second##part = __riscv_vsra_vx_i16m2(two##part, 8, 16)
#define TA_S8_BOTH_RVV(sum, x, part)                                             \
    sum = __riscv_vwmacc_vx_i32m4(sum, (x)[2 * (part)], first##part, 16);        \
    sum = __riscv_vwmacc_vx_i32m4(sum, (x)[2 * (part) + 1], second##part, 16)

/* One row, 16 outputs. */
TA_RVV_PART void ta_s8_both_1_rvv(int32_t *sums, const int32_t *start, const ta_s8_cell *x, int32_t depth,
                                  const int8_t *w, const int8_t *v)
{
    vint32m4_t a = __riscv_vle32_v_i32m4(start, 16);
    for (; depth >= 8; depth -= 8, x += 8, w += 64, v += 64) {
        TA_S8_BLOCKS_RVV(0);
        TA_S8_BLOCKS_RVV(1);
        TA_S8_BLOCKS_RVV(2);
        TA_S8_BLOCKS_RVV(3);
        TA_S8_SPLIT_RVV(0);
        TA_S8_SPLIT_RVV(1);
        TA_S8_BOTH_RVV(a, x, 0);
        TA_S8_BOTH_RVV(a, x, 1);
        TA_S8_SPLIT_RVV(2);
        TA_S8_SPLIT_RVV(3);
        TA_S8_BOTH_RVV(a, x, 2);
        TA_S8_BOTH_RVV(a, x, 3);
    }
    for (; depth > 0; depth -= 2, x += 2, w += 16, v += 16) {
        TA_S8_BLOCKS_RVV(0);
        TA_S8_SPLIT_RVV(0);
        TA_S8_BOTH_RVV(a, x, 0);
    }
    __riscv_vse32_v_i32m4(sums, a, 16);
}

/* Four rows, 16 outputs. */
TA_RVV_PART void ta_s8_both_4_rvv(int32_t *sums, const int32_t *start, int32_t step, const ta_s8_cell *x,
                                  int32_t depth, const int8_t *w, const int8_t *v)
{
    const ta_s8_cell *x1 = x + TA_S8_PANEL, *x2 = x1 + TA_S8_PANEL, *x3 = x2 + TA_S8_PANEL;
    vint32m4_t a = __riscv_vle32_v_i32m4(start, 16), b = __riscv_vle32_v_i32m4(start + step, 16);
    vint32m4_t c = __riscv_vle32_v_i32m4(start + 2 * step, 16), d = __riscv_vle32_v_i32m4(start + 3 * step, 16);
    for (; depth >= 4; depth -= 4, x += 4, x1 += 4, x2 += 4, x3 += 4, w += 32, v += 32) {
        TA_S8_BLOCKS_RVV(0);
        TA_S8_BLOCKS_RVV(1);
        TA_S8_SPLIT_RVV(0);
        TA_S8_BOTH_RVV(a, x, 0);
        TA_S8_BOTH_RVV(b, x1, 0);
        TA_S8_BOTH_RVV(c, x2, 0);
        TA_S8_BOTH_RVV(d, x3, 0);
        TA_S8_SPLIT_RVV(1);
        TA_S8_BOTH_RVV(a, x, 1);
        TA_S8_BOTH_RVV(b, x1, 1);
        TA_S8_BOTH_RVV(c, x2, 1);
        TA_S8_BOTH_RVV(d, x3, 1);
    }
    if (depth > 0) {
        TA_S8_BLOCKS_RVV(0);
        TA_S8_SPLIT_RVV(0);
        TA_S8_BOTH_RVV(a, x, 0);
        TA_S8_BOTH_RVV(b, x1, 0);
        TA_S8_BOTH_RVV(c, x2, 0);
        TA_S8_BOTH_RVV(d, x3, 0);
    }
    __riscv_vse32_v_i32m4(sums, a, 16);
    __riscv_vse32_v_i32m4(sums + TA_S8_OUTPUTS, b, 16);
    __riscv_vse32_v_i32m4(sums + 2 * TA_S8_OUTPUTS, c, 16);
    __riscv_vse32_v_i32m4(sums + 3 * TA_S8_OUTPUTS, d, 16);
}

/* Up to TA_S8_ROWS rows, 16 outputs: four at once and then one by one. */
static inline void ta_s8_both_rvv(int32_t rows, int32_t *sums, const int32_t *start, int32_t step,
                                  const ta_s8_cell *panel, int32_t depth, const int8_t *w, const int8_t *v)
{
    int32_t r = 0;
    for (; r + 4 <= rows; r += 4) {
        ta_s8_both_4_rvv(sums + r * TA_S8_OUTPUTS, start + r * step, step, panel + r * TA_S8_PANEL, depth, w, v);
    }
    for (; r < rows; ++r) {
        ta_s8_both_1_rvv(sums + r * TA_S8_OUTPUTS, start + r * step, panel + r * TA_S8_PANEL, depth, w, v);
    }
}
#endif

#endif
