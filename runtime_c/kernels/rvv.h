/* Whether kernels may use vectors of RISC-V: TA_KERNELS_RVV is defined where the forms for the extension V are
 * compiled, which know that a register has 128 bits or more. Compilers before version 0.11 of the intrinsics name them
 * otherwise and get portable C. TA_RVV_PART stands before what becomes part of other functions, whatever the level of
 * optimization.
 */
#ifndef TA_KERNELS_RVV_H
#define TA_KERNELS_RVV_H

#if defined(__riscv_v_intrinsic) && defined(__riscv_v_min_vlen) && !defined(TA_KERNELS_PORTABLE)
#if __riscv_v_min_vlen >= 128 && __riscv_v_intrinsic >= 11000
#define TA_KERNELS_RVV 1
#include <riscv_vector.h>
#define TA_RVV_PART __attribute__((always_inline)) static inline
#endif
#endif

#endif
