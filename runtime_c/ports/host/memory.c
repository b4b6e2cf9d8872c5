/* The bytes that each device sees, and their addresses.
 *
 * Memories that the host sees consist of the bundle's arenas. Memories it does not see are backed by the
 * simulation's arrays, which no code of the bundle can name.
 */
#include <string.h>

#include "ports/host/state.h"
#include "target_arch/port.h"

#define TA_HOST_LINE 64u

static const ta_simulated_memory *backing(uint32_t memory)
{
    for (uint32_t i = 0; i < ta_host.simulation->memory_count; i++)
        if (ta_host.simulation->memories[i].memory == memory)
            return &ta_host.simulation->memories[i];
    return NULL;
}

static const ta_observed *observation(uint32_t instance, uint32_t memory)
{
    const ta_instance_info *info = &ta_host.soc->instances[instance];
    for (uint32_t i = 0; i < info->observed_count; i++)
        if (info->observed[i].memory == memory)
            return &info->observed[i];
    return NULL;
}

/* Where an arena begins in its memory. Arenas of a memory that the host sees are arrays, wherever the
 * compiler put them; devices see them one behind the other. */
static ta_address arena_start(uint32_t arena)
{
    const ta_arena *arenas = ta_host.bundle->arenas;
    if (!ta_host.soc->memories[arenas[arena].memory].host_visible)
        return arenas[arena].device_offset;
    ta_address start = 0;
    for (uint32_t i = 0; i < arena; i++)
        if (arenas[i].memory == arenas[arena].memory)
            start += ((ta_address)arenas[i].bytes + TA_HOST_LINE - 1u) / TA_HOST_LINE * TA_HOST_LINE;
    return start;
}

const ta_simulator *ta_host_simulator(uint32_t instance)
{
    return instance < ta_host.simulation->simulator_count ? ta_host.simulation->simulators[instance] : NULL;
}

const ta_core *ta_host_core(uint32_t instance)
{
    if (ta_host.simulation->cores == NULL || instance >= ta_host.simulation->simulator_count)
        return NULL;
    return ta_host.simulation->cores[instance];
}

const ta_core *ta_host_lane_core(const ta_host_lane *lane)
{
    const uint32_t channels = ta_host.soc->channel_count;
    return lane->number < channels ? NULL : ta_host_core(lane->number - channels);
}

static int backed(const ta_soc *soc, const ta_arena *arena)
{
    if (arena->bytes == 0 || soc->memories[arena->memory].host_visible)
        return 1;
    const ta_simulated_memory *memory = backing(arena->memory);
    return memory != NULL && (uint64_t)arena->device_offset + arena->bytes <= memory->bytes;
}

ta_status ta_host_check(const ta_soc *soc, const ta_bundle *bundle)
{
    for (uint32_t i = 0; i < bundle->arena_count; i++)
        if (!backed(soc, &bundle->arenas[i]))
            return TA_ERROR_ARGUMENT;
    for (uint32_t i = 0; i < soc->instance_count; i++) {
        const ta_simulator *simulator = ta_host_simulator(i);
        if ((simulator == NULL) != (soc->instances[i].driver == NULL))
            return TA_ERROR_ARGUMENT;
        if (simulator != NULL && simulator->register_count > TA_SIMULATOR_MAX_REGISTERS)
            return TA_ERROR_ARGUMENT;
    }
    return TA_OK;
}

void ta_host_poison(void)
{
    for (uint32_t i = 0; i < ta_host.simulation->memory_count; i++)
        (void)memset(ta_host.simulation->memories[i].base, TA_POISON, ta_host.simulation->memories[i].bytes);
}

uint8_t *ta_host_byte(ta_ref where)
{
    const ta_arena *arena = &ta_host.bundle->arenas[where.arena];
    if (ta_host.soc->memories[arena->memory].host_visible)
        return ta_pointer(ta_host.bundle, where);
    const ta_simulated_memory *memory = backing(arena->memory);
    return memory == NULL ? NULL : memory->base + arena->device_offset + where.offset;
}

