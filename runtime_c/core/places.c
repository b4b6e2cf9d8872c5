/* Places and checksums: the parts of the runtime that need no runtime. */
#include "core/internal.h"

/*@ requires \valid_read(bundle);
    requires \valid_read(bundle->arenas + (0 .. bundle->arena_count - 1));
    requires where.arena < bundle->arena_count ==> bundle->arenas[where.arena].lent != \null ==>
      \valid_read(bundle->arenas[where.arena].lent) && \valid_read(bundle->arenas[where.arena].lent->start);
    assigns \nothing;
    ensures where.arena >= bundle->arena_count ==> \result == \null;
    ensures where.arena < bundle->arena_count && where.offset >= bundle->arenas[where.arena].bytes ==>
      \result == \null; */
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

/*@ requires \valid_read(bytes + (0 .. count - 1)); assigns \nothing; */
uint32_t ta_crc32(const uint8_t *bytes, uint32_t count)
{
    uint32_t crc = 0xffffffffu;
    //@ loop invariant 0 <= i <= count; loop assigns i, crc; loop variant count - i;
    for (uint32_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        //@ loop invariant 0 <= bit <= 8; loop assigns bit, crc; loop variant 8 - bit;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1u) ^ ((crc & 1u) != 0u ? 0xedb88320u : 0u);
    }
    return crc ^ 0xffffffffu;
}
