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
 * TA_AMX is the same for AMX with 8-bit integers, beside AVX-512, where TA_KERNELS_AMX says so: on Linux, which a process
 * asks for the permission. The first that asks whether there is AMX does so.
 *
 * TA_KERNELS_SSE2 leaves out all but SSE2, TA_KERNELS_AVX2 what AVX2 has not, TA_KERNELS_NO_AVX512 AVX-512 and AMX,
 * TA_KERNELS_NO_AMX AMX.
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
#if defined(TA_KERNELS_AVX512) && !defined(TA_KERNELS_NO_AMX) && defined(__linux__) && !defined(__ILP32__) && \
    (defined(__clang__) ? __clang_major__ >= 12 : __GNUC__ >= 11)
#define TA_KERNELS_AMX 1
#include <cpuid.h>
#define TA_AMX \
    __attribute__((target("avx2,fma,avx512f,avx512bw,avx512vl,avx512vnni,amx-tile,amx-int8"), aligned(64)))
#define TA_AMX_PART TA_AMX __attribute__((always_inline)) static inline
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
#ifdef TA_KERNELS_AMX
/* Whether the processor has AMX and Linux permits this process to use it: then it saves the registers, too. */
static inline int ta_amx_is_permitted(void)
{
    enum { ARCH_PRCTL = 158, ARCH_REQ_XCOMP_PERM = 0x1023, XTILEDATA = 18, AMX_TILE = 1 << 24, AMX_INT8 = 1 << 25 };
    unsigned a = 0, b = 0, c = 0, d = 0;
    long result = ARCH_PRCTL;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & AMX_TILE) || !(d & AMX_INT8)) {
        return 0;
    }
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"((long)ARCH_REQ_XCOMP_PERM), "S"((long)XTILEDATA)
                     : "rcx", "r11", "memory");
    return result == 0;
}

/* The same, which asks once: others that ask meanwhile get the same answer. */
static inline int ta_has_amx(void)
{
    static int known; /* 1 where there is AMX, 2 where not */
    int answer = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (answer == 0) {
        answer = TA_HAS_AVX512 && ta_amx_is_permitted() ? 1 : 2;
        __atomic_store_n(&known, answer, __ATOMIC_RELAXED);
    }
    return answer == 1;
}
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