ta_status ta_host_address(uint32_t instance, ta_ref where, ta_address *address)
{
    const uint32_t memory = ta_host.bundle->arenas[where.arena].memory;
    if (ta_host.soc->instances[instance].is_host) {
        if (!ta_host.soc->memories[memory].host_visible)
            return TA_ERROR_ARGUMENT;
        *address = (ta_address)(uintptr_t)ta_host_byte(where);
        return TA_OK;
    }
    const ta_observed *observed = observation(instance, memory);
    if (observed == NULL)
        return TA_ERROR_ARGUMENT;
    *address = observed->address + arena_start(where.arena) + where.offset;
    return TA_OK;
}

static uint32_t shared_windows(const ta_observed *observed, ta_window *windows, uint32_t count)
{
    for (uint32_t i = 0; i < ta_host.bundle->arena_count && count < TA_HOST_MAX_WINDOWS; i++) {
        const ta_arena *arena = &ta_host.bundle->arenas[i];
        const ta_ref start = {i, 0};
        if (arena->memory != observed->memory || arena->bytes == 0 || ta_host_byte(start) == NULL)
            continue;
        const ta_address address = observed->address + arena_start(i);
        const ta_window window = {arena->memory, arena->bytes, address, ta_host_byte(start)};
        windows[count++] = window;
    }
    return count;
}

uint32_t ta_host_windows(uint32_t instance, ta_window *windows)
{
    const ta_instance_info *info = &ta_host.soc->instances[instance];
    uint32_t count = 0;
    for (uint32_t i = 0; i < info->observed_count && count < TA_HOST_MAX_WINDOWS; i++) {
        const ta_observed *observed = &info->observed[i];
        const ta_simulated_memory *own = backing(observed->memory);
        if (ta_host.soc->memories[observed->memory].host_visible) {
            count = shared_windows(observed, windows, count);
        } else if (own != NULL) {
            const ta_window window = {own->memory, own->bytes, observed->address, own->base};
            windows[count++] = window;
        }
    }
    return count;
}

static int reaches(uint32_t instance, uint32_t memory)
{
    const int visible = ta_host.soc->memories[memory].host_visible;
    return ta_host.soc->instances[instance].is_host ? visible : observation(instance, memory) != NULL;
}

int ta_host_reaches_all(uint32_t instance)
{
    for (uint32_t i = 0; i < ta_host.bundle->arena_count; i++)
        if (!reaches(instance, ta_host.bundle->arenas[i].memory))
            return 0;
    return 1;
}

int ta_host_reaches(const ta_dispatch *dispatch)
{
    if (ta_host.instances[dispatch->instance].reaches_all)
        return 1;
    uint32_t seen = UINT32_MAX; /* the last memory that was found to be in reach */
    for (uint32_t i = 0; i < dispatch->ref_count; i++) {
        const uint32_t memory = ta_host.bundle->arenas[dispatch->refs[i].arena].memory;
        if (memory != seen && !reaches(dispatch->instance, memory))
            return 0;
        seen = memory;
    }
    return 1;
}

ta_status ta_host_pointers(const ta_dispatch *dispatch, void **pointers)
{
    if (!ta_host_reaches(dispatch))
        return TA_ERROR_ARGUMENT;
    for (uint32_t i = 0; i < dispatch->ref_count; i++) {
        const ta_ref where = dispatch->refs[i];
        pointers[i] = ta_host.all_visible ? ta_pointer(ta_host.bundle, where) : ta_host_byte(where);
    }
    return TA_OK;
}

void ta_host_rows(const ta_copy *copy, uint8_t *target, const uint8_t *source)
{
    const size_t target_stride = copy->target_stride, source_stride = copy->source_stride;
    for (size_t row = 0; row < copy->rows; row++)
        (void)memmove(target + row * target_stride, source + row * source_stride, copy->row_bytes);
}

uint8_t *ta_window_at(const ta_window *windows, uint32_t window_count, ta_address address, uint64_t bytes)
{
    for (uint32_t i = 0; i < window_count; i++) {
        const ta_window *window = &windows[i];
        if (address < window->address || address - window->address > window->bytes)
            continue;
        if (bytes <= window->bytes - (address - window->address))
            return window->base + (address - window->address);
    }
    return NULL;
}
