/* Every step that ta_validate lets pass, on a port that answers anything: a step, and those that are in flight on its
 * timeline before it, which are all that ta_execute reads. So the steps of this table have one timeline, each timeline
 * in its turn, and each has any kind and any index that it can have there. Ranges are such that every combination is
 * inside its arena; what the port gets is checked.
 */
#include "__fc_builtin.h"

#include "core/internal.h"

enum { CHANNELS = 1, INSTANCES = 3, STEPS = 3, ARENAS = 2, ARENA = 64 };

static uint8_t bytes[ARENA];

static ta_status any_status(void)
{
    return (ta_status)Frama_C_interval(TA_OK, TA_ERROR_DEADLINE);
}

static ta_status cache(const ta_port *port, void *start, uint32_t count)
{
    (void)port;
    //@ assert \valid(((uint8_t *)start) + (0 .. count - 1));
    return any_status();
}

static ta_status cache_clean(const ta_port *port, const void *start, uint32_t count)
{
    (void)port;
    //@ assert \valid_read(((const uint8_t *)start) + (0 .. count - 1));
    return any_status();
}

static ta_status copy(const ta_port *port, const ta_copy *one)
{
    (void)port;
    //@ assert \valid_read(one);
    return any_status();
}

static ta_status copy_async(const ta_port *port, uint32_t channel, const ta_copy *one)
{
    (void)port;
    //@ assert channel < CHANNELS && \valid_read(one);
    return any_status();
}

static ta_status dispatch(const ta_port *port, const ta_dispatch *one)
{
    (void)port;
    //@ assert \valid_read(one);
    return any_status();
}

static ta_status address(const ta_port *port, uint32_t instance, ta_ref where, ta_address *found)
{
    (void)port;
    //@ assert instance < INSTANCES && where.offset < ARENA && \valid(found);
    *found = Frama_C_unsigned_int_interval(0, UINT32_MAX);
    return any_status();
}

static ta_status wait(const ta_port *port, uint32_t timeline, uint32_t value, uint32_t timeout_us)
{
    (void)port;
    (void)value;
    (void)timeout_us;
    //@ assert timeline < CHANNELS + INSTANCES;
    return any_status();
}

static ta_status start(const ta_port *port, uint32_t instance, const ta_command *command)
{
    (void)port;
    //@ assert instance < INSTANCES && \valid_read(command);
    //@ assert \initialized(command->operands + (0 .. command->operand_count - 1));
    return any_status();
}

static ta_status poll(const ta_port *port, uint32_t instance)
{
    (void)port;
    //@ assert instance < INSTANCES;
    return any_status();
}

static uint32_t below(uint32_t count)
{
    return Frama_C_unsigned_int_interval(0, count - 1u);
}

static ta_copy any_copy(void)
{
    ta_copy one = {0};
    one.source.arena = below(ARENAS);
    one.source.offset = below(33);
    one.target.arena = below(ARENAS);
    one.target.offset = below(33);
    one.row_bytes = 1u + below(8);
    one.rows = 1u + below(3);
    one.source_stride = below(9);
    one.target_stride = below(9);
    one.cache = below(4);
    return one;
}

int main(void)
{
    static const ta_driver driver = {.start = start, .poll = poll};
    const ta_port port = {
        .copy = copy, .copy_async = copy_async, .dispatch = dispatch, .address = address, .wait = wait,
        .cache_clean = cache_clean, .cache_invalidate = cache,
    };
    const ta_channel_info channels[CHANNELS] = {{0}};
    const ta_instance_info instances[INSTANCES] = {
        {.timeline = 1, .is_host = 1}, {.timeline = 2, .driver = &driver}, {.timeline = 3}};
    const ta_memory_info memories[1] = {{0}};
    const ta_soc soc = {.memories = memories, .channels = channels, .instances = instances, .memory_count = 1,
                        .channel_count = CHANNELS, .instance_count = INSTANCES,
                        .timeline_count = CHANNELS + INSTANCES};
    const ta_arena arenas[ARENAS] = {{.bytes = ARENA, .base = bytes}, {.bytes = ARENA}};
    const ta_load loads[2] = {{.instance = below(INSTANCES)}, {.instance = below(INSTANCES)}};
    const ta_copy copies[2] = {any_copy(), any_copy()};
    const ta_operand operands[TA_MAX_OPERANDS] = {{0}};
    const ta_kernel kernel = {.operands = operands, .operand_count = TA_MAX_OPERANDS};
    const uint32_t words[1] = {0};
    ta_ref refs[TA_MAX_OPERANDS];
    for (uint32_t i = 0; i < TA_MAX_OPERANDS; i++) {
        refs[i].arena = below(ARENAS);
        refs[i].offset = below(ARENA);
    }
    /* The form of a dispatch follows from its instance, so each timeline has its own. */
    const uint32_t timeline = Frama_C_nondet(1, 0) ? TA_TIMELINE_NONE : below(CHANNELS + INSTANCES);
    uint32_t instance = 0;
    //@ split timeline;
    if (timeline != TA_TIMELINE_NONE && timeline >= CHANNELS)
        instance = timeline - CHANNELS;
    const ta_dispatch one = {.kernel = &kernel, .refs = refs, .ref_count = below(TA_MAX_OPERANDS + 1u),
                             .words = words, .word_count = 1, .instance = instance};
    const ta_dispatch dispatches[2] = {one, one};
    ta_step steps[STEPS];
    for (uint32_t i = 0; i < STEPS; i++) {
        steps[i].kind = timeline < CHANNELS ? TA_STEP_COPY : TA_STEP_DISPATCH;
        if (timeline == TA_TIMELINE_NONE)
            steps[i].kind = below(3);
        if (Frama_C_nondet(0, 1))
            steps[i].kind = timeline == TA_TIMELINE_NONE || Frama_C_nondet(0, 1) ? TA_STEP_FILL : TA_STEP_WAIT;
        steps[i].index = below(2);
        steps[i].event.timeline = timeline;
        steps[i].event.value = below(STEPS) + 1u;
    }
    const ta_bundle bundle = {.arenas = arenas, .copies = copies, .dispatches = dispatches, .steps = steps,
                              .loads = loads, .load_count = 2, .arena_count = ARENAS, .copy_count = 2, .dispatch_count = 2, .step_count = STEPS};
    ta_runtime runtime = {.bundle = &bundle, .soc = &soc, .port = &port, .failed_step = TA_NO_STEP};
    runtime.timeout_us = Frama_C_unsigned_int_interval(0, UINT32_MAX);
    if (timeline != TA_TIMELINE_NONE) {
        runtime.progress[timeline].base = Frama_C_unsigned_int_interval(0, UINT32_MAX);
        runtime.progress[timeline].issued = below(STEPS);
        runtime.progress[timeline].settled = below(STEPS);
        runtime.progress[timeline].cursor = below(STEPS);
    }
    (void)ta_execute(&runtime, below(STEPS));
    (void)ta_failed_device(&runtime);
    runtime.failed_step = below(STEPS);
    (void)ta_failed_device(&runtime);
    (void)ta_status_name(any_status());
    return 0;
}
