/* Which job is next, and its next step. Single steps are the core's. */
#include "target_arch/workload.h"

#include "core/internal.h"
#include "models/models.h"

static ta_runtime *runtime_of(const ta_workload *w)
{
    return &w->models->runtime;
}

static ta_status now_of(const ta_workload *w, uint64_t *now)
{
    const ta_port *port = runtime_of(w)->port;
    return port->now_us(port, now);
}

static uint32_t least(uint64_t time)
{
    return time < TA_FOREVER ? (uint32_t)time : TA_FOREVER - 1u;
}

static void keep_longest(uint32_t *longest, uint64_t time)
{
    if (least(time) > *longest)
        *longest = least(time);
}

/* Jobs of a task */

static void drop(ta_task_state *state, uint32_t job)
{
    state->job_count--;
    for (uint32_t i = job; i < state->job_count; i++)
        state->jobs[i] = state->jobs[i + 1u];
}

static void release(ta_task_state *state, const ta_task *task, uint64_t due)
{
    const ta_job job = {state->counts.released, TA_OK, TA_NO_STEP, due, 0, 0};
    state->counts.released++;
    if (state->job_count >= task->places) {
        state->counts.dropped++;
        if (task->overload != (uint32_t)TA_OVERLOAD_DROP_OLDEST)
            return;
        drop(state, state->begun);
    }
    state->jobs[state->job_count] = job;
    state->job_count++;
}

static void release_periodic(ta_task_state *state, const ta_task *task, uint64_t now)
{
    while (state->next_us <= now) {
        release(state, task, state->next_us);
        state->next_us += task->period_us;
    }
}

/* A counter that a thread or an interrupt reads or writes while the arbiter is at work. */
static uint32_t load(const uint32_t *counter)
{
#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_4
    return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
#else
    return *(const volatile uint32_t *)counter;
#endif
}

static void store(uint32_t *counter, uint32_t value)
{
#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_4
    __atomic_store_n(counter, value, __ATOMIC_RELEASE);
#else
    *(volatile uint32_t *)counter = value;
#endif
}

static void release_requested(ta_task_state *state, const ta_task *task, uint64_t now)
{
    while (state->taken != load(&state->requested) && state->next_us <= now) {
        const uint64_t asked = state->requests[state->taken % TA_MOST_JOBS];
        const uint64_t due = asked > state->next_us ? asked : state->next_us;
        store(&state->taken, state->taken + 1u);
        release(state, task, due);
        state->next_us = due + task->period_us;
    }
}

static void release_all(ta_workload *w, uint64_t now)
{
    for (uint32_t i = 0; i < w->schedule->task_count; i++) {
        if (w->schedule->tasks[i].on_demand)
            release_requested(&w->states[i], &w->schedule->tasks[i], now);
        else
            release_periodic(&w->states[i], &w->schedule->tasks[i], now);
    }
}

/* Does a job of one task go before one of another, both of which have some? */
static int goes_before(const ta_workload *w, uint32_t one, uint32_t other)
{
    const uint32_t here = w->schedule->tasks[one].priority, there = w->schedule->tasks[other].priority;
    if (here != there)
        return here > there;
    if (w->states[one].begun != w->states[other].begun)
        return w->states[one].begun != 0u;
    return w->states[one].jobs[0].due_us < w->states[other].jobs[0].due_us;
}

static uint32_t most_urgent(const ta_workload *w)
{
    uint32_t chosen = TA_NO_TASK;
    for (uint32_t i = 0; i < w->schedule->task_count; i++)
        if (w->states[i].job_count > 0u && (chosen == TA_NO_TASK || goes_before(w, i, chosen)))
            chosen = i;
    return chosen;
}

static uint32_t sleep_of(const ta_workload *w, uint64_t now)
{
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < w->schedule->task_count; i++) {
        const int waits = !w->schedule->tasks[i].on_demand || w->states[i].taken != load(&w->states[i].requested);
        if (waits && w->states[i].next_us < next)
            next = w->states[i].next_us;
    }
    if (next == UINT64_MAX)
        return TA_FOREVER;
    return next > now ? least(next - now) : 0u;
}

/* What is in flight */

