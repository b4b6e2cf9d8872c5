/* Frames in flight with inputs and outputs in memory of the caller, which is allocated for each frame and freed when its
 * result was taken: a sanitizer sees who touches it later. Prints a line per test that fails. */
#define _POSIX_C_SOURCE 200112L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <digits_int8.h>
#include <zynq_edge_soc.h>

#include "lent_memory.h"
#include "ports/host/host.h"

enum { FRAMES = 200, IMAGES = 16, SETS = 16 };

#define ROOM DIGITS_INT8_INPUT_IMAGE_ROOM

static unsigned char logits[IMAGES][DIGITS_INT8_OUTPUT_LOGITS_ROOM];
static digits_int8_io held[SETS];

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            printf("not ok %s: %s (line %d)\n", __func__, #condition, __LINE__); \
            return 0; \
        } \
    } while (0)

/* Memory for a frame, with its image. */
static digits_int8_io *take(uint32_t number)
{
    digits_int8_io *io = &held[number % SETS];
    DIGITS_TYPE *image = aligned(DIGITS_INT8_INPUT_IMAGE_ALIGNMENT, ROOM);
    for (uint32_t i = 0; i < DIGITS_INT8_INPUT_IMAGE_ELEMENTS; i++)
        image[i] = (DIGITS_TYPE)((number % IMAGES * 37u + i * 11u) % 17u);
    io->input_image = image;
    io->output_logits = aligned(DIGITS_INT8_OUTPUT_LOGITS_ALIGNMENT, DIGITS_INT8_OUTPUT_LOGITS_ROOM);
    return io;
}

static void drop(uint32_t number)
{
    free((void *)(uintptr_t)held[number % SETS].input_image);
    free(held[number % SETS].output_logits);
}

static int is_right(uint32_t number)
{
    return memcmp(held[number % SETS].output_logits, logits[number % IMAGES], DIGITS_INT8_OUTPUT_LOGITS_BYTES) == 0;
}

static int start(void)
{
    return digits_int8_init(&ta_port_host) == TA_OK;
}

static int single_runs(void)
{
    CHECK(start());
    for (uint32_t i = 0; i < IMAGES; i++) {
        const digits_int8_io *io = take(i);
        CHECK(digits_int8_run(io) == TA_OK);
        memcpy(logits[i], io->output_logits, DIGITS_INT8_OUTPUT_LOGITS_BYTES);
        drop(i);
    }
    return digits_int8_stop() == TA_OK;
}

/* Frames that are submitted whenever there is room; `failed` of them end with `status`. */
static int stream(uint32_t failed, ta_status status)
{
    uint32_t sent = 0, got = 0, lost = 0, most = 0;
    ta_frame frame;
    while (got < FRAMES) {
        ta_status answer = sent < FRAMES ? digits_int8_submit(take(sent), NULL) : TA_ERROR_BUSY;
        if (answer == TA_OK)
            sent++;
        else if (sent < FRAMES)
            drop(sent);
        most = sent - got > most ? sent - got : most;
        CHECK(answer == TA_OK || answer == TA_ERROR_BUSY);
        answer = answer == TA_OK ? digits_int8_poll() : digits_int8_wait();
        CHECK(answer == TA_OK || answer == TA_ERROR_BUSY);
        while ((answer = digits_int8_result(&frame)) != TA_ERROR_BUSY && answer != TA_ERROR_STATE) {
            CHECK(frame.number == got && answer == frame.status);
            if (answer == TA_OK)
                CHECK(is_right(got));
            else
                CHECK(answer == status && ++lost <= failed);
            drop(got++);
        }
    }
    CHECK(lost == failed && most > 1);
    return 1;
}

/* A frame and a result with one call. */
static int in_exchange(void)
{
    uint32_t sent = 0, got = 0, most = 0;
    ta_frame frame;
    CHECK(start());
    while (got < FRAMES) {
        CHECK(digits_int8_exchange(sent < FRAMES ? take(sent) : NULL, &frame) == TA_OK);
        sent += sent < FRAMES;
        most = sent - got > most ? sent - got : most;
        if (frame.status == TA_ERROR_BUSY)
            continue;
        CHECK(frame.number == got && frame.status == TA_OK && is_right(got));
        drop(got++);
    }
    CHECK(most > 1 && most <= SETS);
    return digits_int8_stop() == TA_OK;
}

