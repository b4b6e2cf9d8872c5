/* Timelines: order, queues, counters that wrap, waits. */
#include "conformance/conformance.h"

static workload w;

static const char *a_channel_is_in_order(void)
{
    begin(&w);
    for (uint32_t i = 0; i < 6; i++) /* each reads what the one before it wrote */
        (void)add_copy(&w, CHANNEL_0, sram(512 * i), sram(512 * (i + 1)), 512);
    (void)add_wait(&w, CHANNEL_0);
    INIT(w);
    for (uint32_t i = 0; i < 10; i++) {
        fill(0, 512, i);
        CHECK(ta_run(&rt) == TA_OK && same(0, 3072, 512));
    }
    return NULL;
}

static const char *channels_do_not_wait_for_each_other(void)
{
    begin(&w);
    for (uint32_t i = 0; i < 8; i++)
        (void)add_copy(&w, i % 2 ? CHANNEL_1 : CHANNEL_0, sram(64 * i), tcm(64 * i), 64);
    (void)add_wait(&w, CHANNEL_1);
    (void)add_wait(&w, CHANNEL_0);
    for (uint32_t i = 0; i < 8; i++)
        (void)add_copy(&w, i % 2 ? CHANNEL_0 : CHANNEL_1, tcm(64 * i), sram(4096 + 64 * i), 64);
    (void)add_wait(&w, CHANNEL_0);
    (void)add_wait(&w, CHANNEL_1);
    INIT(w);
    fill(0, 512, 77);
    CHECK(ta_run(&rt) == TA_OK && same(0, 4096, 512));
    return NULL;
}

static const char *a_full_queue_is_waited_for(void)
{
    begin(&w);
    for (uint32_t i = 0; i < 64; i++)
        (void)add_copy(&w, CHANNEL_0, sram(16 * i), sram(4096 + 16 * i), 16);
    (void)add_wait(&w, CHANNEL_0);
    INIT(w);
    for (uint32_t i = 0; i < 5; i++) {
        fill(0, 1024, i);
        CHECK(ta_run(&rt) == TA_OK && same(0, 4096, 1024));
    }
    return NULL;
}

static const char *the_end_waits_for_everything(void)
{
    begin(&w);
    (void)add_copy(&w, CHANNEL_1, sram(0), sram(4096), 1000); /* and no Wait */
    INIT(w);
    for (uint32_t i = 0; i < 5; i++) {
        fill(0, 1000, i);
        CHECK(ta_run(&rt) == TA_OK && same(0, 4096, 1000));
    }
    return NULL;
}

static const char *waiting_twice_or_for_the_past(void)
{
    begin(&w);
    (void)add_copy(&w, CHANNEL_0, sram(0), sram(4096), 64);
    (void)add_copy(&w, CHANNEL_0, sram(64), sram(4160), 64);
    (void)add_wait(&w, CHANNEL_0);
    (void)add_wait(&w, CHANNEL_0);
    w.steps[add_wait(&w, CHANNEL_0)].event.value = 1;
    INIT(w);
    fill(0, 128, 5);
    CHECK(ta_run(&rt) == TA_OK && ta_run(&rt) == TA_OK && same(0, 4096, 128));
    return NULL;
}

static const char *runs_without_end(void)
{
    begin(&w);
    (void)add_copy(&w, CHANNEL_0, sram(0), tcm(0), 32);
    (void)add_wait(&w, CHANNEL_0);
    (void)add_copy(&w, CHANNEL_0, tcm(0), sram(4096), 32);
    (void)add_wait(&w, CHANNEL_0);
    INIT(w);
    for (uint32_t i = 0; i < 200; i++) {
        fill(0, 32, i);
        CHECK(ta_run(&rt) == TA_OK && same(0, 4096, 32));
    }
    return NULL;
}

static uint32_t counter(void)
{
    uint32_t value = 0x55555555u;
    (void)under_test.port->read_timeline(under_test.port, CHANNEL_0, &value);
    return value;
}

static const char *counters_wrap(void)
{
    SKIP_WITHOUT(under_test.set_counters, "no way to set where counters start");
    for (uint32_t before = 0; before < 8; before++) {
        begin(&w);
        for (uint32_t i = 0; i < 3; i++)
            (void)add_copy(&w, CHANNEL_0, sram(64 * i), sram(64 * (i + 1)), 64);
        (void)add_wait(&w, CHANNEL_0);
        under_test.set_counters(0u - before);
        INIT(w);
        CHECK(counter() == 0u - before);
        for (uint32_t i = 0; i < 4; i++) {
            fill(0, 64, i);
            CHECK(ta_run(&rt) == TA_OK && same(0, 192, 64));
        }
        CHECK(counter() == 12u - before);
        CHECK(ta_stop(&rt) == TA_OK);
    }
    return NULL;
}

