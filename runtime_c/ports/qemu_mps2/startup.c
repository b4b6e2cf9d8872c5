/* From reset to main: vector table, floating point unit, initialised and zeroed data, a painted stack; and
 * what happens after a fault. */
#include "ports/qemu_mps2/qemu_mps2.h"

/* From the linker script: `data` is copied from code memory, `bss` zeroed, the stack grows from its end down
 * to its start. */
extern uint32_t ta_data_start[], ta_data_end[], ta_bss_start[], ta_bss_end[];
extern const uint32_t ta_data_load[];
extern uint32_t ta_stack_start[], ta_stack_end[];

extern int main(void);
void ta_mps2_reset(void);

#define PAINT 0x5aa5c33cu
#define COPROCESSOR_ACCESS (*(volatile uint32_t *)(uintptr_t)0xe000ed88u) /* CPACR, Armv7-M B3.2.20 */
#define FLOATING_POINT (0xfu << 20)                                      /* full access to CP10 and CP11 */

/* Words that the compiler may not turn into a call of memset or memcpy: libraries run only after this. */
static void fill(volatile uint32_t *start, const volatile uint32_t *end, uint32_t value)
{
    while (start != end)
        *start++ = value;
}

static void copy(volatile uint32_t *start, const volatile uint32_t *end, const volatile uint32_t *source)
{
    while (start != end)
        *start++ = *source++;
}

#define FAULT_STATUS (*(volatile uint32_t *)(uintptr_t)0xe000ed28u)  /* CFSR */
#define FAULT_ADDRESS (*(volatile uint32_t *)(uintptr_t)0xe000ed34u) /* MMFAR */
#define WRITE_REFUSED 0x82u                                          /* DACCVIOL, MMARVALID */

static void fault(void)
{
    if ((FAULT_STATUS & WRITE_REFUSED) == WRITE_REFUSED) {
        ta_mps2_say("a kernel wrote to a place that is neither an arena nor the stack: address ");
        ta_mps2_say_number((int32_t)FAULT_ADDRESS);
        ta_mps2_say("\n");
        ta_mps2_exit(TA_MPS2_STRAY);
    }
    ta_mps2_say("the processor took a fault: an address without memory behind it, or a stack too small\n");
    ta_mps2_exit(70);
}

/* Without a stack frame of its own: it paints the stack it would be on. */
__attribute__((naked, used)) void ta_mps2_reset(void)
{
    __asm__ volatile("ldr r0, =ta_stack_start\n"
                     "ldr r1, =ta_stack_end\n"
                     "ldr r2, =%0\n"
                     "1: cmp r0, r1\n"
                     "beq 2f\n"
                     "str r2, [r0], #4\n"
                     "b 1b\n"
                     "2: b ta_mps2_start\n"
                     :
                     : "i"(PAINT));
}

__attribute__((used, noreturn)) void ta_mps2_start(void);
void ta_mps2_start(void)
{
    COPROCESSOR_ACCESS |= FLOATING_POINT;
    __asm__ volatile("dsb\nisb" ::: "memory");
    copy(ta_data_start, ta_data_end, ta_data_load);
    fill(ta_bss_start, ta_bss_end, 0);
    ta_mps2_exit(main());
    for (;;)
        ;
}

uint32_t ta_mps2_stack_used(void)
{
    const uint32_t *word = ta_stack_start;
    while (word != ta_stack_end && *word == PAINT)
        word++;
    return (uint32_t)((uintptr_t)ta_stack_end - (uintptr_t)word);
}

uint32_t ta_mps2_stack_bytes(void)
{
    return (uint32_t)((uintptr_t)ta_stack_end - (uintptr_t)ta_stack_start);
}

/* Initial stack pointer, reset, and the fourteen exceptions of the core; no interrupt is ever enabled. */
typedef struct vectors {
    const uint32_t *stack;
    void (*handlers[15])(void);
} vectors;

extern const vectors ta_mps2_vectors;
__attribute__((section(".vectors"), used)) const vectors ta_mps2_vectors = {
    ta_stack_end,
    {ta_mps2_reset, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault,
     fault},
};