/* Wait for everything of the job that has the chip; cancel what does not end. */
static ta_status drain(ta_workload *w)
{
    ta_runtime *rt = runtime_of(w);
    ta_status status = TA_OK;
    for (uint32_t t = 0; t < rt->soc->timeline_count; t++) {
        ta_progress *progress = &rt->progress[t];
        while (progress->settled < progress->issued) {
            const uint32_t before = progress->settled;
            const ta_status ended = ta_settle(rt, t, progress->settled + 1u, rt->timeout_us);
            status = status != TA_OK ? status : ended;
            if (progress->settled == before) {
                (void)rt->port->cancel(rt->port, t);
                progress->settled = progress->issued;
                w->broken = 1;
            }
        }
    }
    return status;
}

/* Where the progress of a task is kept while others have the chip: counters go on, so `base` has no meaning there. */
static ta_progress *kept(const ta_workload *w, uint32_t task)
{
    return &w->progress[task * runtime_of(w)->soc->timeline_count];
}

static void give_up_chip(ta_workload *w)
{
    ta_runtime *rt = runtime_of(w);
    for (uint32_t t = 0; t < rt->soc->timeline_count; t++) {
        ta_progress *progress = &rt->progress[t];
        const ta_progress idle = {progress->base + progress->issued, 0, 0, 0};
        if (w->current != TA_NO_TASK)
            kept(w, w->current)[t] = *progress;
        *progress = idle;
    }
    w->current = TA_NO_TASK;
}

static void take_chip(ta_workload *w, uint32_t task)
{
    ta_runtime *rt = runtime_of(w);
    rt->bundle = w->models->bundles[task];
    rt->failed_step = TA_NO_STEP;
    for (uint32_t t = 0; t < rt->soc->timeline_count; t++) {
        ta_progress *progress = &rt->progress[t];
        const uint32_t base = progress->base;
        *progress = kept(w, task)[t];
        progress->base = base - progress->issued;
    }
    w->current = task;
}

/* Jobs */

static uint32_t first_step(const ta_bundle *bundle)
{
    uint32_t step = 0;
    while (step < bundle->step_count && bundle->steps[step].kind == (uint32_t)TA_STEP_LOAD)
        step++;
    return step;
}

static ta_status begin(ta_workload *w, uint32_t task, uint64_t now)
{
    ta_task_state *state = &w->states[task];
    const ta_progress fresh = {0, 0, 0, 0};
    for (uint32_t t = 0; t < runtime_of(w)->soc->timeline_count; t++)
        kept(w, task)[t] = fresh;
    state->begun = 1;
    state->run_us = 0;
    state->step = first_step(w->models->bundles[task]);
    state->jobs[0].start_us = now;
    return w->hooks.begin != NULL ? w->hooks.begin(w->hooks.context, task, &state->jobs[0]) : TA_OK;
}

/* The job that has begun is over. Jobs that came meanwhile find that it was not. */
static ta_status finish(ta_workload *w, uint32_t task, ta_status status)
{
    ta_task_state *state = &w->states[task];
    ta_job *job = &state->jobs[0];
    job->status = status;
    job->failed_step = status == TA_OK ? TA_NO_STEP : runtime_of(w)->failed_step;
    if (w->hooks.end != NULL)
        w->hooks.end(w->hooks.context, task, job);
    const ta_status timed = now_of(w, &job->end_us);
    if (status == TA_OK) {
        state->counts.done++;
        keep_longest(&state->counts.longest_response_us, job->end_us - job->due_us);
        if (job->end_us - job->due_us > w->schedule->tasks[task].deadline_us)
            state->counts.late++;
    } else
        state->counts.failed++;
    if (w->schedule->slots == NULL)
        release_all(w, job->end_us);
    state->begun = 0;
    drop(state, 0);
    return timed;
}

/* May the next step be issued? Its timeline holds one at a time, and another job may come while it is waited for. */
static int is_free(ta_runtime *rt, const ta_step *step, ta_status *status)
{
    if (step->kind == (uint32_t)TA_STEP_WAIT || step->event.timeline == TA_TIMELINE_NONE)
        return 1;
    const ta_progress *progress = &rt->progress[step->event.timeline];
    if (progress->settled == progress->issued)
        return 1;
    *status = ta_settle(rt, step->event.timeline, progress->issued, rt->timeout_us);
    return 0;
}

