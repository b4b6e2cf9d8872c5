/* Sums and differences of two 8-bit tensors on different grids: the `Addition` of `target_arch/plan/arithmetic.py`.
 *
 *   tflite  a = scaled((first + offset[0]) << 20, multiplier[0], shift[0]), b likewise from the second,
 *           out = clamp(scaled(a + b, multiplier[2], shift[2]) + offset[2]), each `scaled` as in `s8_scale.h`
 *   onnx    out = clamp(((first + offset[0]) * wide[0] + (second + offset[1]) * wide[1]) / 2^shift[2] + offset[2]),
 *           rounded half to even
 *
 * A difference has the negative of its second part: `negative` is 1. `flip` is 0x80 for what is stored as uint8, and
 * the offsets are those of the int8 that it becomes. The result may be where an operand is.
 *
 * Forms: portable, AVX2 and AVX-512 (`s8_add_x86.h`); for tflite NEON, Arm DSP extension and MVE (`s8_add_arm_m.h`).
 */
#ifndef TA_KERNELS_S8_ADD_H
#define TA_KERNELS_S8_ADD_H

#include <stdint.h>
#include <string.h>

#include "kernels/s8_scale.h"

typedef struct {
    int rounding; /* TA_S8_TFLITE or TA_S8_ONNX */
    int32_t negative;
    int32_t offset[3];
    int32_t multiplier[3]; /* tflite */
    int32_t shift[3];      /* to the right */
    int64_t wide[2];       /* onnx */
    int32_t low, high;
    int32_t flip[3];
} ta_s8_add;

/* `count` elements of `rows` rows: these are `step[0]` elements apart in `first`, `step[1]` in `second` and `step[2]`
 * in `out`. */
typedef struct {
    int32_t rows, count;
    const int8_t *first, *second;
    int8_t *out;
    int32_t step[3];
} ta_s8_add_rows;

static inline int32_t ta_s8_sum_tflite(const ta_s8_add *add, int32_t first, int32_t second)
{
    const int32_t a = ta_s8_scaled(TA_S8_TFLITE, first * (1 << 20), add->multiplier[0], add->shift[0]);
    const int32_t b = ta_s8_scaled(TA_S8_TFLITE, second * (1 << 20), add->multiplier[1], add->shift[1]);
    return ta_s8_scaled(TA_S8_TFLITE, add->negative ? a - b : a + b, add->multiplier[2], add->shift[2]);
}

static inline int32_t ta_s8_sum_onnx(const ta_s8_add *add, int32_t first, int32_t second)
{
    const int64_t a = first * add->wide[0], b = second * add->wide[1], sum = add->negative ? a - b : a + b;
    return (int32_t)(add->shift[2] == 0 ? sum : ta_s8_half_even(sum, add->shift[2]));
}

#ifdef TA_KERNELS_NEON
/* 8 values of operand `part`, scaled. */
static inline void ta_s8_operand_neon(const ta_s8_add *add, int part, const int8_t *x, int32x4_t value[2])
{
    const int8x8_t bytes = veor_s8(vld1_s8(x), vdup_n_s8((int8_t)add->flip[part]));
    const int16x8_t wide = vaddq_s16(vmovl_s8(bytes), vdupq_n_s16((int16_t)add->offset[part]));
    const int32x4_t multiplier = vdupq_n_s32(add->multiplier[part]), up = vdupq_n_s32(-add->shift[part]);
    value[0] = ta_s8_tflite_neon(vshlq_n_s32(vmovl_s16(vget_low_s16(wide)), 20), multiplier, up);
    value[1] = ta_s8_tflite_neon(vshlq_n_s32(vmovl_high_s16(wide), 20), multiplier, up);
}

/* The elements of a row that fill vectors of 8; how many these are. */
static inline int32_t ta_s8_add_neon(const ta_s8_add *add, const int8_t *first, const int8_t *second, int8_t *out,
                                     int32_t count)
{
    const int32x4_t multiplier = vdupq_n_s32(add->multiplier[2]), up = vdupq_n_s32(-add->shift[2]);
    const int32x4_t offset = vdupq_n_s32(add->offset[2]);
    const int8x8_t low = vdup_n_s8((int8_t)add->low), high = vdup_n_s8((int8_t)add->high);
    int32_t k = 0;
    for (; k + 8 <= count; k += 8) {
        int32x4_t a[2], b[2];
        ta_s8_operand_neon(add, 0, first + k, a);
        ta_s8_operand_neon(add, 1, second + k, b);
        for (int32_t n = 0; n < 2; ++n) {
            const int32x4_t sum = add->negative ? vsubq_s32(a[n], b[n]) : vaddq_s32(a[n], b[n]);
            a[n] = vaddq_s32(ta_s8_tflite_neon(sum, multiplier, up), offset);
        }
        const int8x8_t bytes = vqmovn_s16(vcombine_s16(vqmovn_s32(a[0]), vqmovn_s32(a[1])));
        vst1_s8(out + k, veor_s8(vmax_s8(vmin_s8(bytes, high), low), vdup_n_s8((int8_t)add->flip[2])));
    }
    return k;
}
#endif

#include "kernels/s8_add_arm_m.h"
#include "kernels/s8_add_x86.h"

/* One element. */
static inline int8_t ta_s8_added(const ta_s8_add *add, int8_t first, int8_t second)
{
    const int32_t a = (int8_t)(first ^ (add->flip[0] ? -128 : 0)) + add->offset[0];
    const int32_t b = (int8_t)(second ^ (add->flip[1] ? -128 : 0)) + add->offset[1];
    const int twice = ta_s8_rounding(add->rounding) == TA_S8_TFLITE ? 1 : 0;
    const int32_t sum = twice ? ta_s8_sum_tflite(add, a, b) : ta_s8_sum_onnx(add, a, b);
    int32_t value = sum + add->offset[2];
    value = value < add->high ? value : add->high;
    value = value > add->low ? value : add->low;
    return (int8_t)(value ^ (add->flip[2] ? -128 : 0));
}

/* Portable, AVX2, AVX-512 and NEON. */
TA_PART void ta_s8_add_portable(const ta_s8_add *add, const ta_s8_add_rows *all)
{
#ifdef TA_KERNELS_AVX512
    if (TA_HAS_AVX512 && ta_s8_fits_x86(add)) {
        ta_s8_add_avx512(add, all);
        return;
    }
#endif
#ifdef TA_KERNELS_X86
    if (TA_HAS_AVX2 && ta_s8_fits_x86(add)) {
        ta_s8_add_avx2(add, all);
        return;
    }
#endif
    for (int32_t r = 0; r < all->rows; ++r) {
        const int8_t *first = all->first + r * all->step[0], *second = all->second + r * all->step[1];
        int8_t *out = all->out + r * all->step[2];
        int32_t k = 0;
#ifdef TA_KERNELS_NEON
        if (ta_s8_rounding(add->rounding) == TA_S8_TFLITE) {
            k = ta_s8_add_neon(add, first, second, out, all->count);
        }
#endif
        for (; k < all->count; ++k) {
            out[k] = ta_s8_added(add, first[k], second[k]);
        }
    }
}

static inline void ta_s8_add_all(const ta_s8_add *add, const ta_s8_add_rows *all)
{
#if defined(TA_KERNELS_DSP) || defined(TA_KERNELS_MVE)
    const int of = ta_s8_half_of(add);
    if (of != 2) {
        ta_s8_add_arm_m(add, of, all);
        return;
    }
#endif
    ta_s8_add_portable(add, all);
}

#endif