static const char *asking_does_not_block(void)
{
    const ta_port *port = under_test.port;
    begin(&w);
    (void)add_copy(&w, CHANNEL_0, sram(0), sram(64), 64);
    INIT(w);
    CHECK(ta_run(&rt) == TA_OK);
    const uint32_t now = counter();
    CHECK(port->wait(port, CHANNEL_0, now, 0) == TA_OK && port->wait(port, CHANNEL_0, now - 1, 0) == TA_OK);
    CHECK(port->wait(port, CHANNEL_0, now + 1, 0) == TA_ERROR_TIMEOUT);
    CHECK(port->wait(port, CHANNEL_0, now + 1, 1000) == TA_ERROR_TIMEOUT);
    CHECK(port->cancel(port, CHANNEL_0) == TA_OK && ta_run(&rt) == TA_OK);
    return NULL;
}

static const char *a_missing_wait_shows(void)
{
    SKIP_WITHOUT(under_test.set_lazy, "no lazy mode");
    begin(&w);
    (void)add_copy(&w, CHANNEL_0, sram(0), tcm(0), 64);
    (void)add_copy(&w, CHANNEL_1, tcm(0), sram(4096), 64); /* of what is not there yet */
    (void)add_wait(&w, CHANNEL_1);
    under_test.set_lazy(1);
    INIT(w);
    fill(0, 64, 3);
    CHECK(ta_run(&rt) == TA_OK && !same(0, 4096, 64));
    return NULL;
}

/* On every timeline: an interrupt with nothing behind it, an old completion waited for again, one that never comes. */
static ta_status disturb(void *context, uint32_t step)
{
    const ta_port *port = under_test.port;
    (void)context;
    (void)step;
    for (uint32_t t = 0; t < CHANNEL_COUNT; t++) {
        const ta_progress *progress = &rt.progress[t];
        const uint32_t done = progress->base + progress->settled, never = progress->base + progress->issued + 1u;
        uint32_t value = 0;
        if (under_test.signal)
            under_test.signal(t);
        if (port->read_timeline(port, t, &value) != TA_OK || value - done > progress->issued - progress->settled)
            return TA_ERROR_DEVICE;
        if (port->wait(port, t, done, 0) != TA_OK || port->wait(port, t, never, 0) != TA_ERROR_TIMEOUT)
            return TA_ERROR_DEVICE;
    }
    return TA_OK;
}

static const char *duplicate_and_spurious_completions(void)
{
    begin(&w);
    (void)add_copy(&w, CHANNEL_0, sram(0), tcm(0), 256);
    (void)add_copy(&w, CHANNEL_1, sram(256), tcm(256), 256);
    (void)add_copy(&w, CHANNEL_0, sram(512), tcm(512), 256);
    (void)add_wait(&w, CHANNEL_1);
    (void)add_wait(&w, CHANNEL_0);
    (void)add_copy(&w, CHANNEL_1, tcm(0), sram(4096), 768);
    (void)add_wait(&w, CHANNEL_1);
    INIT(w);
    rt.watch = disturb;
    for (uint32_t i = 0; i < 5; i++) {
        fill(0, 768, i);
        CHECK(ta_run(&rt) == TA_OK && same(0, 4096, 768));
        CHECK(counter() == rt.progress[CHANNEL_0].base + rt.progress[CHANNEL_0].issued);
    }
    rt.watch = NULL;
    return NULL;
}

/* A completion that nobody waits for any more is dropped: it counts for no later run. */
static const char *late_completions(void)
{
    begin(&w);
    for (uint32_t i = 0; i < 4; i++)
        (void)add_copy(&w, CHANNEL_0, sram(512 * i), sram(4096 + 512 * i), 512);
    (void)add_wait(&w, CHANNEL_0);
    INIT(w);
    for (uint32_t i = 0; i < 12; i++) {
        rt.timeout_us = i % 3u; /* too short for some */
        fill(0, 2048, i);
        const ta_status status = ta_run(&rt);
        CHECK(status == TA_OK || status == TA_ERROR_TIMEOUT);
        CHECK(status != TA_OK || same(0, 4096, 2048));
        if (status != TA_OK) {
            CHECK(ta_stop(&rt) == TA_OK);
            INIT(w);
        }
        rt.timeout_us = TA_DEFAULT_TIMEOUT_US;
        fill(0, 2048, 100u + i);
        CHECK(ta_run(&rt) == TA_OK && same(0, 4096, 2048));
        CHECK(counter() == rt.progress[CHANNEL_0].base + rt.progress[CHANNEL_0].issued);
    }
    return NULL;
}

const test_case event_tests[] = {
    {"a channel is in order", a_channel_is_in_order},
    {"channels do not wait for each other", channels_do_not_wait_for_each_other},
    {"a full queue is waited for", a_full_queue_is_waited_for},
    {"the end of a run waits for everything", the_end_waits_for_everything},
    {"waiting twice, or for the past", waiting_twice_or_for_the_past},
    {"runs without end", runs_without_end},
    {"counters wrap", counters_wrap},
    {"asking does not block", asking_does_not_block},
    {"a missing Wait shows", a_missing_wait_shows},
    {"duplicate and spurious completions", duplicate_and_spurious_completions},
    {"late completions", late_completions},
    {NULL, NULL},
};
