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
    {NULL, NULL},
};
