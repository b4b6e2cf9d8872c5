/* Bundles for the suite's SoC, step by step, and bytes to fill and compare. */
#include "conformance/conformance.h"

void begin(workload *w)
{
    static const workload empty;
    *w = empty;
    w->bundle.abi_version = TA_ABI_VERSION;
    w->bundle.abi_hash = CONFORMANCE_HASH;
    w->bundle.name = "workload";
    w->bundle.arenas = w->arenas;
    w->bundle.loads = w->loads;
    w->bundle.copies = w->copies;
    w->bundle.dispatches = w->dispatches;
    w->bundle.steps = w->steps;
    w->bundle.arena_count = ARENA_COUNT;
    for (uint32_t i = 0; i < ARENA_COUNT; i++)
        w->arenas[i] = conformance_arenas[i];
}

static uint32_t add_step(workload *w, ta_step_kind kind, uint32_t index, uint32_t timeline)
{
    ta_step *step = &w->steps[w->bundle.step_count];
    uint32_t *const issued = kind == TA_STEP_FILL ? w->filled : w->issued;
    step->kind = (uint32_t)kind;
    step->index = index;
    step->event.timeline = timeline;
    if (timeline != TA_TIMELINE_NONE)
        step->event.value = kind == TA_STEP_WAIT ? issued[timeline] : ++issued[timeline];
    return w->bundle.step_count++;
}

uint32_t add_load(workload *w, uint32_t instance)
{
    ta_load *load = &w->loads[w->bundle.load_count];
    load->instance = instance;
    if (instance == INSTANCE_DSP && under_test.image != NULL) {
        load->image = under_test.image;
        load->image_bytes = under_test.image_bytes;
        load->image_crc32 = ta_crc32(under_test.image, under_test.image_bytes);
    }
    return add_step(w, TA_STEP_LOAD, w->bundle.load_count++, TA_TIMELINE_NONE);
}

uint32_t add_copy_2d(workload *w, uint32_t channel, ta_copy copy)
{
    w->copies[w->bundle.copy_count] = copy;
    return add_step(w, TA_STEP_COPY, w->bundle.copy_count++, channel);
}

uint32_t add_fill(workload *w, uint32_t channel, ta_ref source, ta_ref target, uint32_t bytes)
{
    const ta_copy copy = {source, target, bytes, 1, 0, 0, TA_CACHE_NONE};
    w->copies[w->bundle.copy_count] = copy;
    return add_step(w, TA_STEP_FILL, w->bundle.copy_count++, channel);
}

uint32_t add_copy(workload *w, uint32_t channel, ta_ref source, ta_ref target, uint32_t bytes)
{
    const ta_copy copy = {source, target, bytes, 1, 0, 0, TA_CACHE_NONE};
    return add_copy_2d(w, channel, copy);
}

/* A dispatch that reads and writes so many bytes, of a kernel without a function. Returns its index. */
static uint32_t add_dispatch(workload *w, uint32_t instance, uint32_t bytes, ta_ref a, ta_ref b, ta_ref out)
{
    const uint32_t index = w->bundle.dispatch_count++;
    const uint32_t timeline = instance == INSTANCE_HOST ? TA_TIMELINE_NONE : TIMELINE_OF(instance);
    const ta_operand reads = {bytes, 1, 0}, writes = {bytes, 1, 1};
    w->operands[index][0] = w->operands[index][1] = reads;
    w->operands[index][2] = writes;
    w->kernels[index].operands = w->operands[index];
    w->kernels[index].operand_count = 3;
    w->refs[index][0] = a;
    w->refs[index][1] = b;
    w->refs[index][2] = out;
    w->dispatches[index].instance = instance;
    w->dispatches[index].kernel = &w->kernels[index];
    w->dispatches[index].refs = w->refs[index];
    w->dispatches[index].ref_count = 3;
    (void)add_step(w, TA_STEP_DISPATCH, index, timeline);
    return index;
}

ta_status conformance_add(void *const *pointers)
{
    const uint8_t *a = pointers[0], *b = pointers[1];
    uint8_t *out = pointers[2];
    for (uint32_t i = 0; i < ADD_BYTES; i++)
        out[i] = (uint8_t)(a[i] + b[i]);
    return TA_OK;
}

uint32_t add_call(workload *w, uint32_t instance, ta_ref a, ta_ref b, ta_ref out)
{
    const int elsewhere = instance == INSTANCE_DSP && under_test.call != NULL;
    const uint32_t index = add_dispatch(w, instance, ADD_BYTES, a, b, out);
    w->kernels[index].function = elsewhere ? under_test.call : conformance_add;
    return w->bundle.step_count - 1u;
}

uint32_t add_command(workload *w, uint32_t instance, uint32_t count, ta_ref a, ta_ref b, ta_ref out)
{
    const uint32_t index = add_dispatch(w, instance, count == 0 || count == ADDER_HANGS ? 1u : count, a, b, out);
    w->words[index] = count;
    w->dispatches[index].words = &w->words[index];
    w->dispatches[index].word_count = w->kernels[index].word_count = 1;
    return w->bundle.step_count - 1u;
}

uint32_t add_wait(workload *w, uint32_t timeline)
{
    return add_step(w, TA_STEP_WAIT, 0, timeline);
}

ta_ref at(uint32_t arena, uint32_t offset)
{
    const ta_ref ref = {arena, offset};
    return ref;
}

ta_ref sram(uint32_t offset)
{
    return at(ARENA_SRAM, offset);
}

ta_ref tcm(uint32_t offset)
{
    return at(ARENA_TCM, offset);
}

ta_ref ram_0(uint32_t offset)
{
    return at(ARENA_RAM_0, offset);
}

ta_ref ram_1(uint32_t offset)
{
    return at(ARENA_RAM_1, offset);
}

void fill(uint32_t offset, uint32_t bytes, uint32_t seed)
{
    for (uint32_t i = 0; i < bytes; i++) {
        seed = seed * 1664525u + 1013904223u;
        conformance_sram[offset + i] = (uint8_t)(seed >> 24);
    }
}

int same(uint32_t a, uint32_t b, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++)
        if (conformance_sram[a + i] != conformance_sram[b + i])
            return 0;
    return 1;
}

int is_sum(uint32_t a, uint32_t b, uint32_t out, uint32_t bytes)
{
    const uint8_t *s = conformance_sram;
    for (uint32_t i = 0; i < bytes; i++)
        if (s[out + i] != (uint8_t)(s[a + i] + s[b + i]))
            return 0;
    return 1;
}
