/* From 32-bit sums to 8-bit values: the requantizers of `target_arch/plan/arithmetic.py`, to the bit.
 *
 *   out[r][n] = clamp(scaled(sums[r][n], multiplier[n], shift[n]) + offset, low, high)
 *
 *   tflite        a = sum << max(-shift, 0), high = (a * multiplier + 2^30) >> 31,
 *                 high / 2^max(shift, 0), rounded half away from zero
 *   tflite_single (sum * multiplier + 2^(shift - 1)) >> shift, shift from 1 to 62
 *   onnx          sum * multiplier / 2^shift, rounded half to even, shift from 1 to 62
 *
 * `shift` counts to the right. The compiler of models has proven that |a| < 2^30, that what is scaled fits
 * 32 bits with its offset, and packs `multiplier` and `shift` in multiples of 16, so that forms may read whole
 * vectors. Where all outputs have one multiplier and shift there are 16 equal ones, and `each` is 0.
 *
 * Values of type uint8 are stored as int8 with the highest bit flipped (`flip` 0x80): `offset`, `low` and `high`
 * are less by 128 then.
 *
 * A source that defines TA_S8_WITHOUT_TFLITE, TA_S8_WITHOUT_TFLITE_SINGLE or TA_S8_WITHOUT_ONNX before it includes
 * kernels never asks for that rounding, and one with TA_S8_WITHOUT_ADD adds nothing: their code is left out.
 *
 * Forms: portable, AVX2 (`s8_scale_x86.h`), AVX-512 (`s8_scale_avx512.h`), Arm DSP extension and MVE
 * (`s8_scale_arm_m.h`), NEON (`s8_scale_neon.h`), RISC-V V (`s8_scale_rvv.h`).
 */
#ifndef TA_KERNELS_S8_SCALE_H
#define TA_KERNELS_S8_SCALE_H

#include <stdint.h>
#include <string.h>

#include "kernels/arm_m.h"
#include "kernels/neon.h"
#include "kernels/rvv.h"
#include "kernels/x86.h"

#define TA_S8_TFLITE 0
#define TA_S8_TFLITE_SINGLE 1
#define TA_S8_ONNX 2

#ifdef TA_S8_WITHOUT_TFLITE
#define TA_S8_HAS_TFLITE 0
#else
#define TA_S8_HAS_TFLITE 1
#endif
#ifdef TA_S8_WITHOUT_TFLITE_SINGLE
#define TA_S8_HAS_TFLITE_SINGLE 0
#else
#define TA_S8_HAS_TFLITE_SINGLE 1
#endif
#ifdef TA_S8_WITHOUT_ONNX
#define TA_S8_HAS_ONNX 0
#else
#define TA_S8_HAS_ONNX 1
#endif

/* The rounding itself, which is known when this is compiled where there is only one. */
static inline int ta_s8_rounding(int rounding)
{
    if (TA_S8_HAS_TFLITE && (rounding == TA_S8_TFLITE || !(TA_S8_HAS_TFLITE_SINGLE || TA_S8_HAS_ONNX))) {
        return TA_S8_TFLITE;
    }
    if (TA_S8_HAS_TFLITE_SINGLE && (rounding == TA_S8_TFLITE_SINGLE || !TA_S8_HAS_ONNX)) {
        return TA_S8_TFLITE_SINGLE;
    }
    return TA_S8_ONNX;
}

typedef struct {
    int32_t each; /* 1 where outputs have multipliers and shifts of their own, else 0 */
    int32_t offset;
    int32_t low;
    int32_t high;
    int32_t flip;
    int32_t least, most; /* of all shifts */
} ta_s8_scale;

/* `count` outputs (from 1 on; up to 16 but on Cortex-M) of every row: sums `from` numbers apart, results `to` bytes
 * apart, of which only `count` are written in each. They may take the place of the sums, as many bytes apart.
 * `multiplier` and `shift` are those of the first of these outputs.
 */
typedef struct {
    const int32_t *multiplier;
    const int8_t *shift;
    int32_t rows, count;
    const int32_t *sums;
    int32_t from;
    int8_t *out;
    int32_t to;
} ta_s8_rows;

/* value / 2^shift, rounded half to even; shift from 1 to 62. */
static inline int64_t ta_s8_half_even(int64_t value, int32_t shift)
{
    return (value + ((int64_t)1 << (shift - 1)) - 1 + ((value >> shift) & 1)) >> shift;
}

/* One sum, without offset and clamp. */
static inline int32_t ta_s8_scaled(int rounding, int32_t sum, int32_t multiplier, int32_t shift)
{
    if (rounding == TA_S8_TFLITE) {
        const int64_t a = shift < 0 ? sum * ((int64_t)1 << -shift) : sum;
        const int32_t high = (int32_t)((a * multiplier + (1 << 30)) >> 31);
        return shift <= 0 ? high : (high + ((int32_t)1 << (shift - 1)) - (high < 0)) >> shift;
    }
    const int64_t product = (int64_t)sum * multiplier;
    if (rounding == TA_S8_TFLITE_SINGLE) {
        return (int32_t)((product + ((int64_t)1 << (shift - 1))) >> shift);
    }
    return (int32_t)ta_s8_half_even(product, shift);
}

#include "kernels/s8_scale_arm_m.h"
#include "kernels/s8_scale_avx512.h"
#include "kernels/s8_scale_neon.h"
#include "kernels/s8_scale_rvv.h"
#include "kernels/s8_scale_x86.h"

/* Outputs of every row in portable C. */
TA_PART void ta_s8_scale_portable(int rounding, const ta_s8_scale *scale, const ta_s8_rows *all)
{
    for (int32_t r = 0; r < all->rows; ++r) {
        for (int32_t n = 0; n < all->count; ++n) {
            const int32_t own = n * scale->each, sum = all->sums[r * all->from + n];
            int32_t value = ta_s8_scaled(rounding, sum, all->multiplier[own], all->shift[own]) + scale->offset;
            value = value < scale->high ? value : scale->high;
            value = value > scale->low ? value : scale->low;
            all->out[r * all->to + n] = (int8_t)(value ^ scale->flip);
        }
    }
}

static inline void ta_s8_scale_rows(int rounding, const ta_s8_scale *scale, const ta_s8_rows *all)
{
    const int kept = ta_s8_rounding(rounding);
#ifdef TA_KERNELS_AVX512
    if (TA_HAS_AVX512) {
        ta_s8_scale_avx512(kept, scale, all);
        return;
    }
#endif
#ifdef TA_KERNELS_X86
    if (TA_HAS_AVX2) {
        ta_s8_scale_avx2(kept, scale, all);
        return;
    }
#endif
#if defined(TA_KERNELS_DSP) || defined(TA_KERNELS_MVE)
    if (ta_s8_scale_arm_m(kept, scale, all)) {
        return;
    }
#endif
#if defined(TA_KERNELS_RVV)
    ta_s8_scale_rvv(kept, scale, all);
#elif defined(TA_KERNELS_NEON)
    ta_s8_scale_neon(kept, scale, all);
#else
    ta_s8_scale_portable(kept, scale, all);
#endif
}

#endif
