/* Addresses of the caller, checked before a run may use them: whatever a table says was checked by ta_init. */
#include "lent/lent.h"

/* Input or output number `i`, outputs behind inputs. */
static const ta_arena *arena_of(const ta_bundle *bundle, uint32_t i)
{
    const ta_tensor *tensor =
        i < bundle->input_count ? &bundle->inputs[i] : &bundle->outputs[i - bundle->input_count];
    return &bundle->arenas[tensor->where.arena];
}

static int meet(uintptr_t one, uint32_t one_bytes, uintptr_t other, uint32_t other_bytes)
{
    return one < other + other_bytes && other < one + one_bytes;
}

/* Is this an address at which the bytes of the arena can be? */
static int suits(const ta_arena *arena, const ta_soc *soc, const void *start)
{
    const uintptr_t at = (uintptr_t)start;
    if (arena->lent == NULL || start == NULL || (at & (arena->lent->alignment - 1u)) != 0u)
        return 0;
    if (at > UINTPTR_MAX - arena->bytes)
        return 0;
#ifdef TA_SECTIONS
    const ta_memory_info *memory = &soc->memories[arena->memory];
    if (arena->lent->bound && (at < memory->address || at - memory->address > memory->bytes - arena->bytes))
        return 0;
#else
    (void)soc;
#endif
    return 1;
}

/* Where an arena of others is that has to be apart from an own one; NULL for none: it is the bundle's, or lent for
 * another frame, and either is written. */
static const void *taken_by(const ta_bundle *bundle, const ta_arena *own, const ta_arena *other)
{
    if (other->lent == NULL)
        return other->base;
    if (own->lent->writable == 0u && other->lent->writable == 0u)
        return NULL;
    for (uint32_t i = 0; i < bundle->input_count + bundle->output_count; i++)
        if (arena_of(bundle, i) == other)
            return NULL;
    return *other->lent->start;
}

/* Are the bytes of number `i` apart from those of later ones, as far as either is written, and from all arenas? */
static int is_apart(const ta_bundle *bundle, const void *const *starts, uint32_t i)
{
    const ta_arena *own = arena_of(bundle, i);
    for (uint32_t j = i + 1u; j < bundle->input_count + bundle->output_count; j++) {
        const ta_arena *other = arena_of(bundle, j);
        const int written = own->lent->writable != 0u || other->lent->writable != 0u ? 1 : 0;
        if (written != 0 && meet((uintptr_t)starts[i], own->bytes, (uintptr_t)starts[j], other->bytes))
            return 0;
    }
    for (uint32_t a = 0; a < bundle->arena_count; a++) {
        const ta_arena *other = &bundle->arenas[a];
        const void *taken = taken_by(bundle, own, other);
        if (taken != NULL && meet((uintptr_t)starts[i], own->bytes, (uintptr_t)taken, other->bytes))
            return 0;
    }
    return 1;
}

ta_status ta_lend(const ta_bundle *bundle, const ta_soc *soc, const void *const *starts)
{
    if (bundle == NULL || soc == NULL || starts == NULL)
        return TA_ERROR_ARGUMENT;
    const uint32_t count = bundle->input_count + bundle->output_count;
    for (uint32_t i = 0; i < count; i++)
        if (!suits(arena_of(bundle, i), soc, starts[i]))
            return TA_ERROR_ARGUMENT;
    for (uint32_t i = 0; i < count; i++)
        if (!is_apart(bundle, starts, i))
            return TA_ERROR_ARGUMENT;
    for (uint32_t i = 0; i < count; i++)
        *arena_of(bundle, i)->lent->start = starts[i];
    return TA_OK;
}

int ta_is_missing(const ta_bundle *bundle)
{
    for (uint32_t i = 0; i < bundle->input_count + bundle->output_count; i++)
        if (arena_of(bundle, i)->lent != NULL && *arena_of(bundle, i)->lent->start == NULL)
            return 1;
    return 0;
}

void ta_give_back(const ta_bundle *bundle)
{
    for (uint32_t i = 0; i < bundle->input_count + bundle->output_count; i++)
        if (arena_of(bundle, i)->lent != NULL)
            *arena_of(bundle, i)->lent->start = NULL;
}

/* The sum is FNV-1a's. */
static uint32_t sum_of_inputs(const ta_bundle *bundle)
{
    uint32_t sum = 0;
#ifdef TA_LENT_CHECK
    sum = 2166136261u;
    for (uint32_t i = 0; i < bundle->input_count; i++) {
        const ta_tensor *tensor = &bundle->inputs[i];
        const uint8_t *bytes = arena_of(bundle, i)->lent == NULL ? NULL : ta_pointer(bundle, tensor->where);
        for (uint32_t k = 0; bytes != NULL && k < tensor->bytes; k++)
            sum = (sum ^ bytes[k]) * 16777619u;
    }
#else
    (void)bundle;
#endif
    return sum;
}

const ta_lending ta_lending_of_caller = {ta_lend, ta_is_missing, sum_of_inputs, ta_give_back};
