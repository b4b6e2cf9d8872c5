/* The tables are checked here, once, so that neither the executor nor a port has to.
 *
 * A step that passes has indices that exist, ranges inside their arenas, as many operands as its kernel takes,
 * as large and as aligned as it needs them, writes over nothing that it reads or writes elsewhere, has an event that continues its timeline by one, and operations that
 * the port has.
 */
#include "core/internal.h"

#ifdef TA_TRUST_TABLES
/* A build that needs the flash: the bundle is the one that the compiler's own checker passed. */
ta_status ta_validate(const ta_bundle *bundle, const ta_soc *soc, const ta_port *port, uint32_t *bad_step)
{
    (void)bad_step;
    if (port->open == NULL || port->close == NULL || bundle->steps == NULL)
        return TA_ERROR_ARGUMENT;
    return soc->timeline_count > TA_MAX_TIMELINES ? TA_ERROR_ARGUMENT : TA_OK;
}
#else

typedef struct checked {
    const ta_bundle *bundle;
    const ta_soc *soc;
    const ta_port *port;
    size_t issued[TA_MAX_TIMELINES]; /* asynchronous steps seen so far: of init, then of a run */
} checked;

/* As far as they are read, then as far as a step needs them; and what is counted is no part of a table. */
/*@ predicate readable(checked *c) =
      \valid_read(c) && readable_bundle(c->bundle) && readable_soc(c->soc) && \valid_read(c->port);
    predicate ready(checked *c) = readable(c) && valid_soc(c->soc) && there(c->bundle) &&
      valid_arenas(c->bundle, c->soc, c->bundle->arena_count);
    predicate counts_apart(checked *c) =
      \valid(&c->issued[0 .. TA_MAX_TIMELINES - 1]) &&
      \separated(&c->issued[0 .. TA_MAX_TIMELINES - 1], &c->bundle, &c->soc, &c->port) &&
      APART(&c->issued[0 .. TA_MAX_TIMELINES - 1], c->bundle, c->soc, c->port); */

/*@ assigns \nothing; ensures \result == TA_OK <==> available != 0; */
static ta_status need(int available)
{
    return available ? TA_OK : TA_ERROR_UNSUPPORTED;
}

/*@ assigns \nothing; ensures \result == TA_OK <==> holds != 0; */
static ta_status require(int holds)
{
    return holds ? TA_OK : TA_ERROR_ARGUMENT;
}

/*@ requires \valid_read(port); assigns \nothing;
    ensures \result != 0 ==> port->wait != \null && port->cancel != \null; */
static int has_events(const ta_port *port)
{
    return port->read_timeline != NULL && port->wait != NULL && port->cancel != NULL;
}

/*@ requires ready(c) && arena < c->bundle->arena_count; assigns \nothing; */
static int host_sees(const checked *c, uint32_t arena)
{
    return c->soc->memories[c->bundle->arenas[arena].memory].host_visible != 0u;
}

/*@ requires readable_soc(soc); assigns \nothing; ensures \result == TA_OK ==> valid_soc(soc); */
static ta_status check_soc(const ta_soc *soc)
{
    uint32_t hosts = 0;
    if (soc->timeline_count > TA_MAX_TIMELINES)
        return TA_ERROR_ARGUMENT;
    if (soc->channel_count > soc->timeline_count || soc->instance_count != soc->timeline_count - soc->channel_count)
        return TA_ERROR_ARGUMENT;
    if (soc->memories == NULL || soc->instances == NULL || (soc->channel_count != 0u && soc->channels == NULL))
        return TA_ERROR_ARGUMENT;
    /*@ loop invariant 0 <= i <= soc->instance_count;
        loop invariant \forall integer k; 0 <= k < i ==> soc->instances[k].timeline == soc->channel_count + k;
        loop assigns i, hosts; loop variant soc->instance_count - i; */
    for (uint32_t i = 0; i < soc->instance_count; i++) {
        const ta_instance_info *instance = &soc->instances[i];
        hosts += instance->is_host != 0u ? 1u : 0u;
        if (instance->is_host != 0u && instance->load_process != (uint32_t)TA_LOAD_LINKED)
            return TA_ERROR_ARGUMENT;
        if (instance->timeline != soc->channel_count + i)
            return TA_ERROR_ARGUMENT;
        if (instance->observed_count != 0u && instance->observed == NULL)
            return TA_ERROR_ARGUMENT;
        /*@ loop invariant 0 <= j <= instance->observed_count;
            loop assigns j; loop variant instance->observed_count - j; */
        for (uint32_t j = 0; j < instance->observed_count; j++)
            if (instance->observed[j].memory >= soc->memory_count)
                return TA_ERROR_ARGUMENT;
    }
    return require(hosts == 1u);
}

