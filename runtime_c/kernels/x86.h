/* Whether kernels may use SSE2, AVX2, VNNI and AVX-512, and how.
 *
 * TA_KERNELS_X86 is defined where the forms for x86-64 are compiled. TA_AVX2 stands before a function that uses
 * AVX2 and FMA; it may be called where TA_HAS_AVX2 is not 0: a constant where the whole program is compiled for
 * AVX2 and FMA, else what the processor says. TA_AVX2_PART stands before what becomes part of such functions, whatever
 * the level of optimization.
 *
 * TA_AVX_VNNI and TA_AVX512 are the same for AVX-VNNI, and for AVX-512 with VL, BW and VNNI, where TA_KERNELS_AVX_VNNI
 * and TA_KERNELS_AVX512 say that the compiler knows them. The functions begin at lines of a cache: where other code had
 * moved them, a model took 5 % longer.
 *
 * TA_KERNELS_SSE2 leaves out all but SSE2, TA_KERNELS_AVX2 what AVX2 has not, TA_KERNELS_NO_AVX512 AVX-512.
 */
#ifndef TA_KERNELS_X86_H
#define TA_KERNELS_X86_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(TA_KERNELS_PORTABLE)
#define TA_KERNELS_X86 1
#include <immintrin.h>
#if defined(TA_KERNELS_SSE2)
#define TA_AVX2 __attribute__((target("avx2,fma"), aligned(64)))
#define TA_HAS_AVX2 0
#elif defined(__AVX2__) && defined(__FMA__)
#define TA_AVX2 __attribute__((aligned(64)))
#define TA_HAS_AVX2 1
#else
#define TA_AVX2 __attribute__((target("avx2,fma"), aligned(64)))
#define TA_HAS_AVX2 (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#endif
#define TA_AVX2_PART TA_AVX2 __attribute__((always_inline)) static inline

#if !defined(TA_KERNELS_SSE2) && !defined(TA_KERNELS_AVX2)
#if !defined(TA_KERNELS_NO_AVX512) && (defined(__clang__) ? __clang_major__ >= 8 : __GNUC__ >= 8)
#define TA_KERNELS_AVX512 1
#define TA_AVX512 __attribute__((target("avx2,fma,avx512f,avx512bw,avx512vl,avx512vnni"), aligned(64)))
#define TA_AVX512_PART TA_AVX512 __attribute__((always_inline)) static inline
#endif
#if defined(__AVXVNNI__) || (defined(__clang__) ? __clang_major__ >= 19 : __GNUC__ >= 12)
#define TA_KERNELS_AVX_VNNI 1
#define TA_AVX_VNNI __attribute__((target("avx2,fma,avxvnni")))
#define TA_AVX_VNNI_PART TA_AVX_VNNI __attribute__((always_inline)) static inline
#endif
#endif

#if !defined(TA_KERNELS_AVX512)
#define TA_HAS_AVX512 0
#elif defined(__AVX512VNNI__) && defined(__AVX512VL__) && defined(__AVX512BW__)
#define TA_HAS_AVX512 TA_HAS_AVX2
#else
#define TA_HAS_AVX512                                                              \
    (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vl") && \
     __builtin_cpu_supports("avx512bw") && TA_HAS_AVX2)
#endif
#if !defined(TA_KERNELS_AVX_VNNI)
#define TA_HAS_AVX_VNNI 0
#elif defined(__AVXVNNI__)
#define TA_HAS_AVX_VNNI TA_HAS_AVX2
#else
#define TA_HAS_AVX_VNNI (__builtin_cpu_supports("avxvnni") && TA_HAS_AVX2)
#endif
#endif

/* Behind the name of an array that is read and written as whole vectors: none crosses the lines of a cache then. */
#ifdef TA_KERNELS_X86
#define TA_VECTORS __attribute__((aligned(64)))
#else
#define TA_VECTORS
#endif

#endif
