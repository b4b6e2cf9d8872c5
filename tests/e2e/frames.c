/* Frames in flight of the digits model, and what happens when something goes wrong. Prints a line per test. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <digits_int8.h>

#include "ports/host/host.h"

/* What may fail of the chip, with what; the first one may hang. */
#ifdef TWO_CORES
#include <dual_m33_soc.h>
static const uint32_t timelines[] = {DUAL_M33_TIMELINE_SECOND_CPU};
static const ta_status statuses[] = {TA_ERROR_DEVICE};
enum { IN_FLIGHT = 2 };
#else
#include <zynq_edge_soc.h>
static const uint32_t timelines[] = {ZYNQ_EDGE_TIMELINE_DSP_CPU, ZYNQ_EDGE_TIMELINE_FPGA_CONV2D, ZYNQ_EDGE_TIMELINE_AXI_DMA_0};
static const ta_status statuses[] = {TA_ERROR_DEVICE, TA_ERROR_DEVICE, TA_ERROR_DMA};
enum { IN_FLIGHT = 3 };
#endif

#ifndef FRAMES
#define FRAMES 200
#endif
enum { IMAGES = 16 };

static DIGITS_TYPE image[DIGITS_INT8_INPUT_IMAGE_ELEMENTS];
static DIGITS_TYPE logits[IMAGES][DIGITS_INT8_OUTPUT_LOGITS_ELEMENTS], found[DIGITS_INT8_OUTPUT_LOGITS_ELEMENTS];
static const digits_int8_frame_inputs inputs = {image};
static const digits_int8_frame_outputs outputs = {found};

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            printf("not ok %s: %s (line %d)\n", __func__, #condition, __LINE__); \
            return 0; \
        } \
    } while (0)

static void draw(uint32_t number)
{
    for (uint32_t i = 0; i < DIGITS_INT8_INPUT_IMAGE_ELEMENTS; i++)
        image[i] = (DIGITS_TYPE)((number * 37u + i * 11u) % 17u);
}

static int is_right(uint32_t number)
{
    return memcmp(found, logits[number % IMAGES], sizeof found) == 0;
}

static ta_status submit(uint32_t number)
{
    draw(number % IMAGES);
    return digits_int8_submit(&inputs, NULL);
}

static int start(void)
{
    return digits_int8_init(&ta_port_host) == TA_OK;
}

/* The answers of single runs; then frames whose results must be these. */
static int single_runs(void)
{
    CHECK(start());
    for (uint32_t i = 0; i < IMAGES; i++) {
        draw(i);
        memcpy(digits_int8_input_image(), image, sizeof image);
        CHECK(digits_int8_run() == TA_OK);
        memcpy(logits[i], digits_int8_output_logits(), sizeof found);
    }
    CHECK(memcmp(logits[0], logits[1], sizeof found) != 0);
    return digits_int8_stop() == TA_OK;
}

/* An event loop, in which frames come as they like: one or none each time around. */
static int in_order(void)
{
    uint32_t sent = 0, got = 0, most = 0, turn = 0;
    CHECK(start());
    while (got < FRAMES) {
        ta_frame frame;
        if (sent < FRAMES && (turn++ / 50u) % 3u != 1u) {
            const ta_status status = submit(sent);
            CHECK(status == TA_OK || status == TA_ERROR_BUSY);
            sent += status == TA_OK;
            memset(image, 99, sizeof image); /* the caller's again */
        }
        most = sent - got > most ? sent - got : most;
        const ta_status polled = digits_int8_poll();
        CHECK(polled == TA_OK || polled == TA_ERROR_BUSY);
        while (digits_int8_result(&outputs, &frame) == TA_OK) {
            CHECK(frame.number == got && is_right(got));
            got++;
        }
    }
    CHECK(most >= IN_FLIGHT);
    CHECK(digits_int8_result(&outputs, NULL) == TA_ERROR_STATE && digits_int8_wait() == TA_ERROR_STATE);
    draw(5);
    memcpy(digits_int8_input_image(), image, sizeof image);
    CHECK(digits_int8_run() == TA_OK); /* nothing is in flight any more */
    CHECK(memcmp(digits_int8_output_logits(), logits[5], sizeof found) == 0);
    CHECK(submit(6) == TA_OK && digits_int8_wait() == TA_OK);
    CHECK(digits_int8_result(&outputs, NULL) == TA_OK && is_right(6));
    return digits_int8_stop() == TA_OK;
}

