/* The tile of `s8_pairs.h` for the extension V of RISC-V; `s8_pairs.h` includes this file. Cells are int8. */
#ifndef TA_KERNELS_S8_PAIRS_RVV_H
#define TA_KERNELS_S8_PAIRS_RVV_H

#ifdef TA_KERNELS_RVV
/* One row, 8 outputs. */
static inline void ta_s8_tile_1_vector(int32_t *sums, const int32_t *start, const ta_s8_cell *x, int32_t depth,
                                       const int8_t *w)
{
    vint32m2_t a = __riscv_vle32_v_i32m2(start, 8);
    for (; depth > 0; depth -= 2, x += 2, w += 16) {
        vint8mf2_t one, two;
        __riscv_vlseg2e8_v_i8mf2(&one, &two, w, 8);
        a = __riscv_vwmacc_vx_i32m2(a, x[0], __riscv_vsext_vf2_i16m1(one, 8), 8);
        a = __riscv_vwmacc_vx_i32m2(a, x[1], __riscv_vsext_vf2_i16m1(two, 8), 8);
    }
    __riscv_vse32_v_i32m2(sums, a, 8);
}

/* Four rows, 8 outputs. */
static inline void ta_s8_tile_4_vector(int32_t *sums, const int32_t *start, int32_t step, const ta_s8_cell *x,
                                       int32_t depth, const int8_t *w)
{
    vint32m2_t a = __riscv_vle32_v_i32m2(start, 8), b = __riscv_vle32_v_i32m2(start + step, 8);
    vint32m2_t c = __riscv_vle32_v_i32m2(start + 2 * step, 8), d = __riscv_vle32_v_i32m2(start + 3 * step, 8);
    for (; depth > 0; depth -= 2, x += 2, w += 16) {
        vint8mf2_t one, two;
        __riscv_vlseg2e8_v_i8mf2(&one, &two, w, 8);
        const vint16m1_t even = __riscv_vsext_vf2_i16m1(one, 8), odd = __riscv_vsext_vf2_i16m1(two, 8);
        a = __riscv_vwmacc_vx_i32m2(a, x[0], even, 8);
        b = __riscv_vwmacc_vx_i32m2(b, x[TA_S8_PANEL], even, 8);
        c = __riscv_vwmacc_vx_i32m2(c, x[2 * TA_S8_PANEL], even, 8);
        d = __riscv_vwmacc_vx_i32m2(d, x[3 * TA_S8_PANEL], even, 8);
        a = __riscv_vwmacc_vx_i32m2(a, x[1], odd, 8);
        b = __riscv_vwmacc_vx_i32m2(b, x[TA_S8_PANEL + 1], odd, 8);
        c = __riscv_vwmacc_vx_i32m2(c, x[2 * TA_S8_PANEL + 1], odd, 8);
        d = __riscv_vwmacc_vx_i32m2(d, x[3 * TA_S8_PANEL + 1], odd, 8);
    }
    __riscv_vse32_v_i32m2(sums, a, 8);
    __riscv_vse32_v_i32m2(sums + TA_S8_OUTPUTS, b, 8);
    __riscv_vse32_v_i32m2(sums + 2 * TA_S8_OUTPUTS, c, 8);
    __riscv_vse32_v_i32m2(sums + 3 * TA_S8_OUTPUTS, d, 8);
}
#endif

#endif
