/* Elements of arrays as numbers. */
#ifndef TARGET_ARCH_PROGRAMS_ELEMENTS_H
#define TARGET_ARCH_PROGRAMS_ELEMENTS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define TA_ELEMENT_AT(name, type)                                                     \
    static inline double ta_##name##_at(const void *values, uint32_t index)           \
    {                                                                                 \
        type value;                                                                   \
        memcpy(&value, (const uint8_t *)values + index * sizeof value, sizeof value); \
        return (double)value;                                                         \
    }

TA_ELEMENT_AT(bool, uint8_t)
TA_ELEMENT_AT(int8, int8_t)
TA_ELEMENT_AT(uint8, uint8_t)
TA_ELEMENT_AT(int16, int16_t)
TA_ELEMENT_AT(uint16, uint16_t)
TA_ELEMENT_AT(int32, int32_t)
TA_ELEMENT_AT(uint32, uint32_t)
TA_ELEMENT_AT(int64, int64_t)
TA_ELEMENT_AT(uint64, uint64_t)
TA_ELEMENT_AT(float32, float)
TA_ELEMENT_AT(float64, double)

/* C99 has no type of 16 bits with a point: these are the bits of one. */
static inline double ta_float16_at(const void *values, uint32_t index)
{
    uint16_t bits;
    double size;
    memcpy(&bits, (const uint8_t *)values + index * sizeof bits, sizeof bits);
    size = (double)(bits & 0x3ffu);
    if ((bits & 0x7c00u) == 0x7c00u)
        size = size > 0.0 ? NAN : INFINITY;
    else if ((bits & 0x7c00u) != 0u)
        size = ldexp(size + 1024.0, (int)(bits >> 10 & 0x1fu) - 25);
    else
        size = ldexp(size, -24);
    return (bits & 0x8000u) != 0u ? -size : size;
}

#endif
