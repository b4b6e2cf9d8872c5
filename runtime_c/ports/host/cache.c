/* The host's cache, as it would be on a chip whose DMA engines do not look into it.
 *
 * The host sees the bundle's arenas of a cached memory: these are the cache, of which every line is filled. Behind
 * it are the bytes that DMA channels see, in an array of its own. A line that the host changed reaches it when it is cleaned or
 * evicted, as a whole; a line whose bytes arrived there is seen by the host when the old one is dropped or evicted, as a
 * whole. Which lines are evicted when is random. A forgotten cache duty, or two buffers in one line, then give wrong
 * bytes, although all threads share one coherent memory.
 *
 * Memories of which the SoC says that no line matters (`cache_line`), or that devices see as well, stay coherent; so do
 * constants, which the host never changes.
 */
#include <string.h>

#include "ports/host/state.h"

#ifndef TA_HOST_EVICTIONS
#define TA_HOST_EVICTIONS 4u /* lines for every operation of the host; with 0 a stale line stays until a duty drops it */
#endif
#define TA_HOST_BEHIND 0x5a  /* what DMA channels see of lent bytes until they are cleaned */

#ifndef TA_HOST_CACHE
#define TA_HOST_CACHE 0
#endif
#if TA_HOST_CACHE
#ifndef TA_HOST_CACHE_BYTES
#define TA_HOST_CACHE_BYTES 0x2000000u
#endif
static uint8_t default_store[TA_HOST_CACHE_BYTES];
#define DEFAULT_STORE default_store
#else
#define TA_HOST_CACHE_BYTES 0
#define DEFAULT_STORE NULL
#endif

/* Whole lines of one arena. `filled` is what a line had when it came into the cache: it is dirty where the host's copy
 * differs. Bytes that a caller lends come with the run, every line dirty; the host only reads those of inputs. */
typedef struct region {
    const ta_lent *lent; /* NULL for bytes that stay */
    uint8_t *cached;
    uint8_t *behind;
    uint8_t *filled;
    uint32_t bytes;
    uint32_t line;
} region;

static struct {
    pthread_mutex_t lock; /* for what is behind the cache */
    uint8_t *store;
    uint32_t store_bytes;
    uint32_t random;
    uint32_t count;
    region regions[TA_HOST_MAX_WINDOWS];
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .store = DEFAULT_STORE,
           .store_bytes = TA_HOST_CACHE_BYTES,
           .random = TA_HOST_CACHE};

void ta_host_set_cache(uint8_t *store, uint32_t bytes, uint32_t seed)
{
    cache.store = store;
    cache.store_bytes = bytes;
    cache.random = seed | 1u;
}

static int observed_elsewhere(const ta_soc *soc, uint32_t memory)
{
    for (uint32_t i = 0; i < soc->instance_count; i++)
        for (uint32_t j = 0; j < soc->instances[i].observed_count; j++)
            if (soc->instances[i].observed[j].memory == memory)
                return 1;
    return 0;
}

/* The arena in whole lines; what the linker put beside it in its first and last line is part of it. */
static region whole_lines(const ta_arena *arena, uint32_t line)
{
    if (arena->lent != NULL) {
        const region lent = {arena->lent, NULL, NULL, NULL, arena->bytes, line};
        return lent;
    }
    const uint32_t before = (uint32_t)((uintptr_t)arena->base % line);
    const uint32_t bytes = (before + arena->bytes + line - 1u) / line * line;
    const region r = {NULL, arena->base - before, NULL, NULL, bytes, line};
    return r;
}

/* Take up bytes that were lent since. The caller holds the lock. */
static void follow_lent(void)
{
    for (uint32_t i = 0; i < cache.count; i++) {
        region *r = &cache.regions[i];
        if (r->lent == NULL || *r->lent->start == r->cached)
            continue;
        r->cached = (uint8_t *)(uintptr_t)*r->lent->start;
        (void)memset(r->behind, TA_HOST_BEHIND, r->bytes);
        (void)memset(r->filled, TA_HOST_BEHIND, r->bytes);
    }
}

