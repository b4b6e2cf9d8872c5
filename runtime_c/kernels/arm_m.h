/* Which forms for Cortex-M are compiled, and loads that need no alignment.
 *
 * TA_KERNELS_MVE is defined for cores with the vector extension (Cortex-M55, Cortex-M85), TA_KERNELS_DSP for the
 * others with the DSP extension (Cortex-M4, Cortex-M7, Cortex-M33). TA_KERNELS_PORTABLE leaves both out.
 *
 * TA_PART stands before parts of drivers that a Cortex-M calls one after the other: inlined, they would all have their
 * own bytes in one frame, and stacks there are small.
 */
#ifndef TA_KERNELS_ARM_M_H
#define TA_KERNELS_ARM_M_H

#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) && defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define TA_PART __attribute__((noinline, unused)) static
#else
#define TA_PART static inline
#endif

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1) && !defined(TA_KERNELS_PORTABLE)
#define TA_KERNELS_MVE 1
#include <arm_mve.h>
#elif defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_SIMD32) && __ARM_ARCH_PROFILE == 'M' && \
    !defined(TA_KERNELS_PORTABLE)
#define TA_KERNELS_DSP 1
#include <arm_acle.h>

static inline uint32_t ta_word(const void *from)
{
    uint32_t word;
    (void)memcpy(&word, from, sizeof word);
    return word;
}

/* Bytes 0 and 2 of a word, or 1 and 3, as a pair of 16-bit values. */
static inline int16x2_t ta_even(uint32_t word)
{
    return __sxtb16((int8x4_t)word);
}

static inline int16x2_t ta_odd(uint32_t word)
{
    int16x2_t pair;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(pair) : "r"(word));
    return pair;
}

/* The lower, or the upper, 16-bit values of two pairs as a pair. */
static inline uint32_t ta_lower(int16x2_t a, int16x2_t b)
{
    uint32_t pair;
    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(pair) : "r"(a), "r"(b));
    return pair;
}

static inline uint32_t ta_upper(int16x2_t a, int16x2_t b)
{
    uint32_t pair;
    __asm__("pkhtb %0, %1, %2, asr #16" : "=r"(pair) : "r"(b), "r"(a));
    return pair;
}
#endif

#endif