/*@ requires readable_bundle(b); assigns \nothing; ensures \result == TA_OK ==> there(b); */
static ta_status check_tables(const ta_bundle *b)
{
    if ((b->arena_count != 0u && b->arenas == NULL) || (b->load_count != 0u && b->loads == NULL))
        return TA_ERROR_ARGUMENT;
    if ((b->copy_count != 0u && b->copies == NULL) || (b->dispatch_count != 0u && b->dispatches == NULL))
        return TA_ERROR_ARGUMENT;
    if ((b->input_count != 0u && b->inputs == NULL) || (b->output_count != 0u && b->outputs == NULL))
        return TA_ERROR_ARGUMENT;
    return require(b->step_count == 0u || b->steps != NULL);
}

/*@ predicate readable_arena(ta_arena *a) = \valid_read(a) && (a->lent != \null ==> \valid_read(a->lent)); */

/* The address of an arena, or where the host does not see it, its distance from the start of the memory. Bytes that
 * are lent later begin at a multiple of their alignment, so that stands for them. */
/*@ requires readable_arena(arena); assigns \nothing; */
static uintptr_t start_of(const ta_arena *arena)
{
    if (arena->lent != NULL)
        return arena->lent->alignment;
    const uint8_t *base = arena->base != NULL ? arena->base : arena->base_const;
    return base != NULL ? (uintptr_t)base : arena->device_offset;
}

/*@ requires readable_arena(arena); assigns \nothing; */
static int is_constant(const ta_arena *arena)
{
    return arena->base_const != NULL || (arena->lent != NULL && !arena->lent->writable);
}

/*@ requires \valid_read(lent); assigns \nothing; */
static int can_be_lent(const ta_lent *lent)
{
    return lent->start != NULL && lent->alignment != 0u && (lent->alignment & (lent->alignment - 1u)) == 0u;
}

/* How many of the three say where the bytes are. */
/*@ requires \valid_read(arena); assigns \nothing; */
static uint32_t kinds_of_place(const ta_arena *arena)
{
    uint32_t count = 0;
    count += arena->base != NULL ? 1u : 0u;
    count += arena->base_const != NULL ? 1u : 0u;
    count += arena->lent != NULL ? 1u : 0u;
    return count;
}

/*@ requires readable(c) && valid_soc(c->soc) && there(c->bundle); assigns \nothing;
    ensures \result == TA_OK ==> valid_arenas(c->bundle, c->soc, c->bundle->arena_count); */
static ta_status check_arenas(const checked *c)
{
    /*@ loop invariant 0 <= i <= c->bundle->arena_count;
        loop invariant valid_arenas(c->bundle, c->soc, i);
        loop assigns i; loop variant c->bundle->arena_count - i; */
    for (uint32_t i = 0; i < c->bundle->arena_count; i++) {
        const ta_arena *arena = &c->bundle->arenas[i];
        if (arena->memory >= c->soc->memory_count)
            return TA_ERROR_ARGUMENT;
        const ta_memory_info *memory = &c->soc->memories[arena->memory];
        const uint32_t backed = kinds_of_place(arena);
        if (arena->lent != NULL && !can_be_lent(arena->lent))
            return TA_ERROR_ARGUMENT;
        if (arena->bytes != 0u && backed != (memory->host_visible != 0u ? 1u : 0u))
            return TA_ERROR_ARGUMENT;
        if (memory->cache_line != 0u && ((start_of(arena) | arena->bytes) & (memory->cache_line - 1u)) != 0u)
            return TA_ERROR_ARGUMENT;
        if ((uint64_t)arena->device_offset + arena->bytes > memory->bytes)
            return TA_ERROR_ARGUMENT;
    }
    return TA_OK;
}

