/* The functions that a compiler may call although a program is freestanding. Without a C library this is all there is;
 * division is here for cores whose instruction set has none. */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict target, const void *restrict source, size_t bytes);
void *memmove(void *target, const void *source, size_t bytes);
void *memset(void *target, int value, size_t bytes);

/* Volatile, so that no compiler turns the loops into calls of themselves. */
void *memcpy(void *restrict target, const void *restrict source, size_t bytes)
{
    volatile uint8_t *to = target;
    const uint8_t *from = source;
    for (size_t i = 0; i < bytes; i++)
        to[i] = from[i];
    return target;
}

void *memmove(void *target, const void *source, size_t bytes)
{
    volatile uint8_t *to = target;
    const uint8_t *from = source;
    if ((uintptr_t)target < (uintptr_t)source)
        return memcpy(target, source, bytes);
    for (size_t left = bytes; left > 0u; left--)
        to[left - 1u] = from[left - 1u];
    return target;
}

void *memset(void *target, int value, size_t bytes)
{
    volatile uint8_t *to = target;
    for (size_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)value;
    return target;
}

#if defined(__hexagon__)
static uint64_t divide(uint64_t dividend, uint64_t divisor, uint64_t *rest)
{
    uint64_t quotient = 0, left = 0;
    for (int bit = 63; bit >= 0; bit--) {
        left = left << 1 | (dividend >> bit & 1u);
        if (left >= divisor) {
            left -= divisor;
            quotient |= (uint64_t)1 << bit;
        }
    }
    *rest = left;
    return quotient;
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? 0u - (uint64_t)value : (uint64_t)value;
}

static int64_t quotient(int64_t a, int64_t b)
{
    uint64_t rest;
    const uint64_t found = divide(magnitude(a), magnitude(b), &rest);
    return (int64_t)((a < 0) != (b < 0) ? 0u - found : found);
}

static int64_t rest(int64_t a, int64_t b)
{
    uint64_t left;
    (void)divide(magnitude(a), magnitude(b), &left);
    return (int64_t)(a < 0 ? 0u - left : left);
}

int32_t __hexagon_divsi3(int32_t a, int32_t b);
int32_t __hexagon_modsi3(int32_t a, int32_t b);
uint32_t __hexagon_udivsi3(uint32_t a, uint32_t b);
uint32_t __hexagon_umodsi3(uint32_t a, uint32_t b);
int64_t __hexagon_divdi3(int64_t a, int64_t b);
int64_t __hexagon_moddi3(int64_t a, int64_t b);
uint64_t __hexagon_udivdi3(uint64_t a, uint64_t b);
uint64_t __hexagon_umoddi3(uint64_t a, uint64_t b);

int32_t __hexagon_divsi3(int32_t a, int32_t b) { return (int32_t)quotient(a, b); }
int32_t __hexagon_modsi3(int32_t a, int32_t b) { return (int32_t)rest(a, b); }
int64_t __hexagon_divdi3(int64_t a, int64_t b) { return quotient(a, b); }
int64_t __hexagon_moddi3(int64_t a, int64_t b) { return rest(a, b); }

uint64_t __hexagon_udivdi3(uint64_t a, uint64_t b)
{
    uint64_t left;
    return divide(a, b, &left);
}

uint64_t __hexagon_umoddi3(uint64_t a, uint64_t b)
{
    uint64_t left;
    (void)divide(a, b, &left);
    return left;
}

uint32_t __hexagon_udivsi3(uint32_t a, uint32_t b) { return (uint32_t)__hexagon_udivdi3(a, b); }
uint32_t __hexagon_umodsi3(uint32_t a, uint32_t b) { return (uint32_t)__hexagon_umoddi3(a, b); }
#endif
