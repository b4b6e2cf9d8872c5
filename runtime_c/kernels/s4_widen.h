/* Weights of 4 bits become bytes.
 *
 * Packed weights are groups of four bytes for eight values, two's complement: the low halves of the bytes are the
 * first four values, the high halves the other four. The groups at the end may have values that do not count.
 *
 * One form, portable: a group is a word of 32 bits, in either order of bytes. Compilers make vectors of it.
 */
#ifndef TA_KERNELS_S4_WIDEN_H
#define TA_KERNELS_S4_WIDEN_H

#include <stdint.h>
#include <string.h>

/* The sign of four values of 4 bits, one in each byte: subtracting 8 from what has its bit 3 turned borrows from no
 * neighbour while bit 7 is set. */
static inline uint32_t ta_s4_signed(uint32_t four)
{
    return (((four ^ 0x08080808u) | 0x80808080u) - 0x08080808u) ^ 0x80808080u;
}

/* Writes eight bytes to `values` for each of `groups` groups. */
static inline void ta_s4_widen(const uint8_t *packed, int8_t *values, int32_t groups)
{
    for (int32_t group = 0; group < groups; ++group) {
        uint32_t both, first, second;
        (void)memcpy(&both, packed + 4 * group, sizeof both);
        first = ta_s4_signed(both & 0x0f0f0f0fu);
        second = ta_s4_signed((both >> 4) & 0x0f0f0f0fu);
        (void)memcpy(values + 8 * group, &first, sizeof first);
        (void)memcpy(values + 8 * group + 4, &second, sizeof second);
    }
}

#endif