static int all_right(void)
{
    CHECK(start());
    CHECK(stream(0, TA_OK));
    return digits_int8_stop() == TA_OK;
}

static int one_fails(void)
{
    CHECK(start());
    ta_host_fail(ZYNQ_EDGE_TIMELINE_DSP_CPU, 29, TA_ERROR_DEVICE);
    CHECK(stream(1, TA_ERROR_DEVICE));
    return digits_int8_stop() == TA_OK;
}

/* Memory that cannot serve: nothing is taken, and the frame before is not harmed. */
static int wrong_memory(void)
{
    ta_frame frame;
    CHECK(start());
    const digits_int8_io *first = take(0), *second = take(1);
    digits_int8_io wrong = *second;
    CHECK(digits_int8_submit(NULL, NULL) == TA_ERROR_ARGUMENT);
    CHECK(digits_int8_submit(first, NULL) == TA_OK);
    CHECK(digits_int8_submit(second, NULL) == TA_ERROR_BUSY);
    CHECK(digits_int8_wait() == TA_OK); /* there is a place for it */
    wrong.input_image = NULL;
    CHECK(digits_int8_submit(&wrong, NULL) == TA_ERROR_ARGUMENT);
    wrong = *second;
    wrong.output_logits = first->output_logits; /* the first frame's, whose result was not taken */
    CHECK(digits_int8_submit(&wrong, NULL) == TA_ERROR_ARGUMENT);
    wrong.output_logits = (void *)(uintptr_t)second->input_image;
    CHECK(digits_int8_submit(&wrong, NULL) == TA_ERROR_ARGUMENT);
    wrong.output_logits = (void *)((unsigned char *)second->output_logits + 1);
    CHECK(digits_int8_submit(&wrong, NULL) == TA_ERROR_ARGUMENT);
    CHECK(digits_int8_wait() == TA_OK && digits_int8_result(&frame) == TA_OK && is_right(0));
    CHECK(digits_int8_submit(second, NULL) == TA_OK && digits_int8_wait() == TA_OK);
    CHECK(digits_int8_result(&frame) == TA_OK && is_right(1));
    CHECK(digits_int8_stop() == TA_OK);
    drop(0);
    drop(1);
    return 1;
}

/* An image that changes while its frame is in flight: that frame says so, and no other. */
static int changed_too_early(void)
{
    ta_frame frame;
    CHECK(start());
    CHECK(digits_int8_submit(take(0), NULL) == TA_OK);
    ((unsigned char *)(uintptr_t)held[0].input_image)[3] ^= 1u;
    CHECK(digits_int8_wait() == TA_OK);
    CHECK(digits_int8_result(&frame) == TA_ERROR_CORRUPT && frame.number == 0);
    drop(0);
    CHECK(digits_int8_submit(take(1), NULL) == TA_OK);
    CHECK(digits_int8_wait() == TA_OK);
    CHECK(digits_int8_result(&frame) == TA_OK && frame.number == 1 && is_right(1));
    drop(1);
    return digits_int8_stop() == TA_OK;
}

/* All that was lent is the caller's after stop. */
static int stop_in_flight(void)
{
    uint32_t sent = 0;
    CHECK(start());
    while (sent < 3)
        if (digits_int8_submit(take(sent), NULL) == TA_OK)
            sent++;
        else {
            drop(sent);
            CHECK(digits_int8_poll() != TA_ERROR_TIMEOUT);
        }
    CHECK(digits_int8_stop() == TA_OK);
    while (sent > 0)
        drop(--sent);
    return all_right();
}

int main(void)
{
    int (*const tests[])(void) = {single_runs, all_right, in_exchange, one_fails, wrong_memory, changed_too_early, stop_in_flight};
    int failures = 0;
    for (int jitter = 0; jitter < 3; jitter++) {
        ta_host_set_jitter(jitter);
        for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
            failures += !tests[i]();
    }
    printf("%d failures\n", failures);
    return failures;
}
