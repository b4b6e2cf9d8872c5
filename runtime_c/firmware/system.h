/* The only door of a core under user-mode emulation: system calls of the emulated Linux, and where a program
 * begins. On silicon this file is what changes: a doorbell is a register there, and memory is where it is.
 *
 * Source: QEMU 7.2, linux-user; the numbers are those of Linux's generic table (asm-generic/unistd.h), which
 * Hexagon, RISC-V and AArch64 share.
 */
#ifndef TARGET_ARCH_FIRMWARE_SYSTEM_H
#define TARGET_ARCH_FIRMWARE_SYSTEM_H

#include <stdint.h>

enum { TA_CALL_READ = 63, TA_CALL_WRITE = 64, TA_CALL_EXIT = 93, TA_CALL_MMAP = 222 };

/* Begins a program: `function` gets the first stack pointer. It must not return. */
#if defined(__hexagon__)
#define TA_ENTRY(symbol, function) \
    __asm__(".text\n.globl " #symbol "\n" #symbol ":\n{ r0 = r29; jump " #function " }\n")
#elif defined(__riscv)
#define TA_ENTRY(symbol, function) \
    __asm__(".text\n.globl " #symbol "\n" #symbol ":\nmv a0, sp\ntail " #function "\n")
#elif defined(__aarch64__)
#define TA_ENTRY(symbol, function) \
    __asm__(".text\n.globl " #symbol "\n" #symbol ":\nmov x0, sp\nb " #function "\n")
#else
#error "no way into the system is known for this core"
#endif

/* Begins a program on the stack that ends at `stack`. */
#if defined(__hexagon__)
#define TA_ENTRY_ON(symbol, stack, function) \
    __asm__(".text\n.globl " #symbol "\n" #symbol ":\n{ r29 = ##" #stack " }\n{ jump " #function " }\n")
#elif defined(__riscv)
#define TA_ENTRY_ON(symbol, stack, function) \
    __asm__(".text\n.globl " #symbol "\n" #symbol ":\nla sp, " #stack "\ntail " #function "\n")
#else
#define TA_ENTRY_ON(symbol, stack, function)                                                          \
    __asm__(".text\n.globl " #symbol "\n" #symbol ":\nadrp x1, " #stack "\nadd x1, x1, :lo12:" #stack \
            "\nmov sp, x1\nb " #function "\n")
#endif

static inline intptr_t ta_call(intptr_t number, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e,
                               uintptr_t f)
{
#if defined(__hexagon__)
    register uintptr_t r0 __asm__("r0") = a;
    register uintptr_t r1 __asm__("r1") = b;
    register uintptr_t r2 __asm__("r2") = c;
    register uintptr_t r3 __asm__("r3") = d;
    register uintptr_t r4 __asm__("r4") = e;
    register uintptr_t r5 __asm__("r5") = f;
    register intptr_t r6 __asm__("r6") = number;
    __asm__ volatile("trap0(#1)"
                     : "+r"(r0)
                     : "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5), "r"(r6)
                     : "memory");
    return (intptr_t)r0;
#elif defined(__riscv)
    register uintptr_t r0 __asm__("a0") = a;
    register uintptr_t r1 __asm__("a1") = b;
    register uintptr_t r2 __asm__("a2") = c;
    register uintptr_t r3 __asm__("a3") = d;
    register uintptr_t r4 __asm__("a4") = e;
    register uintptr_t r5 __asm__("a5") = f;
    register intptr_t r7 __asm__("a7") = number;
    __asm__ volatile("ecall"
                     : "+r"(r0)
                     : "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5), "r"(r7)
                     : "memory");
    return (intptr_t)r0;
#else
    register uintptr_t r0 __asm__("x0") = a;
    register uintptr_t r1 __asm__("x1") = b;
    register uintptr_t r2 __asm__("x2") = c;
    register uintptr_t r3 __asm__("x3") = d;
    register uintptr_t r4 __asm__("x4") = e;
    register uintptr_t r5 __asm__("x5") = f;
    register intptr_t r8 __asm__("x8") = number;
    __asm__ volatile("svc #0"
                     : "+r"(r0)
                     : "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5), "r"(r8)
                     : "memory");
    return (intptr_t)r0;
#endif
}

/* Instructions that this core executed, modulo 2^32; 0 where there is no such counter. Hexagon's is QEMU's own
 * (HEX_REG_QEMU_INSN_CNT, control register 21), which assemblers do not know: this is `r0 = c21`. */
static inline uint32_t ta_instructions(void)
{
#if defined(__hexagon__)
    register uint32_t r0 __asm__("r0");
    __asm__ volatile(".word 0x6a15c000" : "=r"(r0));
    return r0;
#else
    return 0;
#endif
}

static inline void ta_exit(uintptr_t code)
{
    for (;;)
        (void)ta_call(TA_CALL_EXIT, code, 0, 0, 0, 0, 0);
}

#endif
