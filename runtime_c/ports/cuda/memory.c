/* Which bytes are where, on the host or on the device, and how a copy of them is queued. */
#include <string.h>

#include "ports/cuda/state.h"
#include "target_arch/port.h"

static int on_host(ta_ref where)
{
    const ta_arena *arena = &ta_cuda_state.bundle->arenas[where.arena];
    return ta_cuda_state.soc->memories[arena->memory].host_visible != 0;
}

ta_cu_pointer ta_cuda_place(ta_ref where)
{
    const ta_arena *arena = &ta_cuda_state.bundle->arenas[where.arena];
    if (on_host(where))
        return (ta_cu_pointer)(uintptr_t)ta_pointer(ta_cuda_state.bundle, where);
    const ta_cu_pointer start = ta_cuda_state.memories[arena->memory];
    return start == 0 ? 0 : start + arena->device_offset + where.offset;
}

static uint64_t bytes_of(uint32_t memory)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < ta_cuda_state.bundle->arena_count; i++) {
        const ta_arena *arena = &ta_cuda_state.bundle->arenas[i];
        const uint64_t end = (uint64_t)arena->device_offset + arena->bytes;
        if (arena->memory == memory && end > bytes)
            bytes = end;
    }
    return bytes;
}

static ta_status allocate(uint32_t memory)
{
    ta_cu_pointer *start = &ta_cuda_state.memories[memory];
    const uint64_t bytes = bytes_of(memory);
    if (bytes == 0 || ta_cuda_state.soc->memories[memory].host_visible)
        return TA_OK;
    const ta_cu_result made = ta_cuda.memory_alloc(start, (size_t)bytes);
    if (made != 0)
        return ta_cuda_judged(made, "cuMemAlloc", TA_ERROR_ARGUMENT);
    const ta_cu_result filled = ta_cuda.memory_fill(*start, TA_POISON, (size_t)bytes);
    return ta_cuda_judged(filled, "cuMemsetD8", TA_ERROR_DEVICE);
}

/* Only copies from and to pinned memory run behind the host's back. Where pinning is refused, and for
 * constants, which may be in pages that cannot be written, copies are correct and less concurrent. */
static void pin(uint32_t arena)
{
    const ta_arena *one = &ta_cuda_state.bundle->arenas[arena];
    if (one->base == NULL || one->bytes == 0)
        return;
    ta_cuda_state.pinned[arena] = ta_cuda.host_register(one->base, one->bytes, 0) == 0;
}

ta_status ta_cuda_memory_open(void)
{
    ta_status status = TA_OK;
    for (uint32_t i = 0; i < ta_cuda_state.soc->memory_count && status == TA_OK; i++)
        status = allocate(i);
    for (uint32_t i = 0; i < ta_cuda_state.bundle->arena_count && status == TA_OK; i++)
        pin(i);
    return status;
}

void ta_cuda_memory_close(void)
{
    for (uint32_t i = 0; i < ta_cuda_state.bundle->arena_count; i++)
        if (ta_cuda_state.pinned[i])
            (void)ta_cuda.host_unregister(ta_cuda_state.bundle->arenas[i].base);
    for (uint32_t i = 0; i < ta_cuda_state.soc->memory_count; i++)
        if (ta_cuda_state.memories[i] != 0)
            (void)ta_cuda.memory_free(ta_cuda_state.memories[i]);
}

static ta_cu_side side(ta_ref where, uint32_t stride)
{
    ta_cu_side one;
    (void)memset(&one, 0, sizeof one);
    one.memory_type = on_host(where) ? TA_CU_HOST : TA_CU_DEVICE;
    if (on_host(where))
        one.host = ta_pointer(ta_cuda_state.bundle, where);
    else
        one.device = ta_cuda_place(where);
    one.pitch = stride;
    return one;
}

static ta_cu_result queue_rows(const ta_copy *copy, ta_cu_stream stream)
{
    ta_cu_copy2d rows;
    rows.source = side(copy->source, copy->source_stride);
    rows.target = side(copy->target, copy->target_stride);
    rows.width_bytes = copy->row_bytes;
    rows.height = copy->rows;
    return ta_cuda.copy2d_async(&rows, stream);
}

/* Rows that no pitch can express, as they repeat or overlap: one after the other. */
static ta_cu_result queue_each_row(const ta_copy *copy, ta_cu_stream stream)
{
    const ta_cu_pointer source = ta_cuda_place(copy->source), target = ta_cuda_place(copy->target);
    ta_cu_result result = 0;
    for (uint32_t row = 0; row < copy->rows && result == 0; row++)
        result = ta_cuda.copy_async(target + (ta_cu_pointer)row * copy->target_stride,
                                    source + (ta_cu_pointer)row * copy->source_stride, copy->row_bytes, stream);
    return result;
}

ta_status ta_cuda_queue_copy(const ta_copy *copy, ta_cu_stream stream)
{
    const int folded = copy->source_stride < copy->row_bytes || copy->target_stride < copy->row_bytes;
    if (ta_cuda_place(copy->source) == 0 || ta_cuda_place(copy->target) == 0)
        return TA_ERROR_ARGUMENT;
    const ta_cu_result result =
        copy->rows == 1 || folded ? queue_each_row(copy, stream) : queue_rows(copy, stream);
    return ta_cuda_judged(result, "cuMemcpyAsync", TA_ERROR_DMA);
}
