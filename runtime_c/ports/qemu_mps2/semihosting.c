/* Semihosting: the emulating computer does what the core asks for with BKPT 0xAB.
 * Source: Arm, Semihosting for AArch32 and AArch64, document 100863. */
#include "ports/qemu_mps2/qemu_mps2.h"

enum { SYS_OPEN = 0x01, SYS_CLOSE = 0x02, SYS_WRITE0 = 0x04, SYS_WRITE = 0x05, SYS_READ = 0x06 };
enum { SYS_EXIT_EXTENDED = 0x20, APPLICATION_EXIT = 0x20026 };
enum { MODE_READ_BINARY = 1, MODE_WRITE_BINARY = 5 };

/* `argument` is what the operation takes: an address of words, or of text. */
static int32_t ask(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return (int32_t)r0;
}

int ta_mps2_open(const char *name, int for_writing)
{
    uint32_t length = 0;
    while (name[length] != '\0')
        length++;
    const uintptr_t words[] = {(uintptr_t)name, for_writing ? MODE_WRITE_BINARY : MODE_READ_BINARY, length};
    return ask(SYS_OPEN, words);
}

int ta_mps2_close(int handle)
{
    const uintptr_t words[] = {(uintptr_t)handle};
    return ask(SYS_CLOSE, words) == 0 ? 0 : -1;
}

/* Both answer how many bytes were left over. */
static int32_t transfer(uint32_t operation, int handle, uintptr_t bytes, uint32_t count)
{
    const uintptr_t words[] = {(uintptr_t)handle, bytes, count};
    const int32_t left = ask(operation, words);
    return left < 0 || (uint32_t)left > count ? -1 : (int32_t)(count - (uint32_t)left);
}

int32_t ta_mps2_read(int handle, void *bytes, uint32_t count)
{
    return transfer(SYS_READ, handle, (uintptr_t)bytes, count);
}

int32_t ta_mps2_write(int handle, const void *bytes, uint32_t count)
{
    return transfer(SYS_WRITE, handle, (uintptr_t)bytes, count);
}

void ta_mps2_say(const char *text)
{
    (void)ask(SYS_WRITE0, text);
}

void ta_mps2_say_number(int32_t number)
{
    char digits[12];
    char *first = &digits[11];
    uint32_t rest = number < 0 ? 0u - (uint32_t)number : (uint32_t)number;
    *first = '\0';
    do {
        *--first = (char)('0' + rest % 10u);
        rest /= 10u;
    } while (rest != 0);
    if (number < 0)
        *--first = '-';
    ta_mps2_say(first);
}

void ta_mps2_exit(int code)
{
    const uintptr_t words[] = {APPLICATION_EXIT, (uintptr_t)code};
    for (;;)
        (void)ask(SYS_EXIT_EXTENDED, words);
}
