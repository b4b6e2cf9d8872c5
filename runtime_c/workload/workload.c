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
    if (w->states[one].jobs[0].due_us != w->states[other].jobs[0].due_us)
        return w->states[one].jobs[0].due_us < w->states[other].jobs[0].due_us;
    return one < other;
}

/* The task with a job that goes next after that of another one, at first after TA_NO_TASK. */
static uint32_t next_after(const ta_workload *w, uint32_t task)
{
    uint32_t chosen = TA_NO_TASK;
    for (uint32_t i = 0; i < w->schedule->task_count; i++)
        if (w->states[i].job_count > 0u && (task == TA_NO_TASK || goes_before(w, task, i)) &&
            (chosen == TA_NO_TASK || goes_before(w, i, chosen)))
            chosen = i;
    return chosen;
}

/* Has the next step of a task to wait for the job of another one? */
static int has_to_wait(const ta_workload *w, uint32_t task)
{
    const uint8_t *waits = &w->schedule->waits[task * w->schedule->task_count];
    if (w->states[task].begun && w->states[task].step >= w->models->bundles[task]->step_count)
        return 0;
    for (uint32_t i = 0; i < w->schedule->task_count; i++)
        if (waits[i] && w->states[i].job_count > 0u && goes_before(w, i, task))
            return 1;
    return 0;
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

static ta_progress *progress_of(const ta_workload *w, uint32_t task, uint32_t timeline)
{
    return &w->progress[task * runtime_of(w)->soc->timeline_count + timeline];
}

/* The job does not go on. The first reason is the one to tell. */
static void fail(ta_task_state *state, ta_status status, uint32_t step)
{
    if (state->status != TA_OK)
        return;
    state->status = status;
    state->failed_step = step;
}

/* The core works for a task. */
static void turn_to(const ta_workload *w, uint32_t task)
{
    runtime_of(w)->bundle = w->models->bundles[task];
    runtime_of(w)->failed_step = TA_NO_STEP;
}

/* Whether nothing is in flight on a timeline, after `timeout_us` at most: else TA_ERROR_BUSY. What does not end within
 * the runtime's time is cancelled. How it ended is its job's. */
static ta_status settle(ta_workload *w, uint32_t timeline, uint64_t now, uint32_t timeout_us)
{
    ta_runtime *rt = runtime_of(w);
    ta_line *line = &w->lines[timeline];
    if (line->owner == TA_NO_TASK)
        return TA_OK;
    ta_progress *progress = progress_of(w, line->owner, timeline);
    turn_to(w, line->owner);
    rt->progress[timeline] = *progress;
    const ta_status status = ta_settle(rt, timeline, progress->issued, timeout_us);
    *progress = rt->progress[timeline];
    if (progress->settled != progress->issued) {
        if (status == TA_ERROR_TIMEOUT && timeout_us < rt->timeout_us && now - line->since_us < rt->timeout_us)
            return TA_ERROR_BUSY;
        (void)rt->port->cancel(rt->port, timeline);
        progress->settled = progress->issued;
        w->broken = 1;
    }
    if (status != TA_OK)
        fail(&w->states[line->owner], status, rt->failed_step);
    line->owner = TA_NO_TASK;
    return TA_OK;
}

/* See what is in flight of a task, as `settle` does: TA_ERROR_BUSY where some is. */
static ta_status settle_all(ta_workload *w, uint32_t task, uint64_t now, uint32_t timeout_us)
{
    ta_status status = TA_OK;
    for (uint32_t t = 0; t < runtime_of(w)->soc->timeline_count; t++)
        if (w->lines[t].owner == task && settle(w, t, now, timeout_us) != TA_OK)
            status = TA_ERROR_BUSY;
    return status;
}

/* Wait for all that is in flight of a task. */
static void drain(ta_workload *w, uint32_t task)
{
    (void)settle_all(w, task, 0, runtime_of(w)->timeout_us);
}

/* A timeline with something in flight, of this task if it has some; `*count` is how many have. */
static uint32_t busy_line(const ta_workload *w, uint32_t task, uint32_t *count)
{
    uint32_t chosen = 0;
    *count = 0;
    for (uint32_t t = 0; t < runtime_of(w)->soc->timeline_count; t++)
        if (w->lines[t].owner != TA_NO_TASK) {
            if (*count == 0u || w->lines[t].owner == task)
                chosen = t;
            (*count)++;
        }
    return chosen;
}

static int any_on_demand(const ta_workload *w)
{
    for (uint32_t i = 0; i < w->schedule->task_count; i++)
        if (w->schedule->tasks[i].on_demand)
            return 1;
    return 0;
}

/* Nothing can be done now: wait for what the most urgent job has in flight, until the next one is due, and no longer
 * than a slice where something else may be next. */
static void rest(ta_workload *w, uint32_t task, uint64_t now)
{
    uint32_t count, timeout_us = w->schedule->slots == NULL ? sleep_of(w, now) : TA_FOREVER;
    const uint32_t line = busy_line(w, task, &count);
    if ((count > 1u || any_on_demand(w)) && timeout_us > TA_WORKLOAD_SLICE_US)
        timeout_us = TA_WORKLOAD_SLICE_US;
    if (timeout_us > runtime_of(w)->timeout_us)
        timeout_us = runtime_of(w)->timeout_us;
    if (count > 0u)
        (void)settle(w, line, now, timeout_us);
}

/* Jobs */

static uint32_t first_step(const ta_bundle *bundle)
{
    uint32_t step = 0;
    while (step < bundle->step_count && bundle->steps[step].kind == (uint32_t)TA_STEP_LOAD)
        step++;
    return step;
}

/* The sum of the inputs that are lent for the job of a task. */
static uint32_t sum_of(const ta_workload *w, uint32_t task)
{
    return w->schedule->lending == NULL ? 0u : w->schedule->lending->sum(w->models->bundles[task]);
}

static void begin(ta_workload *w, uint32_t task, uint64_t now)
{
    ta_task_state *state = &w->states[task];
    const ta_bundle *bundle = w->models->bundles[task];
    const ta_progress fresh = {0, 0, 0, 0};
    for (uint32_t t = 0; t < runtime_of(w)->soc->timeline_count; t++)
        *progress_of(w, task, t) = fresh;
    state->begun = 1;
    state->run_us = 0;
    state->status = TA_OK;
    state->failed_step = TA_NO_STEP;
    state->step = first_step(bundle);
    state->jobs[0].start_us = now;
    if (w->hooks.begin != NULL)
        fail(state, w->hooks.begin(w->hooks.context, task, &state->jobs[0]), TA_NO_STEP);
    if (w->schedule->lending != NULL && w->schedule->lending->is_missing(bundle))
        fail(state, TA_ERROR_ARGUMENT, TA_NO_STEP);
    else
        state->sum = sum_of(w, task);
}

/* What was lent for a job is the caller's again. */
static void give_back(const ta_workload *w, uint32_t task)
{
    if (w->schedule->lending != NULL)
        w->schedule->lending->give_back(w->models->bundles[task]);
}

/* The job that has begun is over. Jobs that came meanwhile find that it was not. */
static ta_status finish(ta_workload *w, uint32_t task)
{
    ta_task_state *state = &w->states[task];
    ta_job *job = &state->jobs[0];
    if (state->status == TA_OK && state->sum != sum_of(w, task))
        fail(state, TA_ERROR_CORRUPT, TA_NO_STEP);
    job->status = state->status;
    job->failed_step = state->failed_step;
    if (w->hooks.end != NULL)
        w->hooks.end(w->hooks.context, task, job);
    give_back(w, task);
    const ta_status timed = now_of(w, &job->end_us);
    if (job->status == TA_OK) {
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

/* Issue a step whose timeline is idle, or wait for one that is over. */
static void execute(ta_workload *w, uint32_t task, const ta_step *step, uint64_t now)
{
    ta_runtime *rt = runtime_of(w);
    ta_task_state *state = &w->states[task];
    const uint32_t timeline = step->event.timeline;
    const int issued = timeline != TA_TIMELINE_NONE && step->kind != (uint32_t)TA_STEP_WAIT;
    turn_to(w, task);
    if (issued) {
        ta_progress *progress = progress_of(w, task, timeline);
        progress->base = w->lines[timeline].count - progress->issued;
        rt->progress[timeline] = *progress;
    }
    const ta_status status = step->kind == (uint32_t)TA_STEP_WAIT ? TA_OK : ta_execute(rt, state->step);
    if (status != TA_OK)
        fail(state, status, state->step);
    else if (issued) {
        ta_line *line = &w->lines[timeline];
        *progress_of(w, task, timeline) = rt->progress[timeline];
        line->count++;
        line->owner = task;
        line->since_us = now;
    }
    state->step++;
}

/* Is nothing of a task in flight? */
static int is_idle(const ta_workload *w, uint32_t task)
{
    for (uint32_t t = 0; t < runtime_of(w)->soc->timeline_count; t++)
        if (w->lines[t].owner == task)
            return 0;
    return 1;
}

/* What is next of the job of a task that has begun: a step, and the end with the last one where nothing is in flight
 * then, as a more urgent job could come between. TA_ERROR_BUSY: not yet. */
static ta_status go_on(ta_workload *w, uint32_t task, uint64_t now)
{
    ta_task_state *state = &w->states[task];
    const ta_bundle *bundle = w->models->bundles[task];
    if (state->status != TA_OK)
        drain(w, task);
    else if (state->step < bundle->step_count) {
        const ta_step *step = &bundle->steps[state->step];
        const uint32_t timeline = step->event.timeline;
        const int waits = step->kind == (uint32_t)TA_STEP_WAIT;
        const int is_there = waits && progress_of(w, task, timeline)->settled >= step->event.value;
        if (timeline != TA_TIMELINE_NONE && !is_there && settle(w, timeline, now, 0) != TA_OK)
            return TA_ERROR_BUSY;
        if (state->status == TA_OK)
            execute(w, task, step, now);
        if (state->status != TA_OK || state->step < bundle->step_count || !is_idle(w, task))
            return TA_OK;
    } else if (settle_all(w, task, now, 0) != TA_OK)
        return TA_ERROR_BUSY;
    else if (state->status != TA_OK)
        return TA_OK; /* what was in flight failed */
    return finish(w, task);
}

/* Of what the turn took, the part of a task. */
static ta_status account(ta_workload *w, uint32_t task, uint64_t before, int is_step)
{
    ta_task_state *state = &w->states[task];
    uint64_t now = before;
    const ta_status timed = now_of(w, &now);
    if (is_step)
        keep_longest(&state->counts.longest_step_us, now - before);
    state->run_us += least(now - before);
    keep_longest(&state->counts.longest_run_us, state->run_us);
    return timed;
}

/* A turn by priorities. */
static ta_status turn_by_priorities(ta_workload *w, uint64_t now, uint32_t *sleep_us)
{
    release_all(w, now);
    const uint32_t first = next_after(w, TA_NO_TASK);
    if (first == TA_NO_TASK) {
        *sleep_us = sleep_of(w, now);
        return TA_OK;
    }
    for (uint32_t task = first; task != TA_NO_TASK; task = next_after(w, task)) {
        if (has_to_wait(w, task))
            continue;
        if (!w->states[task].begun)
            begin(w, task, now);
        const ta_status status = go_on(w, task, now);
        if (status != TA_ERROR_BUSY)
            return status != TA_OK ? status : account(w, task, now, 1);
    }
    rest(w, first, now);
    return account(w, first, now, 0);
}

static ta_status next_slot(ta_workload *w)
{
    w->entered = 0;
    w->slot++;
    if (w->slot == w->schedule->slot_count) {
        w->slot = 0;
        w->base_us += w->schedule->hyperperiod_us;
    }
    return TA_OK;
}

/* What is next in a slot whose job is there. */
static ta_status go_on_in_slot(ta_workload *w, const ta_slot *slot, uint64_t now)
{
    ta_task_state *state = &w->states[slot->task];
    const uint32_t end = w->models->bundles[slot->task]->step_count;
    if (state->status == TA_OK && state->step >= slot->past && state->step < end) {
        drain(w, slot->task);
        return state->status == TA_OK ? next_slot(w) : TA_OK;
    }
    const ta_status status = go_on(w, slot->task, now);
    if (status == TA_ERROR_BUSY)
        rest(w, slot->task, now);
    else if (status != TA_OK)
        return status;
    return account(w, slot->task, now, status == TA_OK);
}

/* A turn by the table of times. */
static ta_status turn_by_table(ta_workload *w, uint64_t now, uint32_t *sleep_us)
{
    const ta_slot *slot = &w->schedule->slots[w->slot];
    const ta_task *task = &w->schedule->tasks[slot->task];
    ta_task_state *state = &w->states[slot->task];
    const uint64_t start = w->base_us + slot->start_us, due = w->base_us + slot->due_us;
    if (now < start) {
        *sleep_us = least(start - now);
        return TA_OK;
    }
    if (slot->first == first_step(w->models->bundles[slot->task]) && !w->entered) {
        w->entered = 1;
        release(state, task, due);
        if (now > due + task->deadline_us) { /* there is no time left for it */
            state->counts.dropped++;
            state->job_count = 0;
        } else
            begin(w, slot->task, now);
    }
    return state->job_count == 0u ? next_slot(w) : go_on_in_slot(w, slot, now);
}

/* Does the state of a task have room for its jobs? */
static int is_possible(const ta_task *task)
{
    return task->places > 0u && task->places <= TA_MOST_JOBS && task->period_us > 0u;
}

ta_status ta_workload_start(ta_workload *w, struct ta_models *models, const ta_schedule *schedule, ta_task_state *states,
                            ta_line *lines, ta_progress *progress, const ta_workload_hooks *hooks)
{
    const ta_workload_hooks none = {NULL, NULL, NULL};
    const ta_task_state empty = {0};
    if (w == NULL || models == NULL || schedule == NULL || states == NULL || lines == NULL || progress == NULL ||
        schedule->task_count != models->count || (schedule->slots == NULL) == (schedule->waits == NULL))
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
    w->lines = lines;
    w->progress = progress;
    w->hooks = hooks != NULL ? *hooks : none;
    w->broken = w->slot = w->entered = 0;
    if (status == TA_OK)
        status = now_of(w, &w->base_us);
    for (uint32_t t = 0; t < rt->soc->timeline_count; t++) {
        const ta_line idle = {rt->progress[t].base + rt->progress[t].issued, TA_NO_TASK, 0};
        lines[t] = idle;
    }
    for (uint32_t i = 0; i < schedule->task_count && status == TA_OK; i++) {
        states[i] = empty;
        states[i].next_us = w->base_us + schedule->tasks[i].offset_us;
    }
    if (status != TA_OK)
        ta_release(rt);
    w->started = status == TA_OK;
    return status;
}

/* Something was cancelled: the jobs that failed with it are over. */
static ta_status give_up(ta_workload *w)
{
    for (uint32_t i = 0; i < w->schedule->task_count; i++)
        if (w->states[i].begun && w->states[i].status != TA_OK) {
            drain(w, i);
            (void)finish(w, i);
        }
    return TA_ERROR_TIMEOUT;
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
    ta_status status = now_of(w, &now);
    if (status == TA_OK)
        status = w->schedule->slots == NULL ? turn_by_priorities(w, now, sleep_us) : turn_by_table(w, now, sleep_us);
    return w->broken ? give_up(w) : status;
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
    ta_runtime *rt = runtime_of(w);
    ta_status status = TA_OK;
    for (uint32_t i = 0; i < w->schedule->task_count; i++) {
        drain(w, i);
        if (status == TA_OK && w->states[i].begun)
            status = w->states[i].status;
        give_back(w, i);
    }
    for (uint32_t t = 0; t < rt->soc->timeline_count; t++) {
        const ta_progress fresh = {w->lines[t].count, 0, 0, 0};
        rt->progress[t] = fresh;
    }
    w->started = 0;
    if (w->broken)
        rt->state = TA_STATE_BROKEN;
    else
        ta_release(rt);
    return status;
}