/* Are `rows` runs of `row_bytes`, `stride` apart, inside the arena? */
/*@ requires \valid_read(c) && \valid_read(c->bundle);
    requires \valid_read(c->bundle->arenas + (0 .. c->bundle->arena_count - 1)); assigns \nothing;
    ensures \result != 0 ==> in_arena(c->bundle, where.arena, where.offset, row_bytes, rows, stride); */
static int inside(const checked *c, ta_ref where, uint32_t row_bytes, uint32_t rows, uint32_t stride)
{
    if (where.arena >= c->bundle->arena_count || rows == 0u || row_bytes == 0u)
        return 0;
    const uint64_t gaps = (uint64_t)rows - 1u;
    const uint64_t runs = gaps * stride; /* below 2^64 - 2^33: the sum cannot wrap */
    return where.offset + runs + row_bytes <= c->bundle->arenas[where.arena].bytes;
}

/* Do two runs of bytes, the gaps between rows included, have none in common? */
/*@ assigns \nothing; */
static int apart(ta_ref one, uint64_t bytes, ta_ref other, uint64_t others)
{
    const uint64_t start = one.offset, begin = other.offset;
    return one.arena != other.arena || start + bytes <= begin || begin + others <= start;
}

/*@ requires ready(c) && (count != 0 ==> \valid_read(tensors + (0 .. count - 1))); assigns \nothing;
    ensures \result == TA_OK ==> valid_tensors(c->bundle, tensors, count); */
static ta_status check_tensors(const checked *c, const ta_tensor *tensors, uint32_t count)
{
    /*@ loop invariant 0 <= i <= count;
        loop invariant valid_tensors(c->bundle, tensors, i);
        loop assigns i; loop variant count - i; */
    for (uint32_t i = 0; i < count; i++)
        if (!inside(c, tensors[i].where, tensors[i].bytes, 1, 0) || !host_sees(c, tensors[i].where.arena))
            return TA_ERROR_ARGUMENT;
    return TA_OK;
}

/*@ requires ready(c) && \valid_read(step); assigns \nothing;
    ensures \result == TA_OK ==> valid_load(c->bundle, c->soc, c->port, step); */
static ta_status check_load(const checked *c, const ta_step *step)
{
    if (step->index >= c->bundle->load_count || step->event.timeline != TA_TIMELINE_NONE)
        return TA_ERROR_ARGUMENT;
    const ta_load *load = &c->bundle->loads[step->index];
    if (load->instance >= c->soc->instance_count || (load->image == NULL) != (load->image_bytes == 0u))
        return TA_ERROR_ARGUMENT;
    const ta_instance_info *instance = &c->soc->instances[load->instance];
    const int takes = ta_takes_program(instance->load_process);
    if (load->image != NULL && !takes)
        return TA_ERROR_ARGUMENT;
    if (instance->is_host != 0u)
        return TA_OK;
    return need((c->port->load != NULL || !takes) && c->port->start != NULL && c->port->stop != NULL);
}

/*@ requires ready(c) && \valid_read(copy);
    requires copy->source.arena < c->bundle->arena_count && copy->target.arena < c->bundle->arena_count;
    assigns \nothing; */
static ta_status check_caches(const checked *c, const ta_copy *copy)
{
    const uint32_t clean = copy->cache & (uint32_t)TA_CACHE_CLEAN_SOURCE;
    const uint32_t invalidate = copy->cache & (uint32_t)TA_CACHE_INVALIDATE_TARGET;
    if (clean != 0u && c->port->cache_clean == NULL && host_sees(c, copy->source.arena))
        return TA_ERROR_UNSUPPORTED;
    return need(invalidate == 0u || c->port->cache_invalidate != NULL || !host_sees(c, copy->target.arena));
}

