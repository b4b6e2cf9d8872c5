/* Fuzzes the loader of ELF images: the input is the file. All that is placed stays in the room, and the file is not
 * changed. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "load/elf.h"

enum { ROOM = 4096, GUARD = 64, PAINT = 0x5a };

int fuzz_accepted;
static uint8_t storage[GUARD + ROOM + GUARD];
static const ta_elf_room rooms[] = {{0x40000000u, 0x80000000u, ROOM, storage + GUARD}};

static int painted(size_t start, size_t count)
{
    for (size_t i = start; i < start + count; i++)
        if (storage[i] != PAINT)
            return 0;
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    ta_elf elf;
    const uint8_t *content = NULL;
    uint32_t content_bytes = 0;
    uint8_t *image = malloc(count != 0 ? count : 1u);
    if (image == NULL)
        return 0;
    if (count != 0)
        memcpy(image, bytes, count);
    fuzz_accepted = ta_elf_open(&elf, image, (uint32_t)count, TA_ELF_ANY) == TA_OK;
    if (fuzz_accepted != (ta_elf_check(image, (uint32_t)count) == TA_OK))
        abort();
    if (fuzz_accepted) {
        memset(storage, PAINT, sizeof storage);
        const ta_status placed = ta_elf_place(&elf, rooms, 1);
        if (!painted(0, GUARD) || !painted(GUARD + ROOM, GUARD) || (placed != TA_OK && !painted(GUARD, ROOM)))
            abort();
        if (ta_elf_note(&elf, "TA", 1, &content, &content_bytes) == TA_OK && content_bytes != 0 &&
            (content < image || content + content_bytes > image + count))
            abort();
    }
    if (count != 0 && memcmp(image, bytes, count) != 0)
        abort();
    free(image);
    return 0;
}
