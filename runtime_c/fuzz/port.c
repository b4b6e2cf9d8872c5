/* Fuzzes the operations of the host port, in any order, with any status of what is behind them.
 *
 * An input is a list of calls, four bytes each: an operation, the instance or timeline, and two numbers. Arguments are in
 * the ranges that the core has checked (port.h). Faults, jitter, lateness and counters that wrap are calls as well.
 */
#include <stdlib.h>
#include <string.h>

#include "conformance/conformance.h"
#include "fuzz/fuzz.h"
#include "ports/host/host.h"

enum { MOST_CALLS = 48, SHORT_US = 2000 };

int fuzz_accepted;
ta_runtime rt;
static workload w;
static const ta_port *const port = &ta_port_host;

const char *failed(const char *condition)
{
    return condition;
}

static void build(void)
{
    begin(&w);
    (void)add_copy(&w, CHANNEL_0, sram(0), tcm(0), 128);
    (void)add_copy(&w, CHANNEL_1, tcm(128), sram(1024), 64);
    const ta_copy rows = {sram(128), ram_0(0), 16, 4, 32, 16, TA_CACHE_CLEAN_SOURCE};
    (void)add_copy_2d(&w, CHANNEL_1, rows);
    (void)add_copy(&w, TA_TIMELINE_NONE, sram(0), sram(2048), 64);
    (void)add_call(&w, INSTANCE_HOST, sram(0), sram(64), sram(4096));
    (void)add_call(&w, INSTANCE_DSP, tcm(0), tcm(64), tcm(256));
    (void)add_call(&w, INSTANCE_DSP, tcm(0), ram_0(0), tcm(256)); /* out of its reach */
}

static void set(uint32_t which, uint32_t number)
{
    if (which % 4u == 0)
        ta_host_set_jitter(number);
    else if (which % 4u == 1)
        ta_host_set_lazy(number & 1u);
    else if (which % 4u == 2)
        ta_host_set_counters(0u - number);
    else
        ta_host_fail(number % TIMELINE_COUNT, number / 32u, number % 2u == 0 ? TA_ERROR_DMA : TA_ERROR_TIMEOUT);
}

static void registers(uint32_t instance, uint32_t offset, uint32_t number)
{
    uint32_t value = 0;
    if (number % 2u == 0)
        (void)port->mmio_read32(port, instance, offset % 64u, &value);
    else
        (void)port->mmio_write32(port, instance, offset % 64u, offset < 64u ? number : ADDER_HANGS);
}

static void ask(uint32_t timeline, uint32_t number)
{
    ta_address address = 0;
    uint32_t value = 0;
    uint64_t now = 0;
    if (port->read_timeline(port, timeline, &value) == TA_OK)
        (void)port->wait(port, timeline, value + number % 4u, number < 250u ? 0 : SHORT_US);
    (void)port->address(port, timeline % INSTANCE_COUNT, at(number % ARENA_COUNT, number), &address);
    (void)port->now_us(port, &now);
}

static void caches(uint32_t offset, uint32_t bytes)
{
    (void)port->cache_clean(port, conformance_sram + offset, bytes);
    (void)port->cache_invalidate(port, conformance_sram + bytes, offset);
}

static void call(fuzz_input *input)
{
    const uint32_t operation = fuzz_number(input, 1), which = fuzz_number(input, 1);
    const uint32_t one = fuzz_number(input, 1), two = fuzz_number(input, 1);
    const uint32_t instance = which % INSTANCE_COUNT, other = 1u + which % (INSTANCE_COUNT - 1u);
    static const uint8_t image[] = "image";
    switch (operation % 13u) {
    case 0: fuzz_accepted |= port->open(port, &conformance_soc, &w.bundle) == TA_OK; break;
    case 1: (void)port->load(port, other, one % 2u == 0 ? NULL : image, one % 2u == 0 ? 0u : 5u); break;
    case 2: (void)port->start(port, other); break;
    case 3: (void)port->stop(port, other); break;
    case 4: (void)port->copy(port, &w.copies[one % w.bundle.copy_count]); break;
    case 5: (void)port->copy_async(port, which % CHANNEL_COUNT, &w.copies[one % w.bundle.copy_count]); break;
    case 6: (void)port->dispatch(port, &w.dispatches[one % w.bundle.dispatch_count]); break;
    case 7: ask(which % TIMELINE_COUNT, one); break;
    case 8: (void)port->cancel(port, which % TIMELINE_COUNT); break;
    case 9: registers(instance, one, two); break;
    case 10: caches(one, two); break;
    case 11: set(which, one); break;
    default:
        if (one < 8u) /* rarely: it ends most of what follows */
            (void)port->close(port);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    fuzz_input input = {bytes, count};
    build();
    under_test.set_mode("eager");
    fuzz_accepted = 0;
    for (uint32_t i = 0; i < MOST_CALLS && input.left != 0; i++)
        call(&input);
    const ta_status status = port->close(port);
    if (status != TA_OK && status != TA_ERROR_STATE)
        abort();
    return 0;
}