/* One step of the job that has the chip, or a wait before it. */
static ta_status advance(ta_workload *w, uint64_t before)
{
    ta_runtime *rt = runtime_of(w);
    const uint32_t task = w->current;
    ta_task_state *state = &w->states[task];
    ta_status status = TA_OK;
    if (state->step < rt->bundle->step_count && is_free(rt, &rt->bundle->steps[state->step], &status)) {
        status = ta_execute(rt, state->step);
        if (status != TA_OK)
            ta_blame(rt, state->step);
        state->step++;
    }
    const int over = status != TA_OK || state->step >= rt->bundle->step_count;
    if (over) {
        const ta_status ended = drain(w);
        status = status != TA_OK ? status : ended;
        give_up_chip(w);
    }
    uint64_t now = before;
    ta_status timed = over ? finish(w, task, status) : TA_OK;
    if (timed == TA_OK)
        timed = now_of(w, &now);
    keep_longest(&state->counts.longest_step_us, now - before);
    state->run_us += least(now - before);
    keep_longest(&state->counts.longest_run_us, state->run_us);
    return w->broken ? TA_ERROR_TIMEOUT : timed;
}

/* Give the chip to a task, whose job begins if it has not. 0 where that ended the job, or the turn. */
static int change_to(ta_workload *w, uint32_t task, uint64_t now, ta_status *answer)
{
    if (w->current == task)
        return 1;
    if (w->current != TA_NO_TASK) {
        const uint32_t from = w->current;
        const ta_status status = drain(w);
        give_up_chip(w);
        if (status != TA_OK) {
            *answer = finish(w, from, status);
            *answer = w->broken ? TA_ERROR_TIMEOUT : *answer;
        }
        return 0; /* look again: a more urgent job may have come meanwhile */
    }
    if (!w->states[task].begun) {
        runtime_of(w)->failed_step = TA_NO_STEP;
        const ta_status status = begin(w, task, now);
        if (status != TA_OK) {
            *answer = finish(w, task, status);
            return 0;
        }
    }
    take_chip(w, task);
    return 1;
}

/* A turn by priorities. */
static ta_status turn_by_priorities(ta_workload *w, uint64_t now, uint32_t *sleep_us)
{
    ta_status answer = TA_OK;
    release_all(w, now);
    const uint32_t task = most_urgent(w);
    if (task == TA_NO_TASK) {
        *sleep_us = sleep_of(w, now);
        return TA_OK;
    }
    return change_to(w, task, now, &answer) ? advance(w, now) : answer;
}

static void next_slot(ta_workload *w)
{
    w->slot++;
    if (w->slot == w->schedule->slot_count) {
        w->slot = 0;
        w->base_us += w->schedule->hyperperiod_us;
    }
}

/* The slot is over. */
static ta_status end_slot(ta_workload *w, const ta_slot *slot)
{
    ta_status status = TA_OK;
    if (w->current != TA_NO_TASK) {
        status = drain(w);
        give_up_chip(w);
        if (status != TA_OK)
            status = finish(w, slot->task, status);
    }
    next_slot(w);
    return w->broken ? TA_ERROR_TIMEOUT : status;
}

/* A turn by the table of times. */
static ta_status turn_by_table(ta_workload *w, uint64_t now, uint32_t *sleep_us)
{
    const ta_slot *slot = &w->schedule->slots[w->slot];
    const ta_task *task = &w->schedule->tasks[slot->task];
    ta_task_state *state = &w->states[slot->task];
    const uint64_t start = w->base_us + slot->start_us, due = w->base_us + slot->due_us;
    ta_status answer = TA_OK;
    if (now < start) {
        *sleep_us = least(start - now);
        return TA_OK;
    }
    if (w->current == TA_NO_TASK && slot->first == first_step(w->models->bundles[slot->task])) {
        release(state, task, due);
        if (now > due + task->deadline_us) { /* there is no time left for it */
            state->counts.dropped++;
            state->job_count = 0;
        }
    }
    if (state->job_count == 0u)
        next_slot(w);
    else if (change_to(w, slot->task, now, &answer)) {
        answer = advance(w, now);
        if (w->current != TA_NO_TASK && state->step >= slot->past)
            answer = end_slot(w, slot);
        else if (w->current == TA_NO_TASK)
            next_slot(w);
    } else
        next_slot(w);
    return answer;
}

