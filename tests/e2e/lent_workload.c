/* A workload of two models whose inputs and outputs are memory of the caller: allocated for each job when it begins, and
 * freed when it is over, so that a sanitizer sees who touches it later. Prints the number of failures. */
#define _POSIX_C_SOURCE 200112L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bundle.h>
#include <zynq_edge_soc.h>

#include "lent_memory.h"
#include "ports/host/host.h"

#define CHECK(condition)                                   \
    do {                                                   \
        if (!(condition)) {                                \
            printf("line %d: %s\n", __LINE__, #condition); \
            return 0;                                      \
        }                                                  \
    } while (0)

enum { TASKS = 2, IMAGES = 4, JOBS = 40 };

/* What the hook `begin` does wrong for the first task. */
enum fault { NOTHING, NOT_LENT, NULL_OUTPUT, ODD, TWICE, IN_COMMON };

static float images[IMAGES][M0_INPUT_IMAGE_ELEMENTS], right[IMAGES][M0_OUTPUT_LOGITS_ELEMENTS];
static m0_io held[TASKS];
static ta_status answered[TASKS];
static ta_status again, due; /* the answer to what the hook lends beside, and what it should be */
static uint32_t ended[TASKS], wrong, corrupt;
static enum fault fault;

static void take(m0_io *io, uint32_t number)
{
    float *image = aligned(M0_INPUT_IMAGE_ALIGNMENT, M0_INPUT_IMAGE_ROOM);
    memcpy(image, images[number % IMAGES], sizeof images[0]);
    io->input_image = image;
    io->output_logits = aligned(M0_OUTPUT_LOGITS_ALIGNMENT, M0_OUTPUT_LOGITS_ROOM);
}

static void drop(m0_io *io)
{
    free((void *)(uintptr_t)io->input_image);
    free(io->output_logits);
    memset(io, 0, sizeof *io);
}

static ta_status lend(uint32_t task, const m0_io *io)
{
    const m1_io other = {io->input_image, io->output_logits};
    return task == 0 ? m0_lend(io) : m1_lend(&other);
}

static ta_status begin(void *context, uint32_t task, const ta_job *job)
{
    m0_io *io = &held[task], given;
    (void)context;
    take(io, job->number);
    given = *io;
    if (task != 0)
        return lend(task, io);
    if (fault == NOT_LENT)
        return TA_OK;
    if (fault == NULL_OUTPUT)
        given.output_logits = NULL;
    if (fault == ODD)
        given.output_logits = (float *)(void *)((char *)given.output_logits + 4);
    const ta_status status = lend(task, &given);
    if (fault == TWICE) {
        due = TA_ERROR_STATE;
        again = lend(task, &given);
    }
    if (fault == IN_COMMON) { /* on a busy computer a job of the other task may be open, with what was lent for it */
        due = held[1].input_image != NULL ? TA_ERROR_STATE : TA_ERROR_ARGUMENT;
        again = lend(1, &given);
    }
    return status;
}

static void end(void *context, uint32_t task, const ta_job *job)
{
    const size_t bytes = M0_OUTPUT_LOGITS_BYTES;
    (void)context;
    answered[task] = job->status;
    ended[task]++;
    corrupt += job->status == TA_ERROR_CORRUPT;
    if (job->status == TA_OK && memcmp(held[task].output_logits, right[job->number % IMAGES], bytes) != 0)
        wrong++;
    drop(&held[task]);
}

/* Turns until so many jobs of each task have ended; between two, `spoil` is called once while a job is open. */
static int go_on(uint32_t jobs, int (*spoil)(void))
{
    const ta_workload_hooks hooks = {begin, end, NULL};
    uint32_t sleep_us;
    memset(ended, 0, sizeof ended);
    wrong = corrupt = 0;
    again = due = TA_OK;
    CHECK(bundle_workload_start(&hooks) == TA_OK);
    while (ended[0] < jobs || ended[1] < jobs) {
        CHECK(bundle_workload_turn(&sleep_us) == TA_OK);
        if (spoil != NULL && held[0].input_image != NULL) {
            CHECK(spoil());
            spoil = NULL;
        }
    }
    CHECK(bundle_workload_stop() == TA_OK);
    for (uint32_t i = 0; i < TASKS; i++)
        drop(&held[i]);
    return 1;
}

static int nothing_else_runs(void)
{
    m0_io io;
    take(&io, 0);
    CHECK(m0_run(&io) == TA_ERROR_STATE);
    CHECK(m0_lend(&io) == TA_ERROR_STATE);
    CHECK(m0_lend(NULL) == TA_ERROR_ARGUMENT);
    drop(&io);
    return 1;
}

static int change(void)
{
    ((float *)(uintptr_t)held[0].input_image)[0] += 1.0f;
    return 1;
}

static int every_bit(void)
{
    fault = NOTHING;
    CHECK(go_on(JOBS, nothing_else_runs));
    CHECK(wrong == 0 && answered[0] == TA_OK && answered[1] == TA_OK);
    return 1;
}

static int lent_wrongly(void)
{
    for (fault = NOT_LENT; fault <= ODD; fault++) {
        CHECK(go_on(2, NULL));
        CHECK(wrong == 0 && answered[0] == TA_ERROR_ARGUMENT && answered[1] == TA_OK);
    }
    return 1;
}

/* What is lent beside is refused, and the job has what was lent for it first. */
static int lent_beside(void)
{
    for (fault = TWICE; fault <= IN_COMMON; fault++) {
        CHECK(go_on(2, NULL));
        CHECK(wrong == 0 && answered[0] == TA_OK && answered[1] == TA_OK);
        CHECK(again == due);
    }
    return 1;
}

static int changed(void)
{
    fault = NOTHING;
    CHECK(go_on(1, change));
    CHECK(corrupt == 1 && answered[1] == TA_OK); /* later jobs are right */
    return 1;
}

/* A workload that is stopped in the middle gives all memory back, and runs find none that is lent. */
static int stopped(void)
{
    const ta_workload_hooks hooks = {begin, end, NULL};
    uint32_t sleep_us;
    m0_io io;
    fault = NOTHING;
    CHECK(bundle_workload_start(&hooks) == TA_OK);
    while (held[0].input_image == NULL)
        CHECK(bundle_workload_turn(&sleep_us) == TA_OK);
    CHECK(bundle_workload_stop() == TA_OK);
    for (uint32_t i = 0; i < TASKS; i++)
        drop(&held[i]);
    take(&io, 0);
    CHECK(m0_run(&io) == TA_OK);
    drop(&io);
    return 1;
}

static int alone(void)
{
    m0_io io;
    for (uint32_t k = 0; k < IMAGES; k++) {
        for (uint32_t i = 0; i < M0_INPUT_IMAGE_ELEMENTS; i++)
            images[k][i] = (float)((k * 37u + i * 11u) % 17u);
        take(&io, k);
        CHECK(m0_run(&io) == TA_OK);
        memcpy(right[k], io.output_logits, sizeof right[0]);
        drop(&io);
    }
    return 1;
}

int main(void)
{
    int (*const tests[])(void) = {alone, every_bit, lent_wrongly, lent_beside, changed, stopped};
    unsigned failures = bundle_init(&ta_port_host) != TA_OK;
    for (unsigned i = 0; i < sizeof tests / sizeof tests[0]; i++)
        failures += !tests[i]();
    failures += bundle_stop() != TA_OK;
    printf("%u failures\n", failures);
    return failures != 0;
}
