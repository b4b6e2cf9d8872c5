/* Fuzzes ta_init and ta_run with damaged step tables, on the host port.
 *
 * An input is a list of edits, eight bytes each: a field of a row of a table, and what becomes of it. Arenas, images
 * and kernels are left as they are: they describe arrays and functions, and cannot be checked. The function
 * of the kernels looks at its operands as the strictest kernel would: a table that ta_init takes must not bring it others
 * than it needs.
 */
#include <stdlib.h>
#include <string.h>

#include "conformance/conformance.h"
#include "fuzz/fuzz.h"
#include "ports/host/host.h"
#include "ports/host/state.h"

enum { MOST_EDITS = 8 };

int fuzz_accepted;
ta_runtime rt;
static workload w;

const char *failed(const char *condition)
{
    return condition;
}

static int within(const uint8_t *at, const uint8_t *start, uint32_t bytes)
{
    return at >= start && at + ADD_BYTES <= start + bytes;
}

/* Are these 64 bytes of one arena, at a multiple of 4? */
static int usable(const uint8_t *at, int written)
{
    const uint8_t *tcm_bytes = ta_host.simulation->memories[0].base;
    const int in = within(at, conformance_sram, SRAM_BYTES) || within(at, tcm_bytes + 64, TCM_BYTES - 64) ||
                   (!written && within(at, conformance_sram + SRAM_BYTES, ADD_BYTES));
    return in && (uintptr_t)at % 4u == 0;
}

static ta_status strict_add(void *const *pointers)
{
    if (!usable(pointers[0], 0) || !usable(pointers[1], 0) || !usable(pointers[2], 1))
        abort();
    return conformance_add(pointers);
}

/* Every kind of step, two of most. */
static void build(void)
{
    begin(&w);
    (void)add_load(&w, INSTANCE_DSP);
    (void)add_load(&w, INSTANCE_ADDER_0);
    (void)add_load(&w, INSTANCE_ADDER_1);
    (void)add_copy(&w, CHANNEL_0, sram(0), tcm(0), 128);
    const ta_copy rows = {sram(128), ram_0(0), 16, 4, 32, 16, TA_CACHE_CLEAN_SOURCE};
    (void)add_copy_2d(&w, CHANNEL_1, rows);
    (void)add_copy(&w, TA_TIMELINE_NONE, sram(0), sram(1024), 64);
    (void)add_call(&w, INSTANCE_HOST, sram(0), at(ARENA_CONSTANTS, 0), sram(SRAM_BYTES - ADD_BYTES));
    (void)add_wait(&w, CHANNEL_0);
    (void)add_call(&w, INSTANCE_DSP, tcm(0), tcm(64), tcm(TCM_BYTES - 64 - ADD_BYTES));
    (void)add_wait(&w, CHANNEL_1);
    (void)add_command(&w, INSTANCE_ADDER_0, 64, ram_0(0), ram_0(0), ram_0(64));
    (void)add_command(&w, INSTANCE_ADDER_1, 32, sram(0), sram(256), sram(512));
    (void)add_wait(&w, TIMELINE_OF(INSTANCE_DSP));
    (void)add_copy(&w, CHANNEL_0, tcm(TCM_BYTES - 64 - ADD_BYTES), sram(2048), ADD_BYTES);
    (void)add_wait(&w, TIMELINE_OF(INSTANCE_ADDER_0));
    (void)add_wait(&w, TIMELINE_OF(INSTANCE_ADDER_1));
    (void)add_wait(&w, CHANNEL_0);
    for (uint32_t i = 0; i < w.bundle.dispatch_count; i++) {
        for (uint32_t j = 0; j < 3; j++)
            w.operands[i][j].alignment = 4;
        if (w.kernels[i].function != NULL)
            w.kernels[i].function = strict_add;
    }
}

/* The fields of one row. For the kernel and the words of a dispatch, the numbers of other dispatches are drawn. */
static uint32_t *field(uint32_t table, uint32_t row, uint32_t number)
{
    ta_step *step = &w.steps[row % w.bundle.step_count];
    ta_copy *copy = &w.copies[row % w.bundle.copy_count];
    const uint32_t index = row % w.bundle.dispatch_count;
    ta_dispatch *dispatch = &w.dispatches[index];
    ta_ref *ref = &w.refs[index][number / 2u % 3u];
    uint32_t *const of_step[] = {&step->kind, &step->index, &step->event.timeline, &step->event.value};
    uint32_t *const of_copy[] = {&copy->source.arena, &copy->source.offset, &copy->target.arena, &copy->target.offset,
                                 &copy->row_bytes,    &copy->rows,          &copy->source_stride, &copy->target_stride};
    uint32_t *const of_dispatch[] = {&dispatch->instance, &dispatch->ref_count, &dispatch->word_count, &w.words[index]};
    switch (table) {
    case 0: return of_step[number % 4u];
    case 1: return of_copy[number % 8u];
    case 2: return of_dispatch[number % 4u];
    case 3: return number % 2u == 0 ? &ref->arena : &ref->offset;
    default: return &w.loads[row % w.bundle.load_count].instance;
    }
}

/* Numbers around those that were there, near the ends of things, or any. */
static void edit(fuzz_input *input)
{
    const uint32_t table = fuzz_number(input, 1), number = fuzz_number(input, 1), row = fuzz_number(input, 1);
    const uint32_t how = fuzz_number(input, 1), value = fuzz_number(input, 4);
    if (table % 6u == 5) {
        w.dispatches[row % w.bundle.dispatch_count].kernel = &w.kernels[number % w.bundle.dispatch_count];
        return;
    }
    uint32_t *at_field = field(table % 6u, row, number);
    if (how % 4u == 0)
        *at_field = value;
    else if (how % 4u == 1)
        *at_field += value % 128u;
    else if (how % 4u == 2)
        *at_field -= value % 128u;
    else
        *at_field = value % (SRAM_BYTES + 64u);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    fuzz_input input = {bytes, count};
    under_test.set_mode("eager");
    build();
    memset(conformance_sram, 1, SRAM_BYTES);
    for (uint32_t i = 0; i < MOST_EDITS && input.left != 0; i++)
        edit(&input);
    fuzz_accepted = ta_init(&rt, &w.bundle, &conformance_soc, &ta_port_host) == TA_OK;
    if (!fuzz_accepted)
        return 0;
    rt.timeout_us = 200000;
    (void)ta_run(&rt);
    if (ta_stop(&rt) != TA_OK)
        abort();
    return 0;
}