/*@ requires ready(c) && \valid_read(step); assigns \nothing;
    ensures \result == TA_OK ==> valid_copy(c->bundle, c->soc, c->port, step); */
static ta_status check_copy(const checked *c, const ta_step *step)
{
    if (step->index >= c->bundle->copy_count)
        return TA_ERROR_ARGUMENT;
    const ta_copy *copy = &c->bundle->copies[step->index];
    if (!inside(c, copy->source, copy->row_bytes, copy->rows, copy->source_stride))
        return TA_ERROR_ARGUMENT;
    if (!inside(c, copy->target, copy->row_bytes, copy->rows, copy->target_stride))
        return TA_ERROR_ARGUMENT;
    if (copy->rows > 1u && copy->target_stride < copy->row_bytes)
        return TA_ERROR_ARGUMENT; /* rows would overwrite each other */
    const uint64_t gaps = copy->rows - 1u;
    const uint64_t read = gaps * copy->source_stride + copy->row_bytes;
    if (!apart(copy->source, read, copy->target, gaps * copy->target_stride + copy->row_bytes))
        return TA_ERROR_ARGUMENT;
    if (is_constant(&c->bundle->arenas[copy->target.arena]))
        return TA_ERROR_ARGUMENT;
    if (step->event.timeline != TA_TIMELINE_NONE) {
        if (step->event.timeline >= c->soc->channel_count)
            return TA_ERROR_ARGUMENT;
        const ta_status status = need(c->port->copy_async != NULL && has_events(c->port));
        return status != TA_OK ? status : check_caches(c, copy);
    }
    if (!host_sees(c, copy->source.arena) || !host_sees(c, copy->target.arena))
        return TA_ERROR_ARGUMENT;
    return c->port->copy == NULL ? TA_ERROR_UNSUPPORTED : check_caches(c, copy);
}

/*@ requires ready(c) && where.arena < c->bundle->arena_count; assigns \nothing; */
static int aligned(const checked *c, ta_ref where, uint32_t alignment)
{
    const uintptr_t start = start_of(&c->bundle->arenas[where.arena]);
    return ((start + where.offset) & (alignment - 1u)) == 0u;
}

/*@ requires ready(c) && \valid_read(operand); assigns \nothing;
    ensures \result != 0 ==> in_arena(c->bundle, where.arena, where.offset, operand->bytes, 1, 0); */
static int serves(const checked *c, ta_ref where, const ta_operand *operand)
{
    if (!inside(c, where, operand->bytes, 1, 0) || !aligned(c, where, operand->alignment))
        return 0;
    return !operand->writes || !is_constant(&c->bundle->arenas[where.arena]);
}

/* A kernel that may write one operand over another needs both to begin at the same byte; it writes none twice. */
/*@ requires readable_dispatch(dispatch) && i < dispatch->ref_count == dispatch->kernel->operand_count;
    requires dispatch->kernel != \null && dispatch->refs != \null && dispatch->kernel->operands != \null;
    assigns \nothing; */
static int writes_itself(const ta_dispatch *dispatch, uint32_t i)
{
    const ta_operand *const operands = dispatch->kernel->operands;
    const ta_ref *const refs = dispatch->refs;
    /*@ loop invariant 0 <= j <= i; loop assigns j; loop variant i - j; */
    for (uint32_t j = 0; j < i; j++) {
        const int writes = operands[i].writes + operands[j].writes;
        if (writes == 0 || (writes == 1 && refs[i].offset == refs[j].offset))
            continue;
        if (!apart(refs[i], operands[i].bytes, refs[j], operands[j].bytes))
            return 1;
    }
    return 0;
}

/*@ requires ready(c) && readable_dispatch(dispatch); assigns \nothing;
    ensures \result == TA_OK ==> valid_operands(c->bundle, dispatch); */