/* Does the state of a task have room for its jobs? */
static int is_possible(const ta_task *task)
{
    return task->places > 0u && task->places <= TA_MOST_JOBS && task->period_us > 0u;
}

ta_status ta_workload_start(ta_workload *w, struct ta_models *models, const ta_schedule *schedule, ta_task_state *states,
                            ta_progress *progress, const ta_workload_hooks *hooks)
{
    const ta_workload_hooks none = {NULL, NULL, NULL};
    const ta_task_state empty = {0};
    if (w == NULL || models == NULL || schedule == NULL || states == NULL || progress == NULL ||
        schedule->task_count != models->count)
        return TA_ERROR_ARGUMENT;
    for (uint32_t i = 0; i < schedule->task_count; i++)
        if (!is_possible(&schedule->tasks[i]))
            return TA_ERROR_ARGUMENT;
    if (w->started || !ta_claim(&models->runtime))
        return TA_ERROR_STATE;
    ta_runtime *rt = &models->runtime;
    ta_status status = rt->port->now_us == NULL ? TA_ERROR_UNSUPPORTED : TA_OK;
    w->models = models;
    w->schedule = schedule;
    w->states = states;
    w->progress = progress;
    w->hooks = hooks != NULL ? *hooks : none;
    w->broken = w->slot = 0;
    w->current = TA_NO_TASK;
    if (status == TA_OK)
        status = now_of(w, &w->base_us);
    if (status == TA_OK)
        give_up_chip(w);
    for (uint32_t i = 0; i < schedule->task_count && status == TA_OK; i++) {
        states[i] = empty;
        states[i].next_us = w->base_us + schedule->tasks[i].offset_us;
    }
    if (status != TA_OK)
        ta_release(rt);
    w->started = status == TA_OK;
    return status;
}

ta_status ta_workload_turn(ta_workload *w, uint32_t *sleep_us)
{
    uint64_t now = 0;
    if (w == NULL || sleep_us == NULL)
        return TA_ERROR_ARGUMENT;
    *sleep_us = 0;
    if (!w->started)
        return TA_ERROR_STATE;
    if (w->broken)
        return TA_ERROR_TIMEOUT;
    const ta_status status = now_of(w, &now);
    if (status != TA_OK)
        return status;
    return w->schedule->slots == NULL ? turn_by_priorities(w, now, sleep_us) : turn_by_table(w, now, sleep_us);
}

ta_status ta_workload_request(ta_workload *w, uint32_t task)
{
    if (w == NULL)
        return TA_ERROR_ARGUMENT;
    if (!w->started)
        return TA_ERROR_STATE;
    if (task >= w->schedule->task_count || !w->schedule->tasks[task].on_demand)
        return TA_ERROR_ARGUMENT;
    ta_task_state *state = &w->states[task];
    uint64_t now = 0;
    const ta_status status = now_of(w, &now);
    if (status != TA_OK)
        return status;
    const uint32_t number = state->requested;
    if (number - load(&state->taken) >= TA_MOST_JOBS)
        return TA_ERROR_BUSY;
    state->requests[number % TA_MOST_JOBS] = now;
    store(&state->requested, number + 1u);
    return TA_OK;
}

const ta_task_counts *ta_workload_counts(const ta_workload *w, uint32_t task)
{
    if (w == NULL || w->schedule == NULL || task >= w->schedule->task_count)
        return NULL;
    return &w->states[task].counts;
}

ta_status ta_workload_stop(ta_workload *w)
{
    if (w == NULL)
        return TA_ERROR_ARGUMENT;
    if (!w->started)
        return TA_OK;
    const ta_status status = drain(w);
    give_up_chip(w);
    w->started = 0;
    if (w->broken)
        runtime_of(w)->state = 2u; /* broken */
    else
        ta_release(runtime_of(w));
    return status;
}
