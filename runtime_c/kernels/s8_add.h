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
 * Forms: portable, AVX2 and AVX-512 (`s8_add_x86.h`); for tflite NEON (`s8_add_neon.h`), Arm DSP
 * extension and MVE (`s8_add_arm_m.h`).
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

#include "kernels/s8_add_arm_m.h"
#include "kernels/s8_add_neon.h"
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
    int32_t from = 0;
#ifdef TA_KERNELS_NEON
    if (ta_s8_rounding(add->rounding) == TA_S8_TFLITE) {
        from = ta_s8_add_neon(add, all);
    }
#endif
    for (int32_t r = 0; from < all->count && r < all->rows; ++r) {
        const int8_t *first = all->first + r * all->step[0], *second = all->second + r * all->step[1];
        int8_t *out = all->out + r * all->step[2];
        for (int32_t k = from; k < all->count; ++k) {
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