static ta_status check_operands(const checked *c, const ta_dispatch *dispatch)
{
    const ta_kernel *kernel = dispatch->kernel;
    if (kernel == NULL || dispatch->ref_count != kernel->operand_count || dispatch->ref_count > TA_MAX_OPERANDS)
        return TA_ERROR_ARGUMENT;
    if (dispatch->ref_count != 0u && (dispatch->refs == NULL || kernel->operands == NULL))
        return TA_ERROR_ARGUMENT;
    /*@ loop invariant 0 <= i <= dispatch->ref_count;
        loop invariant \forall integer k; 0 <= k < i ==> in_arena(c->bundle, dispatch->refs[k].arena,
          dispatch->refs[k].offset, kernel->operands[k].bytes, 1, 0);
        loop assigns i; loop variant dispatch->ref_count - i; */
    for (uint32_t i = 0; i < dispatch->ref_count; i++)
        if (!serves(c, dispatch->refs[i], &kernel->operands[i]) || writes_itself(dispatch, i))
            return TA_ERROR_ARGUMENT;
    if (dispatch->word_count != kernel->word_count)
        return TA_ERROR_ARGUMENT;
    return require(dispatch->word_count == 0u || dispatch->words != NULL);
}

/*@ requires ready(c) && \valid_read(step); assigns \nothing;
    ensures \result == TA_OK ==> valid_dispatch(c->bundle, c->soc, c->port, step); */
static ta_status check_dispatch(const checked *c, const ta_step *step)
{
    if (step->index >= c->bundle->dispatch_count)
        return TA_ERROR_ARGUMENT;
    const ta_dispatch *dispatch = &c->bundle->dispatches[step->index];
    if (dispatch->instance >= c->soc->instance_count || check_operands(c, dispatch) != TA_OK)
        return TA_ERROR_ARGUMENT;
    const ta_instance_info *instance = &c->soc->instances[dispatch->instance];
    const uint32_t timeline = instance->is_host ? TA_TIMELINE_NONE : instance->timeline;
    if (step->event.timeline != timeline || (instance->driver == NULL) != (dispatch->kernel->function != NULL))
        return TA_ERROR_ARGUMENT;
    if (!instance->is_host && !has_events(c->port))
        return TA_ERROR_UNSUPPORTED;
    if (instance->driver != NULL)
        return need(c->port->address && c->port->mmio_read32 && c->port->mmio_write32);
    return need(c->port->dispatch != NULL);
}

/* An asynchronous step completes the next value of its timeline; a WAIT is for one that was issued before
 * it. */
/*@ requires ready(c) && counts_apart(c) && \valid_read(step);
    requires \separated(&c->issued[0 .. TA_MAX_TIMELINES - 1], step);
    assigns c->issued[0 .. TA_MAX_TIMELINES - 1];
    KEEPS_TABLES(c)
    ensures step->kind == \old(step->kind);
    ensures valid_load{Pre}(c->bundle, c->soc, c->port, step) ==> valid_load(c->bundle, c->soc, c->port, step);
    ensures valid_copy{Pre}(c->bundle, c->soc, c->port, step) ==> valid_copy(c->bundle, c->soc, c->port, step);
    ensures valid_dispatch{Pre}(c->bundle, c->soc, c->port, step) ==> valid_dispatch(c->bundle, c->soc, c->port, step);
    ensures \result == TA_OK ==> valid_event(c->soc, step); */
static ta_status check_event(checked *c, const ta_step *step)
{
    const ta_event event = step->event;
    if (event.timeline == TA_TIMELINE_NONE)
        return require(step->kind != (uint32_t)TA_STEP_WAIT);
    if (event.timeline >= c->soc->timeline_count)
        return TA_ERROR_ARGUMENT;
    if (step->kind == (uint32_t)TA_STEP_WAIT)
        return require(event.value != 0u && event.value <= c->issued[event.timeline]);
    c->issued[event.timeline]++;
    return require(event.value == c->issued[event.timeline]);
}

