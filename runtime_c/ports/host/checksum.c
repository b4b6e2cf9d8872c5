/* CRC-32C by the instructions of the processor: SSE4.2, or the CRC extension of Armv8. */
#include <string.h>

#include "ports/host/state.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <nmmintrin.h>
#define HAS_CRC32C __builtin_cpu_supports("sse4.2")
#define WITH_CRC32C __attribute__((target("sse4.2")))
#define CRC32C_8(crc, byte) _mm_crc32_u8(crc, byte)
#define CRC32C_64(crc, word) (uint32_t)_mm_crc32_u64(crc, word)
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#define HAS_CRC32C 1
#define WITH_CRC32C
#define CRC32C_8(crc, byte) __crc32cb(crc, byte)
#define CRC32C_64(crc, word) __crc32cd(crc, word)
#endif

#ifdef HAS_CRC32C
WITH_CRC32C static uint32_t checksum(uint32_t crc, const uint8_t *bytes, uint32_t count)
{
    uint32_t rest = ~crc, done = 0;
    for (; count - done >= 8u; done += 8u) {
        uint64_t word;
        (void)memcpy(&word, &bytes[done], sizeof word);
        rest = CRC32C_64(rest, word);
    }
    for (; done < count; done++)
        rest = CRC32C_8(rest, bytes[done]);
    return ~rest;
}

ta_status ta_host_crc32c(const void *start, uint32_t bytes, uint32_t *crc)
{
    if (!HAS_CRC32C)
        return TA_ERROR_UNSUPPORTED;
    *crc = checksum(*crc, start, bytes);
    return TA_OK;
}
#else
ta_status ta_host_crc32c(const void *start, uint32_t bytes, uint32_t *crc)
{
    (void)start;
    (void)bytes;
    (void)crc;
    return TA_ERROR_UNSUPPORTED;
}
#endif
