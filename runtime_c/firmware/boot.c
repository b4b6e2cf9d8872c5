/* The boot ROM of an emulated core: puts every memory where the core sees it, waits in reset until it is ordered
 * an entry address through its doorbell, and goes there. Memories are arguments: address, size and file,
 * all in hexadecimal digits: `d8000000:40000:5`.
 *
 * The exit code says what was wrong: 64 an argument, 65 a memory that cannot be where it should be, 66 no entry.
 */
#include "firmware/mailbox.h"
#include "firmware/system.h"

enum { PROTECTION = 7, SHARED = 1, FIXED = 16 }; /* read, write, execute; MAP_SHARED, MAP_FIXED */

void ta_boot(const uintptr_t *stack);
TA_ENTRY(_start, ta_boot);

/* Reads hexadecimal digits up to `end`; the position behind it. */
static const char *number(const char *text, char end, uint64_t *value)
{
    *value = 0;
    for (; *text != end; text++) {
        const char digit = *text;
        if (!((digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f')))
            ta_exit(64);
        *value = *value * 16u + (uint64_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    return text + 1;
}

static void map(const char *text)
{
    uint64_t address, bytes, file;
    (void)number(number(number(text, ':', &address), ':', &bytes), '\0', &file);
    const uintptr_t how = address == 0 ? SHARED | FIXED : SHARED; /* 0 alone means: anywhere */
    const intptr_t found = ta_call(TA_CALL_MMAP, (uintptr_t)address, (uintptr_t)bytes, PROTECTION, how,
                                   (uintptr_t)file, 0);
    if ((uintptr_t)found != (uintptr_t)address)
        ta_exit(65);
}

void ta_boot(const uintptr_t *stack)
{
    uint64_t entry = 0;
    const uintptr_t count = stack[0];
    for (uintptr_t i = 1; i < count; i++)
        map((const char *)stack[1 + i]);
    if (ta_call(TA_CALL_READ, TA_DOORBELL, (uintptr_t)&entry, sizeof entry, 0, 0, 0) != (intptr_t)sizeof entry)
        ta_exit(66);
    ((void (*)(void))(uintptr_t)entry)();
    ta_exit(0);
}
