/* Whether kernels may use NEON, and the dot product.
 *
 * TA_KERNELS_NEON is defined where the forms for AArch64 are compiled, TA_KERNELS_DOT besides where the compiler may
 * use SDOT. TA_NEON_PART stands before what becomes part of other functions, whatever the level of optimization.
 */
#ifndef TA_KERNELS_NEON_H
#define TA_KERNELS_NEON_H

#if defined(__AARCH64EL__) && defined(__ARM_NEON) && !defined(TA_KERNELS_PORTABLE)
#define TA_KERNELS_NEON 1
#include <arm_neon.h>
#define TA_NEON_PART __attribute__((always_inline)) static inline
#if defined(__ARM_FEATURE_DOTPROD)
#define TA_KERNELS_DOT 1
#endif
#endif

#endif
