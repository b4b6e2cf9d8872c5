/* The tile of `s8_pairs.h` for the extension V of RISC-V; `s8_pairs.h` includes this file. Cells are int8. Weights of
 * four pairs are loaded before they are widened, so that the type of vectors changes seldom.
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
#endif

#endif
