/* Are the bytes of a bundle still those that were emitted?
 *
 * Constants, steps, copies, operands and command words have a CRC-32C that the compiler computed. Tables with
 * addresses, which only the linker knows, are compared with what they were at the first pass. One pass over all of it
 * comes before init; afterwards a program reads on, as many bytes at a time as it has time for. Images have a CRC of
 * their own, which the core compares when it loads them. The code of kernels is not covered.
 *
 * The caller owns all memory. Nothing here blocks, runs longer than its bytes take, or is interrupt-safe.
 */
#ifndef TARGET_ARCH_INTEGRITY_H
#define TARGET_ARCH_INTEGRITY_H

#include "target_arch/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that never change. `linked` is 1 where they hold addresses; then `crc32c` says nothing. */
typedef struct ta_seal {
    const void *start;
    uint32_t bytes;
    uint32_t crc32c;
    uint32_t linked;
} ta_seal;

/* Everything of one model. */
typedef struct ta_seals {
    const ta_seal *seals;
    uint32_t count;
} ta_seals;

/* Constants that init copies to where they stay: the CRCs, none `linked`, of the bytes in arenas that the host sees. They
 * are read while they are there: after ta_fill, up to ta_stop or a run that breaks the runtime, and of several models
 * those alone that no program loaded since may have overwritten. Bytes that the host's cache holds are read from it. */
typedef struct ta_residents {
    const ta_seals *seals;
    const ta_bundle *bundle; /* whose they are */
} ta_residents;

/* All zero before ta_integrity_init. Fields are for reading. */
typedef struct ta_integrity {
    const ta_seals *const *models;
    const ta_port *port;
    uint32_t count;
    const ta_residents *residents; /* behind the models; NULL for none */
    const ta_runtime *runtime;     /* that fills them */
    uint32_t resident_count;
    uint32_t model;         /* the next byte is in this model, or in the residents behind all, */
    uint32_t seal;          /* this entry of its seals, */
    uint32_t offset;        /* and has this distance from its start */
    uint32_t crc;           /* of the bytes of the entry before it */
    uint32_t linked;        /* CRC-32C of all entries with addresses before it, in this pass */
    uint32_t taken;         /* the same of the whole first pass */
    uint32_t passes;        /* how many are complete */
    const ta_seal *corrupt; /* what was found changed; NULL where that is an entry with addresses, or nothing */
    ta_status status;       /* TA_OK until something was found changed */
} ta_integrity;

/* Read everything once. The pointers are kept, the values behind them stay the caller's. `port` may be closed; its
 * `crc32c` is used where it has one.
 *   TA_ERROR_ARGUMENT  NULL, or an entry without a start
 *   TA_ERROR_CORRUPT   bytes do not have their CRC */
ta_status ta_integrity_init(ta_integrity *integrity, const ta_seals *const *models, uint32_t count,
                            const ta_port *port);

/* Let later passes read residents, too: after ta_integrity_init, before or after they are there. All pointers are kept.
 *   TA_ERROR_ARGUMENT  NULL, or an entry without a start
 *   TA_ERROR_STATE     before ta_integrity_init */
ta_status ta_integrity_residents(ta_integrity *integrity, const ta_runtime *runtime, const ta_residents *residents,
                                 uint32_t count);

/* Read on, up to `bytes` bytes and no further than the end of a pass, after which the next call begins again.
 *   TA_ERROR_STATE    before ta_integrity_init
 *   TA_ERROR_CORRUPT  bytes changed, now or in an earlier call: only ta_integrity_init forgets it */
ta_status ta_integrity_check(ta_integrity *integrity, uint32_t bytes);

/* CRC-32C (Castagnoli; iSCSI, SSE4.2, Armv8) of bytes behind others whose CRC is `crc`, 0 where there are none. */
uint32_t ta_crc32c(uint32_t crc, const uint8_t *bytes, uint32_t count);

/* The same, by the hardware of the port where it has some. `port` may be NULL. */
uint32_t ta_crc32c_on(const ta_port *port, uint32_t crc, const uint8_t *bytes, uint32_t count);

#ifdef __cplusplus
}
#endif

#endif
