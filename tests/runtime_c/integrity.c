/* Sealed bytes: every flipped bit is found, whether in bytes with an emitted CRC or in tables with addresses, at the
 * first pass or later, in slices of any size, by software and by the hardware of a port. */
#include <stdio.h>
#include <string.h>

#include "integrity/integrity.h"
#include "ports/host/host.h"
#include "target_arch/runtime.h"

enum { LONG = 1003, SHORT = 5, TABLE = 24 };

static uint8_t lengthy[LONG], small[SHORT], empty[1], table[TABLE], other[TABLE];
static ta_seal first_seals[] = {{lengthy, LONG, 0, 0}, {table, TABLE, 0, 1}, {small, SHORT, 0, 0}, {empty, 0, 0, 0}};
static ta_seal second_seals[] = {{other, TABLE, 0, 1}};
static const ta_seals first = {first_seals, 4}, none = {NULL, 0}, second = {second_seals, 1};
static const ta_seals *const models[] = {&first, &none, &second};
static ta_port software;
static ta_integrity integrity;

#define REQUIRE(condition)                                   \
    do {                                                     \
        if (!(condition)) {                                  \
            printf("not ok line %d: %s\n", __LINE__, #condition); \
            return 1;                                        \
        }                                                    \
    } while (0)

static uint32_t by_bits(const uint8_t *bytes, uint32_t count)
{
    uint32_t crc = 0xffffffffu;
    for (uint32_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0x82f63b78u : 0u);
    }
    return ~crc;
}

static void paint(void)
{
    for (uint32_t i = 0; i < LONG; i++)
        lengthy[i] = (uint8_t)(i * 7u + i / 250u);
    for (uint32_t i = 0; i < TABLE; i++)
        table[i] = other[i] = (uint8_t)(200u - i);
    memcpy(small, "seals", SHORT);
    first_seals[0].crc32c = by_bits(lengthy, LONG);
    first_seals[2].crc32c = by_bits(small, SHORT);
}

/* One pass in slices; the answer of the last call. */
static ta_status pass(uint32_t slice)
{
    const uint32_t before = integrity.passes;
    ta_status status = TA_OK;
    while (status == TA_OK && integrity.passes == before)
        status = ta_integrity_check(&integrity, slice);
    return status;
}

static int checksums(const ta_port *port)
{
    const uint8_t digits[] = "123456789";
    REQUIRE(ta_crc32c(0, digits, 9) == 0xe3069283u);
    for (uint32_t start = 0; start < 9; start++)
        for (uint32_t count = 0; count < 40; count++)
            REQUIRE(ta_crc32c(0, lengthy + start, count) == by_bits(lengthy + start, count));
    if (port->crc32c == NULL)
        return 0;
    for (uint32_t start = 0; start < 9; start++)
        for (uint32_t count = 0; count < 40; count++) {
            uint32_t crc = ta_crc32c(0, lengthy, start);
            const ta_status status = port->crc32c(port, lengthy + start, count, &crc);
            REQUIRE(status == TA_OK || status == TA_ERROR_UNSUPPORTED);
            REQUIRE(status != TA_OK || crc == by_bits(lengthy, start + count));
        }
    return 0;
}

static int flips(const ta_port *port, uint8_t *byte, const ta_seal *corrupt, int known)
{
    static const uint32_t slices[] = {1, 3, 100, UINT32_MAX};
    for (uint32_t s = 0; s < 4; s++) {
        REQUIRE(ta_integrity_init(&integrity, models, 3, port) == TA_OK && integrity.passes == 1);
        REQUIRE(pass(slices[s]) == TA_OK && pass(slices[s]) == TA_OK && integrity.passes == 3);
        *byte ^= 0x10u;
        REQUIRE(pass(slices[s]) == TA_ERROR_CORRUPT && integrity.corrupt == corrupt);
        REQUIRE(ta_integrity_check(&integrity, 0) == TA_ERROR_CORRUPT);
        REQUIRE(ta_integrity_init(&integrity, models, 3, port) == (known ? TA_ERROR_CORRUPT : TA_OK));
        *byte ^= 0x10u;
    }
    return 0;
}

static int on(const ta_port *port)
{
    if (checksums(port) != 0 || flips(port, &lengthy[0], &first_seals[0], 1) != 0)
        return 1;
    if (flips(port, &lengthy[LONG - 1], &first_seals[0], 1) != 0 || flips(port, &small[4], &first_seals[2], 1) != 0)
        return 1;
    if (flips(port, &table[TABLE - 1], NULL, 0) != 0 || flips(port, &other[0], NULL, 0) != 0)
        return 1;
    printf("ok %s\n", port->name);
    return 0;
}

