/* A runtime in every state that calls in any order can bring it to, on a port that answers anything. What ta_validate,
 * ta_execute and ta_settle promise is taken for granted: other units prove it. Asked is what the others do with it.
 */
#include "__fc_builtin.h"

#include "core/internal.h"
#include "lent/lent.h"

enum { CHANNELS = 1, INSTANCES = 3, STEPS = 6, ARENAS = 4, ARENA = 16 };

static uint8_t bytes[ARENA], input[ARENA], output[ARENA];
static const void *lent_input, *lent_output;

static ta_status any_status(void)
{
    return (ta_status)Frama_C_interval(TA_OK, TA_ERROR_DEADLINE);
}

ta_status ta_validate(const ta_bundle *bundle, const ta_soc *soc, const ta_port *port, uint32_t *bad_step)
{
    //@ assert \valid_read(bundle) && \valid_read(soc) && \valid_read(port) && \valid(bad_step);
    *bad_step = Frama_C_nondet(0, 1) ? TA_NO_STEP : Frama_C_unsigned_int_interval(0, STEPS - 1);
    return any_status();
}

ta_status ta_execute(ta_runtime *rt, uint32_t step)
{
    //@ assert step < rt->bundle->step_count && rt->bundle->steps[step].kind != TA_STEP_LOAD;
    const uint32_t timeline = rt->bundle->steps[step].event.timeline;
    if (timeline != TA_TIMELINE_NONE)
        rt->progress[timeline].issued = Frama_C_unsigned_int_interval(0, STEPS);
    return any_status();
}

ta_status ta_settle(ta_runtime *rt, uint32_t timeline, uint32_t value, uint32_t timeout_us)
{
    (void)timeout_us;
    //@ assert timeline < rt->soc->timeline_count && value <= STEPS;
    rt->progress[timeline].settled = Frama_C_unsigned_int_interval(0, value);
    return any_status();
}

void ta_blame(ta_runtime *rt, uint32_t step)
{
    //@ assert step <= rt->bundle->step_count;
    rt->failed_step = step;
}

uint32_t ta_crc32(const uint8_t *image, uint32_t count)
{
    //@ assert \valid_read(image + (0 .. count - 1));
    return Frama_C_unsigned_int_interval(0, 1);
}

static ta_status open(const ta_port *port, const ta_soc *soc, const ta_bundle *bundle)
{
    //@ assert \valid_read(port) && \valid_read(soc) && \valid_read(bundle);
    return any_status();
}

static ta_status close(const ta_port *port)
{
    (void)port;
    return any_status();
}

static ta_status load(const ta_port *port, uint32_t instance, const uint8_t *image, uint32_t count)
{
    (void)port;
    //@ assert instance < INSTANCES;
    //@ assert image != \null ==> \valid_read(image + (0 .. count - 1));
    return any_status();
}

static ta_status of_instance(const ta_port *port, uint32_t instance)
{
    (void)port;
    //@ assert instance < INSTANCES;
    return any_status();
}

static ta_status read_timeline(const ta_port *port, uint32_t timeline, uint32_t *value)
{
    (void)port;
    //@ assert timeline < CHANNELS + INSTANCES && \valid(value);
    *value = Frama_C_unsigned_int_interval(0, UINT32_MAX);
    return any_status();
}

static ta_status cancel(const ta_port *port, uint32_t timeline)
{
    (void)port;
    //@ assert timeline < CHANNELS + INSTANCES;
    return any_status();
}

static ta_status now_us(const ta_port *port, uint64_t *now)
{
    (void)port;
    //@ assert \valid(now);
    *now = Frama_C_unsigned_long_long_interval(0, UINT64_MAX);
    return any_status();
}

static ta_status watch(void *context, uint32_t step)
{
    (void)context;
    //@ assert step <= STEPS;
    return any_status();
}

