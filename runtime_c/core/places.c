/* Places and checksums: the parts of the runtime that need no runtime. */
#include "core/internal.h"

void *ta_pointer(const ta_bundle *bundle, ta_ref where)
{
    if (where.arena >= bundle->arena_count)
        return NULL;
    const ta_arena *arena = &bundle->arenas[where.arena];
    if (where.offset >= arena->bytes)
        return NULL;
    if (arena->base != NULL)
        return arena->base + where.offset;
    if (arena->base_const != NULL)
        return (void *)(uintptr_t)(arena->base_const + where.offset);
    if (arena->lent != NULL && *arena->lent->start != NULL)
        return (void *)((uintptr_t)*arena->lent->start + where.offset);
    return NULL;
}

uint32_t ta_crc32(const uint8_t *bytes, uint32_t count)
{
    uint32_t crc = 0xffffffffu;
    for (uint32_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1u) ^ ((crc & 1u) != 0u ? 0xedb88320u : 0u);
    }
    return crc ^ 0xffffffffu;
}