/* Residents are read while they are there, and only then. */
static int copied(void)
{
    static uint8_t one[7] = "seven!", other_one[9] = "nine not";
    const ta_seal one_seal = {one, 7, by_bits(one, 7), 0}, other_seal = {other_one, 9, by_bits(other_one, 9), 0};
    const ta_seals one_seals = {&one_seal, 1}, other_seals = {&other_seal, 1}, missing = {NULL, 1};
    ta_bundle mine = {0}, yours = {0};
    ta_runtime rt = {0};
    const ta_residents residents[] = {{&one_seals, &mine}, {&other_seals, &yours}};
    const ta_residents hollow = {&missing, &mine}, nobodys = {&one_seals, NULL};
    ta_integrity fresh = {0};
    REQUIRE(ta_integrity_residents(&fresh, &rt, residents, 2) == TA_ERROR_STATE);
    REQUIRE(ta_integrity_init(&integrity, models, 3, &software) == TA_OK);
    REQUIRE(ta_integrity_residents(NULL, &rt, residents, 2) == TA_ERROR_ARGUMENT);
    REQUIRE(ta_integrity_residents(&integrity, NULL, residents, 2) == TA_ERROR_ARGUMENT);
    REQUIRE(ta_integrity_residents(&integrity, &rt, NULL, 2) == TA_ERROR_ARGUMENT);
    REQUIRE(ta_integrity_residents(&integrity, &rt, &hollow, 1) == TA_ERROR_ARGUMENT);
    REQUIRE(ta_integrity_residents(&integrity, &rt, &nobodys, 1) == TA_ERROR_ARGUMENT);
    REQUIRE(ta_integrity_residents(&integrity, &rt, residents, 2) == TA_OK);
    one[3] ^= 4u;
    other_one[3] ^= 4u;
    REQUIRE(pass(5) == TA_OK); /* stopped */
    rt.state = 1;
    REQUIRE(pass(5) == TA_OK); /* not filled */
    rt.filled = &yours;
    rt.state = 2;
    REQUIRE(pass(5) == TA_OK); /* broken */
    rt.lost = 1;
    rt.state = 3;
    other_one[3] ^= 4u;
    REQUIRE(pass(5) == TA_OK && pass(UINT32_MAX) == TA_OK); /* the first ones may be gone, the others are right */
    rt.lost = 0;
    rt.state = 1;
    const uint32_t before = integrity.passes;
    while (integrity.model < 3 || integrity.offset == 0)
        REQUIRE(ta_integrity_check(&integrity, 1) == TA_OK && integrity.passes == before);
    rt.filled = NULL; /* they go while the check is in the midst of them */
    REQUIRE(ta_integrity_check(&integrity, 1) == TA_OK && integrity.passes == before + 1);
    rt.filled = &mine;
    REQUIRE(pass(5) == TA_ERROR_CORRUPT && integrity.corrupt == &one_seal);
    one[3] ^= 4u;
    printf("ok residents\n");
    return 0;
}

static int arguments(void)
{
    const ta_seals missing = {NULL, 1}, *const absent[] = {&first, NULL}, *const hollow[] = {&missing};
    ta_integrity fresh = {0};
    REQUIRE(ta_integrity_check(NULL, 1) == TA_ERROR_STATE && ta_integrity_check(&fresh, 1) == TA_ERROR_STATE);
    REQUIRE(ta_integrity_init(NULL, models, 3, &software) == TA_ERROR_ARGUMENT);
    REQUIRE(ta_integrity_init(&fresh, NULL, 3, &software) == TA_ERROR_ARGUMENT);
    REQUIRE(ta_integrity_init(&fresh, models, 3, NULL) == TA_ERROR_ARGUMENT);
    REQUIRE(ta_integrity_init(&fresh, absent, 2, &software) == TA_ERROR_ARGUMENT);
    REQUIRE(ta_integrity_init(&fresh, hollow, 1, &software) == TA_ERROR_ARGUMENT);
    first_seals[1].start = NULL;
    REQUIRE(ta_integrity_init(&fresh, models, 3, &software) == TA_ERROR_ARGUMENT);
    first_seals[1].start = table;
    REQUIRE(ta_integrity_init(&fresh, models, 0, &software) == TA_OK);
    REQUIRE(ta_integrity_init(&fresh, models, 3, &software) == TA_OK);
    REQUIRE(ta_integrity_check(&fresh, 0) == TA_OK && fresh.offset == 0 && fresh.passes == 1);
    printf("ok arguments\n");
    return 0;
}

int main(void)
{
    paint();
    software.name = "software";
    return on(&software) != 0 || on(&ta_port_host) != 0 || copied() != 0 || arguments() != 0;
}
