/* Two tensors in a weights file: used, damaged in every byte, cut short at every length, and put where they cannot be. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integrity/integrity.h"
#include "weights/weights.h"

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            printf("line %d: %s\n", __LINE__, #condition);                  \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

#define BYTES 48u
#define FILE_BYTES TA_WEIGHTS_FILE_BYTES(BYTES, 2u)

static const void *start;
static const ta_lent lent = {&start, 16, 0, 1};
static const ta_weight tensors[] = {{"first", 0, 20}, {"second", 32, 9}};
static const ta_weights from_file = {"two.bin", tensors, 2, BYTES, 0x123456789abcdef0u, NULL, NULL, &start, &lent, 0};

static TA_ALIGNED(16) uint8_t file[FILE_BYTES + 16u];

static void put(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static void write_file(void)
{
    uint8_t *checks = file + BYTES;
    for (uint32_t i = 0; i < BYTES; i++)
        file[i] = i < 20 || (i >= 32 && i < 41) ? (uint8_t)(i * 37u) : 0;
    memcpy(checks, "TAW1", 4);
    put(checks + 4, 2);
    put(checks + 8, 0x9abcdef0u);
    put(checks + 12, 0x12345678u);
    put(checks + 16, ta_crc32c(0, file, 20));
    put(checks + 20, ta_crc32c(0, file + 32, 9));
    put(checks + 24, ta_crc32c(0, checks, 24));
}

/* A system whose only memory is around the file. */
static ta_soc system_around(ta_memory_info *memory)
{
    ta_soc soc;
    memset(&soc, 0, sizeof soc);
    memset(memory, 0, sizeof *memory);
    memory->address = (ta_address)(uintptr_t)file;
    memory->bytes = sizeof file;
    soc.memories = memory;
    soc.memory_count = 1;
    return soc;
}

static void damage_every_byte(const ta_soc *soc)
{
    const char *damaged;
    for (uint32_t i = 0; i < FILE_BYTES; i++) {
        const int padding = (i >= 20 && i < 32) || (i >= 41 && i < BYTES);
        const char *name = i < 20 ? "first" : i < BYTES ? "second" : "checks";
        file[i] ^= 0x10u;
        const ta_status status = ta_weights_use(&from_file, soc, NULL, file, FILE_BYTES, &damaged);
        file[i] ^= 0x10u;
        CHECK(padding ? status == TA_OK : status == TA_ERROR_CORRUPT && strcmp(damaged, name) == 0);
        CHECK((start != NULL) == padding);
    }
}

static void cut_everywhere(const ta_soc *soc)
{
    const char *damaged;
    for (uint32_t bytes = 0; bytes < FILE_BYTES; bytes++) {
        const char *name = bytes < 20 ? "first" : bytes < 41 ? "second" : "checks";
        CHECK(ta_weights_use(&from_file, soc, NULL, file, bytes, &damaged) == TA_ERROR_CORRUPT);
        CHECK(strcmp(damaged, name) == 0 && start == NULL);
    }
}

static void other_places(const ta_soc *soc)
{
    const char *damaged;
    CHECK(ta_weights_use(NULL, soc, NULL, file, FILE_BYTES, &damaged) == TA_ERROR_ARGUMENT);
    CHECK(ta_weights_use(&from_file, soc, NULL, file, FILE_BYTES, NULL) == TA_ERROR_ARGUMENT);
    CHECK(ta_weights_use(&from_file, NULL, NULL, file, FILE_BYTES, &damaged) == TA_ERROR_ARGUMENT);
    CHECK(ta_weights_use(&from_file, soc, NULL, NULL, FILE_BYTES, &damaged) == TA_ERROR_ARGUMENT && damaged == NULL);
    CHECK(ta_weights_use(&from_file, soc, NULL, file + 4, FILE_BYTES, &damaged) == TA_ERROR_ARGUMENT);
#ifdef TA_SECTIONS
    ta_memory_info elsewhere = soc->memories[0];
    ta_soc moved = *soc;
    moved.memories = &elsewhere;
    elsewhere.address += 16;
    CHECK(ta_weights_use(&from_file, &moved, NULL, file, FILE_BYTES, &damaged) == TA_ERROR_ARGUMENT);
    elsewhere.address -= 16 + sizeof file;
    CHECK(ta_weights_use(&from_file, &moved, NULL, file, FILE_BYTES, &damaged) == TA_ERROR_ARGUMENT);
#endif
    CHECK(ta_weights_check(&from_file, NULL, &damaged) == TA_ERROR_STATE);
    CHECK(ta_weights_at(&from_file, soc, NULL, file, &damaged) == TA_OK && start == file);
    CHECK(ta_weights_at(&from_file, soc, NULL, NULL, &damaged) == TA_OK && start == file);
    CHECK(ta_weights_map(&from_file, soc, NULL, &damaged) == TA_OK && start == file);
}

static void for_another_program(const ta_soc *soc)
{
    const char *damaged;
    put(file + BYTES + 8, 0x9abcdef1u);
    put(file + BYTES + 24, ta_crc32c(0, file + BYTES, 24));
    CHECK(ta_weights_use(&from_file, soc, NULL, file, FILE_BYTES, &damaged) == TA_ERROR_ABI_MISMATCH && damaged == NULL);
    write_file();
}

static void linked(void)
{
    const char *damaged;
    const ta_weights own = {"two.bin", tensors, 2,    BYTES, 0x123456789abcdef0u,
                            file,      file + BYTES, NULL, NULL,  0};
    CHECK(ta_weights_check(&own, NULL, &damaged) == TA_OK && damaged == NULL);
    file[33] ^= 1u;
    CHECK(ta_weights_check(&own, NULL, &damaged) == TA_ERROR_CORRUPT && strcmp(damaged, "second") == 0);
    file[33] ^= 1u;
    CHECK(ta_weights_check(NULL, NULL, &damaged) == TA_ERROR_ARGUMENT);
    CHECK(ta_weights_at(&own, NULL, NULL, file, &damaged) == TA_ERROR_ARGUMENT);
}

static void from_a_folder(void)
{
    ta_soc soc;
    ta_memory_info memory;
    const char *damaged;
    memset(&soc, 0, sizeof soc);
    memset(&memory, 0, sizeof memory);
    memory.bytes = UINT64_MAX;
    soc.memories = &memory;
    start = NULL;
    setenv("TARGET_ARCH_WEIGHTS", ".", 1);
    CHECK(ta_weights_map(&from_file, &soc, NULL, &damaged) == TA_ERROR_CORRUPT && strcmp(damaged, "two.bin") == 0);
    FILE *out = fopen("two.bin", "wb");
    CHECK(out != NULL && fwrite(file, 1, FILE_BYTES, out) == FILE_BYTES && fclose(out) == 0);
    CHECK(ta_weights_map(&from_file, &soc, NULL, &damaged) == TA_OK && start != NULL);
    CHECK(memcmp(start, file, FILE_BYTES) == 0);
}

int main(void)
{
    ta_memory_info memory;
    const ta_soc soc = system_around(&memory);
    write_file();
    CHECK(ta_weights_use(&from_file, &soc, NULL, file, FILE_BYTES, &(const char *){NULL}) == TA_OK);
    damage_every_byte(&soc);
    cut_everywhere(&soc);
    for_another_program(&soc);
    start = NULL;
    other_places(&soc);
    linked();
    from_a_folder();
    return 0;
}