static int full(void)
{
    uint32_t sent = 0, got = 0;
    CHECK(start());
    CHECK(submit(0) == TA_OK && submit(1) == TA_ERROR_BUSY); /* the first was not started yet */
    CHECK(digits_int8_run() == TA_ERROR_STATE && digits_int8_result(&outputs, NULL) == TA_ERROR_BUSY);
    CHECK(digits_int8_submit(NULL, NULL) == TA_ERROR_ARGUMENT);
    for (sent = 1; sent < 100; sent++) { /* no result is taken: in the end nothing goes on */
        int stalled = 0;
        while (submit(sent) == TA_ERROR_BUSY && stalled < 30)
            stalled = digits_int8_poll() == TA_OK ? stalled + 1 : 0;
        if (stalled == 30)
            break;
    }
    CHECK(sent >= 3 && sent < 16);
    for (; got < sent; got++) {
        CHECK(digits_int8_wait() == TA_OK && digits_int8_result(&outputs, NULL) == TA_OK && is_right(got));
    }
    return digits_int8_stop() == TA_OK;
}

/* Who always has a frame, and waits: one that has just been refused is taken as soon as there is a place for it. */
static int one_behind_the_other(void)
{
    uint32_t sent = 0, got = 0, most = 0;
    CHECK(start());
    while (got < 40) {
        while (sent < 40 && submit(sent) == TA_OK)
            sent++;
        most = sent - got > most ? sent - got : most;
        CHECK(digits_int8_wait() == TA_OK);
        while (digits_int8_result(&outputs, NULL) == TA_OK)
            CHECK(is_right(got++));
    }
    CHECK(most >= IN_FLIGHT);
    CHECK(submit(0) == TA_OK && submit(1) == TA_ERROR_BUSY);
    CHECK(digits_int8_wait() == TA_OK && digits_int8_result(&outputs, NULL) == TA_ERROR_BUSY);
    CHECK(digits_int8_wait() == TA_OK); /* no frame came for the place: the one that is there ends */
    CHECK(digits_int8_result(&outputs, NULL) == TA_OK && is_right(0));
    return digits_int8_stop() == TA_OK;
}

/* The same with one call for a frame and a result; at the end it waits for those that are left. */
static int in_exchange(void)
{
    uint32_t sent = 0, got = 0, most = 0;
    ta_frame frame;
    CHECK(start());
    CHECK(digits_int8_exchange(&inputs, &outputs, NULL) == TA_ERROR_ARGUMENT);
    CHECK(digits_int8_exchange(NULL, &outputs, &frame) == TA_ERROR_STATE && frame.status == TA_ERROR_BUSY);
    while (got < 40) {
        draw(sent % IMAGES);
        CHECK(digits_int8_exchange(sent < 40 ? &inputs : NULL, &outputs, &frame) == TA_OK);
        CHECK(sent < 40 || frame.status == TA_OK);
        sent += sent < 40;
        most = sent - got > most ? sent - got : most;
        if (frame.status == TA_OK)
            CHECK(frame.number == got && is_right(got++));
        else
            CHECK(frame.status == TA_ERROR_BUSY);
    }
    CHECK(most >= IN_FLIGHT && digits_int8_exchange(NULL, NULL, &frame) == TA_ERROR_STATE);
    CHECK(digits_int8_exchange(&inputs, NULL, &frame) == TA_OK && digits_int8_exchange(NULL, NULL, &frame) == TA_OK);
    CHECK(frame.status == TA_OK && frame.number == 40);
    return digits_int8_stop() == TA_OK;
}