ta_status ta_host_cache_open(const ta_soc *soc, const ta_bundle *bundle)
{
    uint32_t used = 0;
    cache.count = 0;
    for (uint32_t i = 0; cache.store != NULL && i < bundle->arena_count; i++) {
        const ta_arena *arena = &bundle->arenas[i];
        const uint32_t line = soc->memories[arena->memory].cache_line;
        if (line == 0 || (arena->base == NULL && arena->lent == NULL) || arena->bytes == 0 || observed_elsewhere(soc, arena->memory))
            continue;
        region r = whole_lines(arena, line);
        if (cache.count == TA_HOST_MAX_WINDOWS || (uint64_t)used + 2ull * r.bytes > cache.store_bytes)
            return TA_ERROR_ARGUMENT;
        r.behind = cache.store + used;
        r.filled = r.behind + r.bytes;
        if (r.cached != NULL) {
            (void)memcpy(r.behind, r.cached, r.bytes);
            (void)memcpy(r.filled, r.cached, r.bytes);
        }
        used += 2u * r.bytes;
        cache.regions[cache.count++] = r;
    }
    return TA_OK;
}

static region *region_of(const uint8_t *at)
{
    for (uint32_t i = 0; i < cache.count; i++)
        if (cache.regions[i].cached != NULL && at >= cache.regions[i].cached && at < cache.regions[i].cached + cache.regions[i].bytes)
            return &cache.regions[i];
    return NULL;
}

static void write_back(const region *r, uint32_t at)
{
    if (memcmp(r->cached + at, r->filled + at, r->line) == 0)
        return;
    (void)memcpy(r->behind + at, r->cached + at, r->line);
    (void)memcpy(r->filled + at, r->cached + at, r->line);
}

static void fill_line(const region *r, uint32_t at)
{
    if (r->lent == NULL || r->lent->writable)
        (void)memcpy(r->cached + at, r->behind + at, r->line);
    (void)memcpy(r->filled + at, r->behind + at, r->line);
}

static uint32_t next_random(void)
{
    cache.random ^= cache.random << 13;
    cache.random ^= cache.random >> 17;
    cache.random ^= cache.random << 5;
    return cache.random;
}

void ta_host_cache_evict(void)
{
    if (cache.count == 0)
        return;
    pthread_mutex_lock(&cache.lock);
    follow_lent();
    for (uint32_t left = TA_HOST_EVICTIONS; left != 0; left--) {
        const region *r = &cache.regions[next_random() % cache.count];
        if (r->cached == NULL)
            continue;
        const uint32_t at = next_random() % (r->bytes / r->line) * r->line;
        write_back(r, at);
        fill_line(r, at);
    }
    pthread_mutex_unlock(&cache.lock);
}

void ta_host_cache_maintain(const uint8_t *start, uint32_t bytes, int clean)
{
    const region *r = region_of(start);
    if (r == NULL || bytes == 0)
        return;
    const uint32_t first = (uint32_t)(start - r->cached) / r->line * r->line;
    const uint32_t end = (uint32_t)(start - r->cached) + bytes;
    pthread_mutex_lock(&cache.lock);
    for (uint32_t at = first; at < end && at < r->bytes; at += r->line)
        if (clean)
            write_back(r, at);
        else
            fill_line(r, at);
    pthread_mutex_unlock(&cache.lock);
}

static uint8_t *behind(uint8_t *at)
{
    const region *r = region_of(at);
    return r == NULL ? at : r->behind + (at - r->cached);
}

void ta_host_transfer(const ta_copy *copy)
{
    if (cache.count == 0) {
        ta_host_rows(copy, ta_host_byte(copy->target), ta_host_byte(copy->source));
        return;
    }
    pthread_mutex_lock(&cache.lock);
    ta_host_rows(copy, behind(ta_host_byte(copy->target)), behind(ta_host_byte(copy->source)));
    pthread_mutex_unlock(&cache.lock);
}
