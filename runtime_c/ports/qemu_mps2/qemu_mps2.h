/* Services for programs on an emulated Arm MPS2 or MPS3 board besides the runtime: files and messages of
 * the computer that emulates it (semihosting), a counter of instructions, and how deep the stack went.
 *
 * One core, no operating system, no interrupts; nothing here is interrupt-safe. `startup.c` brings the vector
 * table and calls main; the linker script of the bundle says where code, data and stack are.
 */
#ifndef TARGET_ARCH_PORT_QEMU_MPS2_H
#define TARGET_ARCH_PORT_QEMU_MPS2_H

#include "target_arch/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const ta_port ta_port_qemu_mps2;

/* Open a file of the emulating computer, relative to the folder the emulator runs in. A handle, or -1. */
int ta_mps2_open(const char *name, int for_writing);

/* Read or write up to `bytes`. How many were, -1 after a failure. Blocks. */
int32_t ta_mps2_read(int handle, void *bytes, uint32_t count);
int32_t ta_mps2_write(int handle, const void *bytes, uint32_t count);

/* Close a file. 0, or -1 where what was written did not get there. */
int ta_mps2_close(int handle);

/* Print text, or a number in decimal digits, on the emulator's standard error. */
void ta_mps2_say(const char *text);
void ta_mps2_say_number(int32_t number);

/* End the emulation with this exit code, 0 to 255. Does not return. */
void ta_mps2_exit(int code);

/* Ticks of the board's timer since the first call. Under `-icount shift=N` every instruction takes 2^N ns, so
 * that ticks count instructions. Call it before the 32-bit timer wraps again: once in 2^32 ticks. */
uint64_t ta_mps2_ticks(void);

/* Have the port add the ticks of every copy and dispatch to `ticks[number of the step]`, of those below
 * `steps`. The array stays the caller's and is used until the call with NULL. Call between runs. */
void ta_mps2_count_steps(uint64_t *ticks, uint32_t steps);

/* The same for one of several models that share the port: `bundle` is the one that runs next. */
void ta_mps2_count_steps_of(const ta_bundle *bundle, uint64_t *ticks, uint32_t steps);

/* With 1, from now on a kernel writes to the arenas of the open bundle and to the stack, and nowhere else: the memory
 * protection unit is on while it runs. A stray write says its address and ends the emulation with TA_MPS2_STRAY; with 0
 * it does what it does. Call between runs, after init.
 * TA_ERROR_STATE: no bundle is open. TA_ERROR_UNSUPPORTED: no unit, or too few regions. */
#define TA_MPS2_STRAY 71
ta_status ta_mps2_protect(int on);

/* Bytes of the stack that were ever written to, and bytes it has. */
uint32_t ta_mps2_stack_used(void);
uint32_t ta_mps2_stack_bytes(void);

#ifdef __cplusplus
}
#endif

#endif