/* Where frames were submitted until nothing went on, each call takes a result, and so there is a place. */
static int exchange_when_full(void)
{
    uint32_t sent = 0, got = 0;
    ta_frame frame;
    CHECK(start());
    for (int stalled = 0; stalled < 30;) {
        const ta_status status = submit(sent);
        sent += status == TA_OK;
        stalled = status == TA_OK || digits_int8_poll() != TA_OK ? 0 : stalled + 1;
    }
    while (got < 40) {
        draw(sent % IMAGES);
        CHECK(digits_int8_exchange(&inputs, &outputs, &frame) == TA_OK && frame.status == TA_OK);
        CHECK(frame.number == got && is_right(got++));
        sent++;
    }
    return digits_int8_stop() == TA_OK;
}

static int without_outputs(void)
{
    CHECK(start());
    CHECK(submit(3) == TA_OK && digits_int8_wait() == TA_OK && digits_int8_result(NULL, NULL) == TA_OK);
    return digits_int8_stop() == TA_OK;
}

/* One command fails: its frame alone is lost, and says so. */
static int one_fails(void)
{
    for (uint32_t t = 0; t < sizeof timelines / sizeof *timelines; t++) {
        uint32_t sent = 0, got = 0, lost = 0;
        const ta_status status = statuses[t];
        CHECK(start());
        ta_host_fail(timelines[t], 29, status);
        while (got < 40) {
            ta_frame frame;
            if (sent < 40)
                sent += submit(sent) == TA_OK;
            const ta_status polled = sent == 40 ? digits_int8_wait() : digits_int8_poll();
            CHECK(polled == TA_OK || polled == TA_ERROR_BUSY);
            ta_status answer;
            while ((answer = digits_int8_result(&outputs, &frame)) != TA_ERROR_BUSY && answer != TA_ERROR_STATE) {
                CHECK(frame.number == got && frame.status == answer);
                if (answer == TA_OK)
                    CHECK(is_right(got) && frame.failed_step == TA_NO_STEP);
                else
                    CHECK(answer == status && frame.failed_step != TA_NO_STEP && lost++ == 0);
                got++;
            }
        }
        CHECK(lost == 1);
        CHECK(digits_int8_stop() == TA_OK);
    }
    return 1;
}

/* In exchange, the answer is about the frame that is taken, and what became of the oldest is beside. */
static int one_fails_in_exchange(void)
{
    uint32_t sent = 0, got = 0, lost = 0;
    CHECK(start());
    ta_host_fail(timelines[0], 29, statuses[0]);
    while (got < 40) {
        ta_frame frame;
        draw(sent % IMAGES);
        CHECK(digits_int8_exchange(sent < 40 ? &inputs : NULL, &outputs, &frame) == TA_OK);
        sent += sent < 40;
        if (frame.status == TA_ERROR_BUSY)
            continue;
        CHECK(frame.number == got && frame.status == (frame.failed_step == TA_NO_STEP ? TA_OK : statuses[0]));
        CHECK(frame.status != TA_OK || is_right(got));
        lost += frame.status != TA_OK;
        got++;
    }
    CHECK(lost == 1);
    return digits_int8_stop() == TA_OK;
}

/* A device that never completes, in exchange: frames are refused then, and every one that was taken has its answer. */
static int never_completes_in_exchange(void)
{
    uint32_t sent = 0, got = 0, late = 0, refused = 0;
    ta_status status = TA_OK;
    ta_frame frame;
    CHECK(start());
    digits_int8_runtime()->timeout_us = 100000;
    ta_host_fail(timelines[0], 9, TA_ERROR_TIMEOUT);
    while (!refused || status == TA_OK) {
        draw(sent % IMAGES);
        status = digits_int8_exchange(refused ? NULL : &inputs, &outputs, &frame);
        sent += !refused && status == TA_OK;
        refused |= status != TA_OK;
        if (frame.status == TA_ERROR_BUSY)
            continue;
        CHECK(frame.number == got++ && sent < 1000);
        CHECK(frame.status == TA_OK ? late == 0u && is_right(frame.number) : frame.status != TA_ERROR_DEVICE);
        late += frame.status == TA_ERROR_TIMEOUT;
        status = TA_OK;
    }
    CHECK(status == TA_ERROR_STATE && late == 1 && got == sent);
    (void)digits_int8_stop();
    return 1;
}