int main(void)
{
    const ta_port full = {.version = TA_PORT_VERSION + Frama_C_unsigned_int_interval(0, 1), .open = open, .close = close, .load = load,
                          .start = of_instance, .stop = of_instance, .cancel = cancel,
                          .read_timeline = read_timeline, .now_us = now_us};
    const ta_port least = {.version = TA_PORT_VERSION, .open = open, .close = close, .load = load,
                           .start = of_instance, .stop = of_instance, .cancel = cancel};
    const ta_channel_info channels[CHANNELS] = {{0}};
    const ta_instance_info instances[INSTANCES] = {
        {.timeline = 1, .is_host = 1},
        {.timeline = 2, .load_process = (uint16_t)Frama_C_interval(0, 3)},
        {.timeline = 3, .load_process = (uint16_t)Frama_C_interval(0, 3)}};
    const ta_memory_info memories[1] = {{.bytes = 4096}};
    const ta_soc soc = {.abi_version = TA_ABI_VERSION + Frama_C_unsigned_int_interval(0, 1), .memories = memories, .channels = channels,
                        .instances = instances, .memory_count = 1, .channel_count = CHANNELS,
                        .instance_count = INSTANCES, .timeline_count = CHANNELS + INSTANCES};
    const ta_lent first = {.start = &lent_input, .alignment = 4, .bound = 1};
    const ta_lent second = {.start = &lent_output, .alignment = 4, .writable = 1};
    const ta_arena arenas[ARENAS] = {{.bytes = ARENA, .base = bytes}, {.bytes = ARENA},
                                     {.bytes = ARENA, .lent = &first}, {.bytes = ARENA, .lent = &second}};
    const ta_tensor inputs[1] = {{.where = {2, 0}, .bytes = ARENA}};
    const ta_tensor outputs[1] = {{.where = {3, 0}, .bytes = ARENA}};
    const ta_load loads[2] = {
        {.instance = Frama_C_unsigned_int_interval(0, INSTANCES - 1)},
        {.instance = Frama_C_unsigned_int_interval(0, INSTANCES - 1), .image = bytes, .image_bytes = ARENA}};
    ta_step steps[STEPS] = {{.kind = TA_STEP_LOAD, .index = Frama_C_unsigned_int_interval(0, 1)},
                            {.kind = TA_STEP_LOAD, .index = Frama_C_unsigned_int_interval(0, 1)}};
    for (uint32_t i = 2; i < STEPS; i++) {
        steps[i].kind = Frama_C_unsigned_int_interval(TA_STEP_LOAD + 1, TA_STEP_FILL);
        steps[i].index = 99; /* not one of a LOAD */
        steps[i].event.timeline = Frama_C_nondet(0, 1) ? TA_TIMELINE_NONE
                                                       : Frama_C_unsigned_int_interval(0, CHANNELS + INSTANCES - 1);
    }
    const ta_bundle bundle = {.abi_version = TA_ABI_VERSION + Frama_C_unsigned_int_interval(0, 1),
                              .abi_hash = Frama_C_unsigned_int_interval(0, 1),
                              .arenas = arenas, .loads = loads, .steps = steps, .inputs = inputs, .outputs = outputs,
                              .load_count = 2, .arena_count = ARENAS, .step_count = STEPS, .input_count = 1,
                              .output_count = 1};
    const void *starts[2] = {Frama_C_nondet(0, 1) ? (const void *)input : NULL, output};
    const ta_port *const port = Frama_C_nondet(0, 1) ? &full : &least;
    ta_runtime runtime = {.state = Frama_C_unsigned_int_interval(TA_STATE_STOPPED, TA_STATE_RUNNING)};
    runtime.progress[CHANNELS + INSTANCES].issued = 1; /* of a timeline that there is not: nobody looks */
    if (Frama_C_nondet(0, 1))
        runtime.watch = watch;
    if (Frama_C_nondet(0, 1))
        lent_input = input;
    if (Frama_C_nondet(0, 1))
        lent_output = output;
    runtime.timeout_us = Frama_C_unsigned_int_interval(0, UINT32_MAX);
    //@ split runtime.state;
    if (runtime.state != TA_STATE_STOPPED) {
        runtime.bundle = &bundle;
        runtime.soc = &soc;
        runtime.port = port;
    }
    const ta_bundle *const one = Frama_C_nondet(0, 1) ? &bundle : NULL;
    const ta_soc *const other = Frama_C_nondet(0, 1) ? &soc : NULL;
    const uint32_t call = Frama_C_unsigned_int_interval(0, 6);
    //@ split call;
    if (call == 0)
        (void)ta_init(&runtime, one, other, Frama_C_nondet(0, 1) ? port : NULL);
    else if (call == 1)
        (void)ta_lend(one, other, Frama_C_nondet(0, 1) ? starts : NULL);
    else if (call == 2)
        (void)ta_fill(&runtime);
    else if (call == 3)
        (void)ta_run(&runtime);
    else if (call == 4)
        ta_give_back(&bundle);
    else if (call == 5)
        (void)(ta_lending_of_caller.is_missing(&bundle) + (int)ta_lending_of_caller.sum(&bundle));
    else
        (void)ta_stop(&runtime);
    /*@ assert runtime.state == TA_STATE_STOPPED || (runtime.bundle == &bundle && runtime.soc == &soc &&
      (runtime.port == &full || runtime.port == &least)); */
    (void)ta_init(NULL, &bundle, &soc, &full);
    (void)ta_run(NULL);
    (void)ta_fill(NULL);
    (void)ta_stop(NULL);
    return 0;
}
