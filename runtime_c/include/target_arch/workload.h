/* Models in time: an arbiter that runs the jobs of several models by priorities, with preemption between steps, or by
 * a table of times. All its tables are const and made when the models were compiled, with the response times.
 *
 * By priorities, the host takes the next step of the most urgent job that can go on: its device is idle, or what it
 * waits for is there. So jobs on different devices run at once. A job takes no step while one is released and not over
 * for which it waits (ta_schedule.waits): those more urgent with devices in common, and those of equal priority, which
 * run in the order of their release. What a job has in flight goes on meanwhile. By a table one job has the chip at a
 * time. A job that is late goes on, and is counted.
 *
 * One thread, or the main loop of a program without an operating system, calls ta_workload_turn again and again, and
 * sleeps as long as that says. Only ta_workload_request may be called by other threads and from interrupts, for each
 * task by one at a time. While a workload is started, ta_models_run and ta_models_stop answer TA_ERROR_STATE. The
 * runtime's `watch` is not called.
 */
#ifndef TARGET_ARCH_WORKLOAD_H
#define TARGET_ARCH_WORKLOAD_H

#include "target_arch/lending.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ta_models; /* models/models.h */

#define TA_MOST_JOBS 8u /* of one task that are released and not over; a power of two */
#define TA_NO_TASK 0xffffffffu
#define TA_FOREVER 0xffffffffu

/* How late a turn may see that something else may go on than what it waits for: a part of the overhead of steps. */
#ifndef TA_WORKLOAD_SLICE_US
#define TA_WORKLOAD_SLICE_US 50u
#endif

enum { TA_OVERLOAD_SKIP = 0, TA_OVERLOAD_QUEUE = 1, TA_OVERLOAD_DROP_OLDEST = 2 };

/* A model in time, with the number of the model. Jobs are due every `period_us` from `offset_us` on, or where
 * `on_demand` is 1 when they are requested, and `period_us` apart at least. */
typedef struct ta_task {
    uint32_t period_us;
    uint32_t deadline_us;
    uint32_t offset_us;
    uint32_t priority; /* larger ones go first */
    uint32_t places;   /* jobs that may be released and not over, at most TA_MOST_JOBS */
    uint32_t overload; /* TA_OVERLOAD_*: the rule where there is no place for another */
    uint32_t on_demand;
} ta_task;

/* A part of a table of times: from `start_us` of the hyperperiod on, steps of the job of a task that was due at
 * `due_us`. */
typedef struct ta_slot {
    uint32_t start_us;
    uint32_t due_us;
    uint32_t task;
    uint32_t first; /* steps of the model, its LOADs counted */
    uint32_t past;
} ta_slot;

/* The emitted tables: a task for each model, in their order. `slots` is NULL where priorities decide, `waits` elsewhere. */
typedef struct ta_schedule {
    const ta_task *tasks;
    const uint8_t *waits; /* [task_count][task_count]: 1 where the first task waits for the second one; priorities alone */
    const ta_slot *slots;
    uint32_t task_count;
    uint32_t slot_count;
    uint32_t hyperperiod_us;
    const ta_lending *lending; /* NULL where no model has inputs and outputs in memory of the caller */
} ta_schedule;

/* A job. Times are the port's. */
typedef struct ta_job {
    uint32_t number; /* how many of its task were released before */
    ta_status status;
    uint32_t failed_step;
    uint64_t due_us;
    uint64_t start_us;
    uint64_t end_us;
} ta_job;

/* What happened to the jobs of a task so far. The longest times are in microseconds. */
typedef struct ta_task_counts {
    uint32_t released;
    uint32_t done;
    uint32_t late;    /* over after their deadline; they count as done, too */
    uint32_t dropped; /* for lack of a place, or by a table that has no time left for them */
    uint32_t failed;
    uint32_t longest_response_us; /* from when a job was due until it was over */
    uint32_t longest_run_us;      /* in which the host was at work for a job, or waited for its devices alone */
    uint32_t longest_step_us;     /* of the host */
} ta_task_counts;

/* The state of a task; private but for `counts`. */
typedef struct ta_task_state {
    ta_task_counts counts;
    ta_job jobs[TA_MOST_JOBS]; /* released and not over, the oldest one first */
    uint32_t job_count;
    uint32_t begun; /* 1: the first of these has begun */
    uint32_t step;  /* its next one */
    ta_status status;
    uint32_t failed_step;
    uint32_t sum; /* of the inputs that were lent for it, in programs that check them */
    uint32_t run_us;
    uint64_t next_us; /* when the next one is due, or may be on demand */
    uint32_t requested;
    uint32_t taken;
    uint64_t requests[TA_MOST_JOBS];
} ta_task_state;

