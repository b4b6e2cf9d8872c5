/* Two models in two tasks of FreeRTOS, and an arbiter in a third one of the highest priority.
 *
 * Each task of the application requests a job, wakes the arbiter, and sleeps until the job is over; the outputs have to
 * be those of a run of the model alone. `PLACE` has how the program ends and what it says, for a computer or a board.
 */
#include <string.h>

#include <FreeRTOS.h>
#include <task.h>

#include HEADER
#include INTERNAL

#include "place.h"
#include "workload_move.h"

enum { JOBS = 20, LARGEST = 4096, FAILED = 40 };

static TaskHandle_t arbiter, application[2];
static StaticTask_t memory[3];
static StackType_t stacks[3][TASK_STACK];
static uint8_t ins[2][LARGEST], outs[2][LARGEST], answer[LARGEST];
static unsigned wrong, left = 2;

static ta_status begin(void *context, uint32_t task, const ta_job *job)
{
    const ta_bundle *bundle = BUNDLE(_models).bundles[task];
    (void)context;
    (void)job;
    (void)move(bundle, bundle->inputs, bundle->input_count, ins[task], 1);
    return TA_OK;
}

static void end(void *context, uint32_t task, const ta_job *job)
{
    const ta_bundle *bundle = BUNDLE(_models).bundles[task];
    const uint32_t bytes = move(bundle, bundle->outputs, bundle->output_count, answer, 0);
    (void)context;
    if (job->status != TA_OK || memcmp(answer, outs[task], bytes) != 0)
        wrong++;
    (void)xTaskNotifyGive(application[task]);
}

static void arbitrate(void *unused)
{
    uint32_t sleep_us = 0;
    (void)unused;
    while (left > 0u) {
        if (BUNDLE(_workload_turn)(&sleep_us) != TA_OK)
            place_exit(FAILED);
        if (sleep_us > 0u)
            (void)ulTaskNotifyTake(pdTRUE, sleep_us == TA_FOREVER ? portMAX_DELAY : 1u + sleep_us / 1000u);
    }
    for (uint32_t i = 0; i < 2u; i++) {
        const ta_task_counts *counts = BUNDLE(_workload_counts)(i);
        if (counts->done != (uint32_t)JOBS || counts->failed != 0u || counts->dropped != 0u)
            wrong++;
    }
    if (BUNDLE(_workload_stop)() != TA_OK || BUNDLE(_stop)() != TA_OK)
        place_exit(FAILED + 1);
    place_exit(wrong == 0u ? 0 : 1);
}

static void apply(void *number)
{
    const uint32_t task = (uint32_t)(uintptr_t)number;
    for (int i = 0; i < JOBS; i++) {
        if (BUNDLE(_workload_request)(task) != TA_OK)
            place_exit(FAILED + 2);
        (void)xTaskNotifyGive(arbiter);
        (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
    }
    taskENTER_CRITICAL();
    left--;
    taskEXIT_CRITICAL();
    (void)xTaskNotifyGive(arbiter);
    vTaskSuspend(NULL);
}

int main(void)
{
    static const ta_workload_hooks hooks = {begin, end, NULL};
    place_begin();
    if (BUNDLE(_init)(PORT) != TA_OK)
        return FAILED + 3;
    for (uint32_t i = 0; i < 2u; i++) {
        const ta_bundle *bundle = BUNDLE(_models).bundles[i];
        for (uint32_t k = 0; k < (uint32_t)LARGEST; k++)
            ins[i][k] = (uint8_t)((k + 31u * i) * 2654435761u >> 24);
        (void)move(bundle, bundle->inputs, bundle->input_count, ins[i], 1);
        if (ta_models_run(&BUNDLE(_models), i) != TA_OK)
            return FAILED + 4;
        (void)move(bundle, bundle->outputs, bundle->output_count, outs[i], 0);
    }
    if (BUNDLE(_workload_start)(&hooks) != TA_OK)
        return FAILED + 5;
    place_kernel();
    arbiter = xTaskCreateStatic(arbitrate, "arbiter", TASK_STACK, NULL, 3, stacks[0], &memory[0]);
    for (uintptr_t i = 0; i < 2u; i++)
        application[i] =
            xTaskCreateStatic(apply, i == 0u ? "a" : "b", TASK_STACK, (void *)i, 2u - (UBaseType_t)i, stacks[1u + i],
                              &memory[1u + i]);
    vTaskStartScheduler();
    return FAILED + 6;
}