/* A device that never completes: every frame has its answer, and nothing goes on until init. */
static int never_completes(void)
{
    uint32_t sent = 0, got = 0, late = 0, answers = 0;
    ta_status status = TA_OK;
    CHECK(start());
    digits_int8_runtime()->timeout_us = 100000;
    ta_host_fail(timelines[0], 9, TA_ERROR_TIMEOUT);
    while (status != TA_ERROR_TIMEOUT) {
        ta_frame frame;
        sent += submit(sent) == TA_OK;
        if (digits_int8_result(&outputs, &frame) == TA_OK)
            CHECK(is_right(frame.number) && frame.number == got++ && got < 1000);
        status = digits_int8_poll();
    }
    for (;;) {
        ta_frame frame;
        status = digits_int8_result(&outputs, &frame);
        if (frame.status == TA_ERROR_BUSY)
            break; /* none is left */
        CHECK(status == TA_OK || status == TA_ERROR_TIMEOUT || status == TA_ERROR_STATE);
        late += status == TA_ERROR_TIMEOUT;
        CHECK(frame.number == got + answers++);
    }
    CHECK(late == 1 && answers == sent - got);
    CHECK(submit(0) == TA_ERROR_STATE && digits_int8_run() == TA_ERROR_STATE);
    (void)digits_int8_stop();
    CHECK(start());
    CHECK(submit(7) == TA_OK && digits_int8_wait() == TA_OK);
    CHECK(digits_int8_result(&outputs, NULL) == TA_OK && is_right(7));
    return digits_int8_stop() == TA_OK;
}

static int stop_in_flight(void)
{
    CHECK(start());
    for (uint32_t i = 0; i < 3; i++) {
        while (submit(i) == TA_ERROR_BUSY)
            (void)digits_int8_poll();
        (void)digits_int8_poll();
    }
    CHECK(digits_int8_stop() == TA_OK);
    CHECK(digits_int8_poll() == TA_ERROR_STATE && submit(0) == TA_ERROR_STATE);
    CHECK(start());
    CHECK(submit(2) == TA_OK && digits_int8_wait() == TA_OK);
    CHECK(digits_int8_result(&outputs, NULL) == TA_OK && is_right(2));
    return digits_int8_stop() == TA_OK;
}

static void *poll_often(void *counts)
{
    uint32_t *answers = counts;
    for (uint32_t i = 0; i < 3000; i++) {
        const ta_status status = digits_int8_poll();
        answers[status == TA_OK ? 0 : status == TA_ERROR_BUSY ? 1 : status == TA_ERROR_STATE ? 2 : 3]++;
    }
    return NULL;
}

/* A second thread that polls: it does the work, or is refused; results stay right. */
static int two_threads(void)
{
    pthread_t thread;
    uint32_t answers[4] = {0}, sent = 0, got = 0;
    CHECK(start());
    CHECK(pthread_create(&thread, NULL, poll_often, answers) == 0);
    while (got < 40) {
        ta_frame frame;
        if (sent < 40)
            sent += submit(sent) == TA_OK;
        (void)digits_int8_poll();
        if (digits_int8_result(&outputs, &frame) == TA_OK) {
            CHECK(frame.number == got && is_right(got));
            got++;
        }
    }
    CHECK(pthread_join(thread, NULL) == 0 && answers[3] == 0);
    return digits_int8_stop() == TA_OK;
}

int main(void)
{
    static int (*const tests[])(void) = {
        single_runs,     in_order,           full,      one_behind_the_other,  in_exchange,     exchange_when_full,
        without_outputs, one_fails,          one_fails_in_exchange,            never_completes, never_completes_in_exchange,
        stop_in_flight,  two_threads,
    };
    int failures = 0;
    for (uint32_t jitter = 0; jitter < 2; jitter++) {
        ta_host_set_jitter(jitter);
        for (uint32_t i = 0; i < sizeof tests / sizeof *tests; i++)
            failures += !tests[i]();
    }
    printf("%d failures\n", failures);
    return failures;
}
