/* Shared by the fuzz targets: bytes that are numbers, and the result of an input in a replay.
 *
 * A target is a libFuzzer entry, LLVMFuzzerTestOneInput, in one file; replay.c calls the same entry without libFuzzer.
 * `python -m benchmarks.fuzz_c` builds and runs them.
 */
#ifndef TARGET_ARCH_FUZZ_H
#define TARGET_ARCH_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/* 1 where the last input was taken, not refused: tests of a check count these. */
extern int fuzz_accepted;

/* The rest of an input. Behind its end all numbers are 0. */
typedef struct fuzz_input {
    const uint8_t *bytes;
    size_t left;
} fuzz_input;

static inline uint32_t fuzz_number(fuzz_input *input, uint32_t bytes)
{
    uint32_t value = 0;
    for (uint32_t i = 0; i < bytes && input->left != 0; i++, input->left--)
        value |= (uint32_t)*input->bytes++ << (8u * i);
    return value;
}

#ifdef __cplusplus
}
#endif

#endif
