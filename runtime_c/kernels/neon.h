/* Whether kernels may use NEON, its dot product and its products of matrices.
 *
 * TA_KERNELS_NEON is defined where the forms for AArch64 are compiled, TA_KERNELS_DOT besides where the compiler may
 * use SDOT, and TA_KERNELS_I8MM where it may use SMMLA, too. TA_NEON_PART stands before what becomes part of other
 * functions, whatever the level of optimization, and TA_NEON_CALL before what never does: in a function with much
 * else, compilers keep its sums in memory.
 */
#ifndef TA_KERNELS_NEON_H
#define TA_KERNELS_NEON_H

#if defined(__AARCH64EL__) && defined(__ARM_NEON) && !defined(TA_KERNELS_PORTABLE)
#define TA_KERNELS_NEON 1
#include <arm_neon.h>
#define TA_NEON_PART __attribute__((always_inline)) static inline
#define TA_NEON_CALL __attribute__((noinline, unused)) static
#if defined(__ARM_FEATURE_DOTPROD)
#define TA_KERNELS_DOT 1
#if defined(__ARM_FEATURE_MATMUL_INT8)
#define TA_KERNELS_I8MM 1
#endif
#endif
#endif

#endif
