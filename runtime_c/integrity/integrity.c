/* One pass over sealed bytes, in slices. */
#include "integrity/integrity.h"

#include "core/internal.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the emitted CRCs are those of little-endian tables"
#endif

/* Half a byte at a time: 64 bytes of flash. */
uint32_t ta_crc32c(uint32_t crc, const uint8_t *bytes, uint32_t count)
{
    static const uint32_t table[16] = {
        0x00000000u, 0x105ec76fu, 0x20bd8edeu, 0x30e349b1u, 0x417b1dbcu, 0x5125dad3u, 0x61c69362u, 0x7198540du,
        0x82f63b78u, 0x92a8fc17u, 0xa24bb5a6u, 0xb21572c9u, 0xc38d26c4u, 0xd3d3e1abu, 0xe330a81au, 0xf36e6f75u,
    };
    uint32_t rest = ~crc;
    for (uint32_t i = 0; i < count; i++) {
        rest ^= bytes[i];
        rest = (rest >> 4) ^ table[rest & 15u];
        rest = (rest >> 4) ^ table[rest & 15u];
    }
    return ~rest;
}

uint32_t ta_crc32c_on(const ta_port *port, uint32_t crc, const uint8_t *bytes, uint32_t count)
{
    uint32_t sum = crc;
    if (port != NULL && port->crc32c != NULL && port->crc32c(port, bytes, count, &sum) == TA_OK)
        return sum;
    return ta_crc32c(crc, bytes, count);
}

static ta_status corrupt(ta_integrity *in, const ta_seal *seal)
{
    in->corrupt = seal;
    in->status = TA_ERROR_CORRUPT;
    return TA_ERROR_CORRUPT;
}

/* All bytes of an entry were read. */
static ta_status close_seal(ta_integrity *in, const ta_seal *seal)
{
    if (seal->linked == 0u && in->crc != seal->crc32c)
        return corrupt(in, seal);
    in->seal++;
    in->offset = 0u;
    in->crc = 0u;
    return TA_OK;
}

static ta_status close_pass(ta_integrity *in)
{
    if (in->passes == 0u)
        in->taken = in->linked;
    if (in->linked != in->taken)
        return corrupt(in, NULL);
    in->passes++;
    in->model = 0u;
    in->linked = 0u;
    return TA_OK;
}

/* Read up to `most` bytes of an entry; how many it were. */
static uint32_t read_on(ta_integrity *in, const ta_seal *seal, uint32_t most)
{
    const uint32_t left = seal->bytes - in->offset;
    const uint32_t count = left < most ? left : most;
    const uint8_t *const start = (const uint8_t *)seal->start + in->offset;
    if (seal->linked != 0u)
        in->linked = ta_crc32c_on(in->port, in->linked, start, count);
    else
        in->crc = ta_crc32c_on(in->port, in->crc, start, count);
    in->offset += count;
    return count;
}

/* Are the residents of a bundle where its fills left them? */
static int there(const ta_runtime *rt, const ta_bundle *bundle)
{
    if (rt->state != (uint32_t)TA_STATE_READY && rt->state != (uint32_t)TA_STATE_RUNNING)
        return 0;
    return rt->filled != NULL && (rt->lost == 0u || rt->filled == bundle);
}

/* The seals that are next; NULL for those of residents that are not there. */
static const ta_seals *next_seals(const ta_integrity *in)
{
    if (in->model < in->count)
        return in->models[in->model];
    const ta_residents *const own = &in->residents[in->model - in->count];
    return there(in->runtime, own->bundle) ? own->seals : NULL;
}

ta_status ta_integrity_check(ta_integrity *in, uint32_t bytes)
{
    if (in == NULL || in->models == NULL)
        return TA_ERROR_STATE;
    if (in->status != TA_OK)
        return in->status;
    uint32_t budget = bytes;
    while (in->model < in->count + in->resident_count) {
        const ta_seals *const own = next_seals(in);
        if (own == NULL || in->seal == own->count) {
            in->seal = 0u;
            in->offset = 0u;
            in->crc = 0u;
            in->model++;
            continue;
        }
        const ta_seal *const seal = &own->seals[in->seal];
        budget -= read_on(in, seal, budget);
        if (in->offset < seal->bytes)
            return TA_OK; /* there is more of it than this call may read */
        if (close_seal(in, seal) != TA_OK)
            return in->status;
    }
    return close_pass(in);
}

static int readable(const ta_seals *own)
{
    if (own == NULL || (own->seals == NULL && own->count != 0u))
        return 0;
    for (uint32_t i = 0; i < own->count; i++)
        if (own->seals[i].start == NULL)
            return 0;
    return 1;
}

ta_status ta_integrity_init(ta_integrity *in, const ta_seals *const *models, uint32_t count, const ta_port *port)
{
    if (in == NULL || models == NULL || port == NULL)
        return TA_ERROR_ARGUMENT;
    for (uint32_t i = 0; i < count; i++)
        if (!readable(models[i]))
            return TA_ERROR_ARGUMENT;
    const ta_integrity fresh = {models, port, count, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, NULL, TA_OK};
    *in = fresh;
    /* 2^32 bytes or more take several calls for the first pass. */
    while (in->passes == 0u && in->status == TA_OK)
        (void)ta_integrity_check(in, UINT32_MAX);
    return in->status;
}

ta_status ta_integrity_residents(ta_integrity *in, const ta_runtime *rt, const ta_residents *residents, uint32_t count)
{
    if (in == NULL || rt == NULL || residents == NULL)
        return TA_ERROR_ARGUMENT;
    if (in->models == NULL)
        return TA_ERROR_STATE;
    for (uint32_t i = 0; i < count; i++)
        if (!readable(residents[i].seals) || residents[i].bundle == NULL)
            return TA_ERROR_ARGUMENT;
    in->residents = residents;
    in->runtime = rt;
    in->resident_count = count;
    return TA_OK;
}
