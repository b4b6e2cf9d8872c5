/* Feeds the ELF loader everything that can be wrong with an image: `elf_loader IMAGE MACHINE PHYSICAL DEVICE BYTES`,
 * numbers as strtoull reads them. Prints one line per question; sanitizers see the rest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load/elf.h"

enum { GUARD = 64, PAINT = 0x5a };

static uint8_t *storage;
static ta_elf_room room;

static void paint(void)
{
    memset(storage, PAINT, room.bytes + 2u * GUARD);
}

/* Is what lies around the room as it was painted? With `whole`, the room too. */
static int painted(int whole)
{
    for (uint32_t i = 0; i < room.bytes + 2u * GUARD; i++)
        if ((whole || i < GUARD || i >= room.bytes + GUARD) && storage[i] != PAINT)
            return 0;
    return 1;
}

/* Everything a load process does, on bytes that end where the image ends. */
static ta_status attempt(const uint8_t *image, uint32_t bytes, uint32_t machine)
{
    uint8_t *own = malloc(bytes != 0 ? bytes : 1);
    const uint8_t *content = NULL;
    uint32_t content_bytes = 0;
    ta_elf elf;
    if (own == NULL)
        abort();
    memcpy(own, image, bytes);
    ta_status status = ta_elf_open(&elf, own, bytes, machine);
    if (status == TA_OK)
        status = ta_elf_check(own, bytes);
    if (status == TA_OK)
        status = ta_elf_note(&elf, "TA", 1, &content, &content_bytes);
    if (status == TA_OK)
        status = ta_elf_place(&elf, &room, 1);
    free(own);
    if (!painted(0)) {
        printf("wrote outside the room\n");
        exit(1);
    }
    return status;
}

static uint32_t refused_lengths(const uint8_t *image, uint32_t bytes, uint32_t machine)
{
    uint32_t refused = 0;
    for (uint32_t length = 0; length < bytes; length++)
        refused += attempt(image, length, machine) == TA_ERROR_IMAGE;
    return refused;
}

/* Every byte of the headers, with every single bit turned and with all of them. */
static uint32_t survived_flips(uint8_t *image, uint32_t bytes, uint32_t machine)
{
    uint32_t survived = 0;
    for (uint32_t i = 0; i < 256 && i < bytes; i++)
        for (unsigned mask = 1; mask <= 256; mask <<= 1) {
            const uint8_t flip = (uint8_t)(mask == 256 ? 0xff : mask);
            image[i] ^= flip;
            paint();
            const ta_status status = attempt(image, bytes, machine);
            survived += status == TA_OK || (status == TA_ERROR_IMAGE && painted(1));
            image[i] ^= flip;
        }
    return survived;
}

/* Where the core sees what is in the room, and what is not. */
static int bytes_are_found(void)
{
    const ta_address first = room.device;
    return ta_elf_byte(&room, 1, first, room.bytes) == room.base && ta_elf_byte(&room, 1, first - 1u, 1) == NULL &&
           ta_elf_byte(&room, 1, first, room.bytes + 1u) == NULL && ta_elf_byte(NULL, 0, first, 1) == NULL;
}

int main(int argc, char **argv)
{
    FILE *file = argc == 6 ? fopen(argv[1], "rb") : NULL;
    static uint8_t image[1 << 20];
    if (file == NULL)
        return 2;
    const uint32_t bytes = (uint32_t)fread(image, 1, sizeof image, file);
    (void)fclose(file);
    const uint32_t machine = (uint32_t)strtoul(argv[2], NULL, 0);
    room.physical = strtoull(argv[3], NULL, 0);
    room.device = strtoull(argv[4], NULL, 0);
    room.bytes = (uint32_t)strtoul(argv[5], NULL, 0);
    storage = malloc(room.bytes + 2u * GUARD);
    if (storage == NULL)
        return 2;
    room.base = storage + GUARD;
    if (!bytes_are_found() || ta_elf_check(NULL, bytes) != TA_ERROR_IMAGE)
        return 1;

    paint();
    printf("whole: %d\n", (int)attempt(image, bytes, machine));
    printf("cut short: %d\n", refused_lengths(image, bytes, machine) == bytes);
    printf("another machine: %d\n", (int)attempt(image, bytes, machine ^ 1u));
    room.device += 64;
    paint();
    printf("addresses that disagree: %d %d\n", (int)attempt(image, bytes, machine), painted(1));
    room.device -= 64;
    const uint32_t enough = room.bytes;
    room.bytes = 1024;
    printf("no room: %d\n", (int)attempt(image, bytes, machine));
    room.bytes = enough;
    printf("flipped: %d\n", survived_flips(image, bytes, machine) == (bytes < 256 ? bytes : 256) * 9u);
    free(storage);
    return 0;
}
