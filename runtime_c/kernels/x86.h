/* Whether kernels may use SSE2, AVX2 and VNNI, and how.
 *
 * TA_KERNELS_X86 is defined where the forms for x86-64 are compiled. TA_AVX2 stands before a function that uses
 * AVX2 and FMA; it may be called where TA_HAS_AVX2 is not 0: a constant where the whole program is compiled for
 * AVX2 and FMA, else what the processor says. TA_AVX2_PART stands before what becomes part of such functions, whatever
 * the level of optimization. TA_KERNELS_VNNI is defined where the whole program is compiled for AVX2, FMA, and AVX-VNNI
 * or AVX-512 VNNI with VL: TA_VNNI adds to each sum the products of four unsigned values with four signed ones.
 */
#ifndef TA_KERNELS_X86_H
#define TA_KERNELS_X86_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(TA_KERNELS_PORTABLE)
#define TA_KERNELS_X86 1
#include <immintrin.h>
#if defined(TA_KERNELS_SSE2)
#define TA_AVX2 __attribute__((target("avx2,fma")))
#define TA_HAS_AVX2 0
#elif defined(__AVX2__) && defined(__FMA__)
#define TA_AVX2
#define TA_HAS_AVX2 1
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
#define TA_KERNELS_VNNI 1
#define TA_VNNI(sums, positive, values) _mm256_dpbusd_epi32(sums, positive, values)
#elif defined(__AVXVNNI__)
#define TA_KERNELS_VNNI 1
#define TA_VNNI(sums, positive, values) _mm256_dpbusd_avx_epi32(sums, positive, values)
#endif
#else
#define TA_AVX2 __attribute__((target("avx2,fma")))
#define TA_HAS_AVX2 (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#endif
#define TA_AVX2_PART TA_AVX2 __attribute__((always_inline)) static inline
#endif

#endif