/*@ requires \valid_read(step); assigns \nothing; */
static int is_of_init(const ta_step *step)
{
    return step->kind == (uint32_t)TA_STEP_LOAD || step->kind == (uint32_t)TA_STEP_FILL;
}

/* Asynchronous steps of a run are counted from its first step on. */
/*@ requires ready(c) && counts_apart(c); assigns c->issued[0 .. TA_MAX_TIMELINES - 1]; KEEPS_TABLES(c) */
static void begin_run(checked *c)
{
    /*@ loop invariant 0 <= i <= TA_MAX_TIMELINES;
        loop assigns i, c->issued[0 .. TA_MAX_TIMELINES - 1]; loop variant TA_MAX_TIMELINES - i; */
    for (uint32_t i = 0; i < TA_MAX_TIMELINES; i++)
        c->issued[i] = 0;
}

/*@ requires ready(c) && counts_apart(c) && index < c->bundle->step_count;
    assigns c->issued[0 .. TA_MAX_TIMELINES - 1];
    KEEPS_TABLES(c)
    ensures \result == TA_OK ==> valid_step(c->bundle, c->soc, c->port, index); */
static ta_status check_step(checked *c, uint32_t index)
{
    const ta_step *step = &c->bundle->steps[index];
    ta_status status = TA_OK;
    if (index != 0u && is_of_init(step - 1) && !is_of_init(step))
        begin_run(c);
    switch (step->kind) {
    case TA_STEP_LOAD:
        if (index != 0u && c->bundle->steps[index - 1u].kind != (uint32_t)TA_STEP_LOAD)
            return TA_ERROR_ARGUMENT; /* LOADs come first */
        status = check_load(c, step);
        break;
    case TA_STEP_FILL:
        if (index != 0u && !is_of_init(&c->bundle->steps[index - 1u]))
            return TA_ERROR_ARGUMENT; /* they come before the steps of a run */
        status = check_copy(c, step);
        break;
    case TA_STEP_COPY: status = check_copy(c, step); break;
    case TA_STEP_DISPATCH: status = check_dispatch(c, step); break;
    case TA_STEP_WAIT: break;
    default: return TA_ERROR_ARGUMENT;
    }
    return status != TA_OK ? status : check_event(c, step);
}

/*@ requires readable_bundle(bundle) && readable_soc(soc) && \valid_read(port) && \valid(bad_step);
    requires APART(bad_step, bundle, soc, port);
    assigns *bad_step;
    ensures \result == TA_OK ==> valid_tables(bundle, soc, port);
    ensures *bad_step == \old(*bad_step) || *bad_step < bundle->step_count; */
ta_status ta_validate(const ta_bundle *bundle, const ta_soc *soc, const ta_port *port, uint32_t *bad_step)
{
    checked c = {bundle, soc, port, {0}};
    /* The one thing that is not proved: a local variable is no part of a table of the caller. */
    //@ admit readable(&c) && counts_apart(&c);
    if (port->open == NULL || port->close == NULL || check_soc(soc) != TA_OK || check_tables(bundle) != TA_OK)
        return TA_ERROR_ARGUMENT;
    if (check_arenas(&c) != TA_OK || check_tensors(&c, bundle->inputs, bundle->input_count) != TA_OK ||
        check_tensors(&c, bundle->outputs, bundle->output_count) != TA_OK)
        return TA_ERROR_ARGUMENT;
    //@ assert ready(&c);
    /*@ loop invariant 0 <= i <= bundle->step_count;
        loop invariant ready(&c);
        loop invariant counts_apart(&c);
        loop invariant valid_steps(bundle, soc, port, i);
        loop assigns i, c.issued[0 .. TA_MAX_TIMELINES - 1]; loop variant bundle->step_count - i; */
    for (uint32_t i = 0; i < bundle->step_count; i++) {
        const ta_status status = check_step(&c, i);
        if (status != TA_OK) {
            *bad_step = i;
            return status;
        }
    }
    return TA_OK;
}
#endif