/* What a program does at both ends of a job, called by ta_workload_turn. `begin` writes the inputs of the model: no
 * other job touches them until `end`, which reads its outputs. Any status but TA_OK of `begin` ends the job with it.
 * Either may be NULL. What they take is part of the first and last step.
 *
 * Where inputs and outputs are memory of the caller (`--io caller`), `begin` lends it (ta_lend of lent/lent.h, or the
 * function of the model's header), and it is in use until `end` is called, or ta_workload_stop returns; after
 * TA_ERROR_TIMEOUT until ta_models_stop. A job for which nothing is lent ends with TA_ERROR_ARGUMENT, and in a program
 * compiled with TA_LENT_CHECK one whose inputs have changed meanwhile with TA_ERROR_CORRUPT. */
typedef struct ta_workload_hooks {
    ta_status (*begin)(void *context, uint32_t task, const ta_job *job);
    void (*end)(void *context, uint32_t task, const ta_job *job);
    void *context;
} ta_workload_hooks;

/* A timeline: the step in flight, of one job at most. Private. */
typedef struct ta_line {
    uint32_t count; /* what the port's counter says when nothing is in flight */
    uint32_t owner; /* the task that has a step in flight; TA_NO_TASK for none */
    uint64_t since_us;
} ta_line;

/* All zero before the first ta_workload_start. `states` has one element for each task, `lines` one for each timeline,
 * `progress` one for each task and timeline. */
typedef struct ta_workload {
    struct ta_models *models;
    const ta_schedule *schedule;
    ta_task_state *states;
    ta_line *lines;
    ta_progress *progress;
    ta_workload_hooks hooks;
    uint32_t started;
    uint32_t broken;
    uint32_t slot;
    uint32_t entered; /* 1: the job of this slot has been released */
    uint64_t base_us; /* the start, or that of the current hyperperiod */
} ta_workload;

/* Begin: the first hyperperiod, and all offsets, count from now. `models` were initialised and stay the caller's, as
 * all others do; `hooks` is copied and may be NULL.
 *   TA_ERROR_ARGUMENT     NULL, tables for other models, or a task with more places than TA_MOST_JOBS
 *   TA_ERROR_STATE        started already, or the models are not ready
 *   TA_ERROR_UNSUPPORTED  the port has no clock
 *   any                   of the port's read_timeline */
ta_status ta_workload_start(ta_workload *workload, struct ta_models *models, const ta_schedule *schedule,
                            ta_task_state *states, ta_line *lines, ta_progress *progress,
                            const ta_workload_hooks *hooks);

/* Do what is next: release the jobs that are due, and execute one step of the most urgent one that can go on. Where
 * none can, this waits for what the most urgent one has in flight, until the next job is due, and at most for
 * TA_WORKLOAD_SLICE_US where other devices are busy or tasks are on demand. `*sleep_us` is 0 where there is more
 * to do now, else the time until the next job is due, TA_FOREVER without one; a request ends it early. A step that fails
 * ends its job alone, with the status in its ta_job.
 *   TA_ERROR_STATE    not started
 *   TA_ERROR_TIMEOUT  something did not end in time, and was cancelled: ta_workload_stop, then stop and init the models
 *   any               of the port's now_us */
ta_status ta_workload_turn(ta_workload *workload, uint32_t *sleep_us);

/* A job of a task on demand is due now, or if the one before was less than a period ago, then. Does not block;
 * interrupt-safe where the port's now_us is.
 *   TA_ERROR_BUSY      TA_MOST_JOBS requests are there that no turn has taken
 *   TA_ERROR_ARGUMENT  there is no such task, or it has a period
 *   TA_ERROR_STATE     not started */
ta_status ta_workload_request(ta_workload *workload, uint32_t task);

/* What happened so far, of one task. NULL for a task that there is not. */
const ta_task_counts *ta_workload_counts(const ta_workload *workload, uint32_t task);

/* Wait for what is in flight and forget all jobs; the counts stay. Then the models may run in turn, or stop. */
ta_status ta_workload_stop(ta_workload *workload);

#ifdef __cplusplus
}
#endif

#endif
