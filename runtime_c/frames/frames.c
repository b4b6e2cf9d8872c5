/* Rounds of steps, one after the other; which frame each step works for, and what becomes of it. Single steps are the
 * core's: it is shown a timeline on which nothing is in flight to issue one, and one step in flight to settle it.
 */
#include "target_arch/frames.h"

#include "core/internal.h"

/* What is at the door of the calls: somebody is inside; else what a call would be refused for, so that it need not come
 * in. Coming in has to wait until all that was written before is seen by other cores.
 */
#define INSIDE 1u
#define FULL 2u      /* a frame waits to be started */
#define NONE_OVER 4u /* frames are in flight, and none of them is over */

static uint32_t look_at(const uint32_t *place)
{
#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_4
    return __atomic_load_n(place, __ATOMIC_ACQUIRE);
#else
    return *place;
#endif
}

static void put(uint32_t *place, uint32_t value)
{
#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_4
    __atomic_store_n(place, value, __ATOMIC_RELEASE);
#else
    *place = value;
#endif
}

static void copy_bytes(uint8_t *target, const uint8_t *source, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        target[i] = source[i];
}

static uint32_t index_of(const ta_frames *f, const ta_round_place *place)
{
    return place->round * f->pipeline->round_steps + place->step;
}

static const ta_step *step_of(const ta_frames *f, const ta_round_place *place)
{
    return &f->pipeline->bundle->steps[index_of(f, place)];
}

/* How many rounds before this one was the frame started that the step works for? */
static uint32_t stage_of(const ta_frames *f, const ta_round_place *place)
{
    const ta_pipeline *p = f->pipeline;
    return p->stages[place->kind * p->round_steps + place->step];
}

static ta_frame_slot *slot_of(ta_frames *f, uint32_t turn)
{
    return &f->slots[turn % TA_MOST_FRAMES];
}

static ta_frame_slot *slot_for(ta_frames *f, const ta_round_place *place)
{
    return slot_of(f, place->turn - stage_of(f, place));
}

/* Is there nothing to do in this step, as its frame is absent or has failed before? */
static int is_skipped(ta_frames *f, const ta_round_place *place)
{
    const uint32_t turn = place->turn - stage_of(f, place);
    const ta_frame_slot *slot = slot_of(f, turn);
    if (!slot->there || slot->turn != turn)
        return 1;
    if (!slot->stopped)
        return 0;
    const int32_t rounds = (int32_t)(place->turn - slot->stopped_turn);
    return rounds > 0 || (rounds == 0 && place->step >= slot->stopped_step);
}

/* The frame does not go on. The first reason is the one to tell. */
static void end_frame(ta_frames *f, ta_frame_slot *slot, ta_status status, uint32_t failed_step)
{
    if (!slot->there || slot->over || slot->stopped)
        return;
    slot->frame.status = status;
    slot->frame.failed_step = failed_step;
    slot->stopped = 1;
    slot->stopped_turn = f->at.turn;
    slot->stopped_step = f->at.step;
}

/* A frame failed: with states, so did all that came after it. */
static void fail_later(ta_frames *f, const ta_frame_slot *slot)
{
    if (!f->pipeline->has_states)
        return;
    f->lost = 1;
    for (uint32_t i = 0; i < TA_MOST_FRAMES; i++)
        if ((int32_t)(f->slots[i].turn - slot->turn) > 0)
            end_frame(f, &f->slots[i], TA_ERROR_STATE, TA_NO_STEP);
}

/* A step failed, and its frame ends. */
static void fail_frame(ta_frames *f, const ta_round_place *place, ta_status status)
{
    ta_frame_slot *slot = slot_for(f, place);
    end_frame(f, slot, status, index_of(f, place));
    fail_later(f, slot);
}

/* The number behind this one, of so many that come again. */
static uint32_t after(uint32_t number, uint32_t count)
{
    return number + 1u == count ? 0u : number + 1u;
}

static void next_round(const ta_frames *f, ta_round_place *place)
{
    place->turn++;
    place->round = after(place->round, f->pipeline->rounds);
    place->kind = after(place->kind, f->pipeline->kinds);
}

static void next_step(const ta_frames *f, ta_round_place *place)
{
    place->step = after(place->step, f->pipeline->round_steps);
    if (place->step == 0u)
        next_round(f, place);
}

/* The instance of an asynchronous step that is no copy; else NULL. */
static const ta_instance_info *instance_of(const ta_frames *f, uint32_t timeline)
{
    return timeline == TA_TIMELINE_NONE ? NULL : ta_timeline_instance(f->runtime->soc, timeline);
}

/* Does what executes these steps take one command after the other? */
static int has_driver(const ta_frames *f, uint32_t timeline)
{
    const ta_instance_info *instance = instance_of(f, timeline);
    return instance != NULL && instance->driver != NULL;
}

/* Are these steps calls of C functions on another core? */
static int is_core(const ta_frames *f, uint32_t timeline)
{
    const ta_instance_info *instance = instance_of(f, timeline);
    return instance != NULL && instance->driver == NULL;
}

/* The next step of the timeline from this place on; there is one. */
static void find_step(const ta_frames *f, ta_round_place *place, uint32_t timeline)
{
    const ta_step *step = step_of(f, place);
    while (step->event.timeline != timeline || step->kind == (uint32_t)TA_STEP_WAIT) {
        next_step(f, place);
        step = step_of(f, place);
    }
}

/* The step that the lane settles next; there is one. Whole round trips of the table lead to the same place. */
static const ta_round_place *find_next(const ta_frames *f, ta_lane *lane, uint32_t timeline)
{
    if (lane->behind >= lane->in_table) {
        lane->next.turn += lane->behind / lane->in_table * f->pipeline->rounds;
        lane->behind %= lane->in_table;
    }
    find_step(f, &lane->next, timeline);
    while (lane->behind > 0u) {
        next_step(f, &lane->next);
        find_step(f, &lane->next, timeline);
        lane->behind--;
    }
    return &lane->next;
}

/* Settle one step. TA_ERROR_BUSY: not complete yet. Its failure is its frame's; TA_ERROR_TIMEOUT is everybody's. */
static ta_status settle_next(ta_frames *f, uint32_t timeline, uint32_t timeout_us)
{
    ta_runtime *rt = f->runtime;
    ta_lane *lane = &f->lanes[timeline];
    const ta_round_place *place = find_next(f, lane, timeline);
    ta_status status = TA_OK;
    if (!is_skipped(f, place)) {
        const ta_progress one = {lane->base + lane->completed, 1, 0, index_of(f, place)};
        rt->progress[timeline] = one;
        rt->failed_step = TA_NO_STEP;
        status = ta_settle(rt, timeline, 1, timeout_us);
        if (rt->progress[timeline].settled == 0u) {
            f->stuck = *place;
            return status == TA_ERROR_TIMEOUT && timeout_us == 0u ? TA_ERROR_BUSY : TA_ERROR_TIMEOUT;
        }
        lane->completed++;
        if (status != TA_OK)
            fail_frame(f, place, status);
    }
    lane->settled++;
    next_step(f, &lane->next);
    return TA_OK;
}

/* Settle so many calls on a core at once, if the port says that all went well and none was skipped: then nothing is
 * left to do for any of them. */
static int settle_calls(ta_frames *f, uint32_t timeline, uint32_t count)
{
    const ta_port *port = f->runtime->port;
    ta_lane *lane = &f->lanes[timeline];
    if (port->succeeded == NULL || !is_core(f, timeline))
        return 0;
    if (lane->submitted - lane->completed != lane->passed - lane->settled)
        return 0;
    if (port->succeeded(port, timeline, lane->base + lane->completed + count) != TA_OK)
        return 0;
    lane->completed += count;
    lane->settled += count;
    lane->behind += count;
    return 1;
}

static ta_status settle(ta_frames *f, uint32_t timeline, uint32_t value, uint32_t timeout_us)
{
    const ta_lane *lane = &f->lanes[timeline];
    ta_status status = TA_OK;
    while (status == TA_OK && (int32_t)(value - lane->settled) > 0)
        if (!settle_calls(f, timeline, value - lane->settled))
            status = settle_next(f, timeline, timeout_us);
    return status;
}

/* How many steps of the timeline are complete when the latest one with this value is. */
static uint32_t target_of(const ta_lane *lane, uint32_t value)
{
    const uint32_t trip = lane->passed - lane->in_trip;
    return value <= lane->in_trip ? trip + value : trip - lane->in_table + value;
}

/* Issue a step whose device has no other command. Its own failure is its frame's; else as `settle_next`. */
static ta_status issue(ta_frames *f, const ta_step *step, uint32_t timeout_us)
{
    ta_runtime *rt = f->runtime;
    const uint32_t timeline = step->event.timeline, index = index_of(f, &f->at);
    ta_lane *lane = timeline == TA_TIMELINE_NONE ? NULL : &f->lanes[timeline];
    for (;;) {
        if (is_skipped(f, &f->at))
            return TA_OK;
        if (lane != NULL) {
            const ta_progress none = {lane->base + lane->submitted, 0, 0, index};
            rt->progress[timeline] = none;
        }
        rt->failed_step = TA_NO_STEP;
        ta_status status = ta_execute(rt, index);
        if (status == TA_OK && lane != NULL)
            lane->submitted++;
        if (status == TA_ERROR_BUSY && lane != NULL && lane->completed != lane->submitted) {
            status = settle_next(f, timeline, timeout_us); /* the queue is full */
            if (status != TA_OK)
                return status;
            continue;
        }
        if (status != TA_OK)
            fail_frame(f, &f->at, status == TA_ERROR_BUSY ? TA_ERROR_DEVICE : status);
        return TA_OK;
    }
}

/* So many steps of the timeline were issued or skipped. */
static void pass(ta_frames *f, uint32_t timeline, uint32_t count)
{
    if (timeline == TA_TIMELINE_NONE)
        return;
    f->lanes[timeline].passed += count;
    f->lanes[timeline].in_trip += count;
}

/* May a round begin? Not while the outputs are there that its steps may overwrite, and not for nothing. */
static int may_begin(const ta_frames *f)
{
    const uint32_t oldest = f->turns[f->returned % TA_MOST_FRAMES];
    const uint32_t count = f->submitted - f->returned;
    if (count > f->waiting && (int32_t)(f->at.turn - oldest) > (int32_t)f->pipeline->stage_count)
        return 0;
    return f->waiting || f->flying != 0u;
}

static void begin_round(ta_frames *f)
{
    const ta_frame_slot absent = {{0, TA_OK, TA_NO_STEP}, f->at.turn, f->at.round, 0, 1, 0, 0, 0, 0};
    ta_frame_slot *slot = slot_of(f, f->at.turn);
    *slot = absent;
    f->begun = 1;
    if (f->at.round == 0u)
        for (uint32_t t = 0; t < f->runtime->soc->timeline_count; t++)
            f->lanes[t].in_trip = 0;
    if (!f->waiting)
        return;
    f->waiting = 0;
    slot->frame.number = f->submitted - 1u;
    slot->there = 1;
    slot->over = 0;
    f->flying++;
    slot->sum = f->sum;
    f->turns[slot->frame.number % TA_MOST_FRAMES] = f->at.turn;
    if (f->lost)
        end_frame(f, slot, TA_ERROR_STATE, TA_NO_STEP);
}

/* The runtime is as ta_run leaves it. */
static void rest(ta_frames *f)
{
    ta_runtime *rt = f->runtime;
    for (uint32_t t = 0; t < rt->soc->timeline_count; t++) {
        const ta_progress fresh = {f->lanes[t].base + f->lanes[t].submitted, 0, 0, 0};
        rt->progress[t] = fresh;
    }
    rt->bundle = f->run;
    f->active = 0;
    f->since_us = 0;
    ta_release(rt);
}

static ta_status wake(ta_frames *f)
{
    ta_runtime *rt = f->runtime;
    if (f->active)
        return rt->state == TA_STATE_RUNNING ? TA_OK : TA_ERROR_STATE;
    if (!ta_claim(rt))
        return TA_ERROR_STATE;
    for (uint32_t t = 0; t < rt->soc->timeline_count; t++) {
        ta_lane *lane = &f->lanes[t];
        lane->base = rt->progress[t].base + rt->progress[t].issued;
        lane->submitted = 0;
        lane->completed = 0;
    }
    f->run = rt->bundle;
    rt->bundle = f->pipeline->bundle;
    f->active = 1;
    return TA_OK;
}

/* Settle or cancel what is in flight, and end all frames. */
static void end_all(ta_frames *f, uint32_t timeout_us)
{
    ta_runtime *rt = f->runtime;
    for (uint32_t t = 0; t < rt->soc->timeline_count; t++) {
        ta_lane *lane = &f->lanes[t];
        while (lane->completed != lane->submitted && settle_next(f, t, timeout_us) == TA_OK)
            continue;
        if (lane->completed == lane->submitted)
            continue;
        (void)rt->port->cancel(rt->port, t);
        f->broken = 1;
    }
    if (f->waiting) {
        if (f->begun)
            next_round(f, &f->at); /* the current one has a frame of its own */
        begin_round(f);
    }
    for (uint32_t i = 0; i < TA_MOST_FRAMES; i++) {
        end_frame(f, &f->slots[i], TA_ERROR_STATE, TA_NO_STEP);
        f->slots[i].over = 1;
    }
    f->flying = 0;
    rest(f);
    if (f->broken)
        rt->state = TA_STATE_BROKEN;
}

/* Something in flight does not end: nobody's results are of use. */
static ta_status give_up(ta_frames *f)
{
    const uint32_t index = index_of(f, &f->stuck);
    end_frame(f, slot_for(f, &f->stuck), TA_ERROR_TIMEOUT, index);
    f->broken = 1;
    end_all(f, 0);
    f->runtime->failed_step = index;
    return TA_ERROR_TIMEOUT;
}

/* Microseconds, never 0; 0 on a port without a clock. */
static uint64_t now(const ta_port *port)
{
    uint64_t time = 0;
    return port->now_us == NULL || port->now_us(port, &time) != TA_OK ? 0u : time + 1u;
}

/* Has what is waited for taken too long? */
static int is_late(ta_frames *f)
{
    const uint64_t time = now(f->runtime->port);
    if (f->since_us == 0u)
        f->since_us = time;
    return time - f->since_us > f->runtime->timeout_us;
}

/* The steps from the first one to this one were done. Is another frame over with them? */
static int finish_steps(ta_frames *f, uint32_t first)
{
    int over = 0;
    if (first <= f->pipeline->done && f->pipeline->done <= f->at.step) {
        const uint32_t turn = f->at.turn - (f->pipeline->stage_count - 1u);
        ta_frame_slot *slot = slot_of(f, turn);
        over = slot->there && slot->turn == turn && !slot->over;
        slot->over |= (uint32_t)over;
        f->flying -= (uint32_t)over;
    }
    f->since_us = 0;
    next_step(f, &f->at);
    if (f->at.step == 0u)
        f->begun = 0;
    return over;
}

/* Is the step so many behind this call the next but so many call on the same core? */
static int goes_on(const ta_step *first, uint32_t count)
{
    const ta_step *step = &first[count];
    const int is_call = step->kind == (uint32_t)TA_STEP_DISPATCH && step->event.timeline == first->event.timeline;
    return is_call && step->index == first->index + count;
}

/* How many calls on this core come one behind the other from here on, in the table of calls, too, for one frame that
 * goes on? */
static uint32_t calls_from_here(ta_frames *f, const ta_step *first)
{
    const ta_pipeline *p = f->pipeline;
    const uint8_t *stages = &p->stages[f->at.kind * p->round_steps + f->at.step];
    const uint32_t most = p->round_steps - f->at.step;
    uint32_t count = 0;
    if (is_skipped(f, &f->at))
        return 0;
    while (count < most && stages[count] == stages[0] && goes_on(first, count))
        count++;
    return count;
}

/* Call so many functions of the host, one after the other, and go on to the last of them, or to the one that fails: then
 * its frame ends.
 */
static int call_all(ta_frames *f, const ta_dispatch *calls, uint32_t count)
{
    const ta_port *port = f->runtime->port;
    const ta_dispatch *const last = &calls[count - 1u];
    ta_status status = port->dispatch(port, calls);
    while (status == TA_OK && calls != last) {
        calls++;
        f->at.step++;
        status = port->dispatch(port, calls);
    }
    if (status != TA_OK)
        fail_frame(f, &f->at, status == TA_ERROR_BUSY ? TA_ERROR_DEVICE : status);
    return 1;
}

/* Hand so many calls over to a core at once, and go on to the last of them. 0 where it takes them one by one. */
static int hand_over(ta_frames *f, uint32_t timeline, const ta_dispatch *calls, uint32_t count)
{
    const ta_port *port = f->runtime->port;
    if (port->dispatch_all == NULL || port->dispatch_all(port, calls, count) != TA_OK)
        return 0;
    f->lanes[timeline].submitted += count;
    pass(f, timeline, count - 1u);
    f->at.step += count - 1u;
    return 1;
}

/* Issue several calls at once, of the host or of another core, and go on to the last of them. 0 where there is one. */
static int issue_calls(ta_frames *f, const ta_step *step)
{
    const uint32_t timeline = step->event.timeline;
    const int is_own = timeline == TA_TIMELINE_NONE;
    if (step->kind != (uint32_t)TA_STEP_DISPATCH || !(is_own || is_core(f, timeline)))
        return 0;
    const ta_dispatch *calls = &f->pipeline->bundle->dispatches[step->index];
    const uint32_t count = calls_from_here(f, step);
    if (count < 2u)
        return 0;
    return is_own ? call_all(f, calls, count) : hand_over(f, timeline, calls, count);
}

/* Go on to the end of a step, or of several. TA_ERROR_BUSY: not yet. TA_ERROR_TIMEOUT: it never will. */
static ta_status advance(ta_frames *f, uint32_t timeout_us)
{
    const ta_step *step = step_of(f, &f->at);
    const uint32_t timeline = step->event.timeline;
    ta_status status = TA_OK;
    if (step->kind == (uint32_t)TA_STEP_WAIT)
        return settle(f, timeline, target_of(&f->lanes[timeline], step->event.value), timeout_us);
    if (!issue_calls(f, step)) {
        if (has_driver(f, timeline) && !is_skipped(f, &f->at))
            status = settle(f, timeline, f->lanes[timeline].passed, timeout_us);
        if (status == TA_OK)
            status = issue(f, step, timeout_us);
    }
    if (status == TA_OK)
        pass(f, timeline, 1);
    return status;
}

/* Go on until a frame is over, or nothing can be done without waiting longer, or a round is over and the next one
 * would start no frame: the caller may have one. */
static ta_status go_on(ta_frames *f, uint32_t timeout_us)
{
    int moved = 0;
    while (f->active) {
        if (f->at.step == 0u && !f->begun) {
            if (!may_begin(f)) {
                if (!f->waiting && f->flying == 0u)
                    rest(f);
                return TA_OK;
            }
            if (moved && !f->waiting)
                return TA_OK;
            begin_round(f);
        }
        const uint32_t first = f->at.step;
        const ta_status status = advance(f, timeout_us);
        if (status == TA_ERROR_TIMEOUT || (status == TA_ERROR_BUSY && is_late(f)))
            return give_up(f);
        if (status != TA_OK)
            return status;
        moved = 1;
        if (finish_steps(f, first) && (f->waiting || f->flying != 0u))
            return TA_OK; /* else the round ends, for nobody */
    }
    return TA_OK;
}

static int is_over(ta_frames *f)
{
    const uint32_t count = f->submitted - f->returned;
    return count > f->waiting && slot_of(f, f->turns[f->returned % TA_MOST_FRAMES])->over != 0u;
}

/* Come in, unless somebody is inside, or this is at the door. */
static ta_status enter(ta_frames *f, uint32_t busy)
{
    if (f == NULL || f->pipeline == NULL)
        return TA_ERROR_STATE;
    uint32_t found = look_at(&f->door);
    if ((found & INSIDE) != 0u)
        return TA_ERROR_STATE;
    if ((found & busy) != 0u)
        return TA_ERROR_BUSY;
#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_4
    if (!__atomic_compare_exchange_n(&f->door, &found, INSIDE, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return TA_ERROR_STATE;
#else
    f->door = INSIDE;
#endif
    return TA_OK;
}

static ta_status leave(ta_frames *f, ta_status status)
{
    uint32_t door = 0;
    if (f->waiting && !f->lost && !f->broken)
        door |= FULL;
    if (f->pipeline != NULL && f->submitted != f->returned && !is_over(f))
        door |= NONE_OVER;
    put(&f->door, door);
    return status;
}

/* Is the step in order, by itself and in its table? `in_table` counts the steps of its timeline so far. */
static int suits(const ta_pipeline *p, const ta_runtime *rt, uint32_t index, uint32_t *in_table)
{
    const uint32_t step = index % (p->kinds * p->round_steps);
    const ta_step *like = &p->bundle->steps[step];
    ta_step one = p->bundle->steps[index];
    ta_bundle view = *p->bundle;
    uint32_t bad_step = 0;
    if (one.kind != like->kind || one.event.timeline != like->event.timeline || one.kind == (uint32_t)TA_STEP_LOAD ||
        one.kind == (uint32_t)TA_STEP_FILL)
        return 0;
    if (p->stages[step] >= p->stage_count)
        return 0;
    if (one.event.timeline != TA_TIMELINE_NONE && one.event.timeline >= rt->soc->timeline_count)
        return 0;
    if (one.kind == (uint32_t)TA_STEP_WAIT)
        return one.event.timeline != TA_TIMELINE_NONE && one.event.value != 0u;
    if (one.event.timeline != TA_TIMELINE_NONE) {
        if (one.event.value != ++in_table[one.event.timeline])
            return 0;
        one.event.value = 1;
    }
    view.steps = &one;
    view.step_count = 1;
    return ta_validate(&view, rt->soc, rt->port, &bad_step) == TA_OK;
}

static int all_suit(ta_frames *f, const ta_pipeline *p, const ta_runtime *rt)
{
    const ta_bundle *bundle = p->bundle;
    const uint32_t count = p->rounds * p->round_steps;
    uint32_t in_table[TA_MAX_TIMELINES] = {0};
    if (bundle == NULL || p->stages == NULL || count == 0u || bundle->step_count != count || bundle->steps == NULL)
        return 0;
    if (p->stage_count == 0u || p->stage_count + 2u > TA_MOST_FRAMES || p->done >= p->round_steps)
        return 0;
    if (p->kinds == 0u || p->rounds % p->kinds != 0u)
        return 0;
    if (bundle->arenas != rt->bundle->arenas || bundle->arena_count != rt->bundle->arena_count)
        return 0;
    if (bundle->input_count != p->rounds * rt->bundle->input_count ||
        bundle->output_count != p->rounds * rt->bundle->output_count)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        if (!suits(p, rt, i, in_table))
            return 0;
    for (uint32_t i = 0; i < count; i++)
        if (bundle->steps[i].kind == (uint32_t)TA_STEP_WAIT &&
            bundle->steps[i].event.value > in_table[bundle->steps[i].event.timeline])
            return 0;
    for (uint32_t t = 0; t < rt->soc->timeline_count; t++)
        f->lanes[t].in_table = in_table[t];
    return 1;
}

ta_status ta_frames_init(ta_frames *f, const ta_pipeline *pipeline, ta_runtime *runtime)
{
    if (f == NULL || pipeline == NULL || runtime == NULL)
        return TA_ERROR_ARGUMENT;
    if (runtime->state != TA_STATE_READY || f->active)
        return TA_ERROR_STATE;
    const ta_round_place start = {0, 0, 0, 0};
    const ta_lane fresh = {0, 0, 0, 0, 0, 0, 0, {0, 0, 0, 0}, 0};
    const ta_frame_slot absent = {{0, TA_OK, TA_NO_STEP}, 0, 0, 0, 1, 0, 0, 0, 0};
    for (uint32_t i = 0; i < TA_MOST_FRAMES; i++)
        f->slots[i] = absent;
    for (uint32_t t = 0; t < TA_MAX_TIMELINES; t++)
        f->lanes[t] = fresh;
    f->pipeline = NULL;
    if (!all_suit(f, pipeline, runtime))
        return TA_ERROR_ARGUMENT;
    f->runtime = runtime;
    f->door = f->lost = f->broken = f->waiting = f->refused = f->sum = 0;
    f->submitted = f->returned = f->begun = f->flying = 0;
    f->at = f->stuck = start;
    f->inputs = runtime->bundle->input_count;
    f->outputs = runtime->bundle->output_count;
    f->since_us = 0;
    f->pipeline = pipeline;
    return TA_OK;
}

/* The bundle with the inputs and outputs of the frame that is started in a round. */
static ta_bundle bundle_of(const ta_frames *f, uint32_t round)
{
    ta_bundle view = *f->pipeline->bundle;
    view.input_count = f->inputs;
    view.output_count = f->outputs;
    view.inputs = &view.inputs[round * f->inputs];
    view.outputs = &view.outputs[round * f->outputs];
    return view;
}

static void take_inputs(const ta_frames *f, uint32_t round, const void *const *inputs)
{
    const ta_bundle *bundle = f->pipeline->bundle;
    const ta_tensor *to = &bundle->inputs[round * f->inputs];
    for (uint32_t i = 0; i < f->inputs; i++)
        copy_bytes(ta_pointer(bundle, to[i].where), inputs[i], to[i].bytes);
}

static void give_outputs(const ta_frames *f, uint32_t round, void *const *outputs)
{
    const ta_bundle *bundle = f->pipeline->bundle;
    const ta_tensor *from = &bundle->outputs[round * f->outputs];
    for (uint32_t i = 0; i < f->outputs; i++)
        if (outputs != NULL && outputs[i] != NULL)
            copy_bytes(outputs[i], ta_pointer(bundle, from[i].where), from[i].bytes);
}

/* What was lent for the frame is the caller's again. */
static void give_back(ta_frames *f, ta_frame_slot *slot)
{
    const ta_lending *lending = f->pipeline->lending;
    const ta_bundle bundle = bundle_of(f, slot->round);
    if (slot->frame.status == TA_OK && slot->sum != lending->sum(&bundle)) {
        slot->frame.status = TA_ERROR_CORRUPT;
        fail_later(f, slot);
    }
    lending->give_back(&bundle);
}

static int all_given(const ta_frames *f, const void *const *inputs)
{
    for (uint32_t i = 0; i < f->inputs; i++)
        if (inputs == NULL || inputs[i] == NULL)
            return 0;
    return 1;
}

/* Claim the runtime for a frame whose inputs and outputs are lent. */
static ta_status take_lent(ta_frames *f, uint32_t round, const void *const *starts)
{
    const ta_lending *lending = f->pipeline->lending;
    const ta_bundle bundle = bundle_of(f, round);
    ta_status status = lending->lend(&bundle, f->runtime->soc, starts);
    if (status != TA_OK)
        return status;
    status = wake(f);
    if (status == TA_OK)
        f->sum = lending->sum(&bundle);
    else
        lending->give_back(&bundle);
    return status;
}

/* The same for a frame whose inputs are copied. */
static ta_status take_copies(ta_frames *f, uint32_t round, const void *const *inputs)
{
    const ta_status status = wake(f);
    if (status == TA_OK)
        take_inputs(f, round, inputs);
    return status;
}

static ta_status submit(ta_frames *f, const void *const *inputs, uint32_t *number)
{
    if (!all_given(f, inputs))
        return TA_ERROR_ARGUMENT;
    if (f->lost || f->broken)
        return TA_ERROR_STATE;
    put(&f->refused, 0);
    /* the frame goes into the buffers of the round that starts it: the next one */
    const uint32_t round = f->begun ? after(f->at.round, f->pipeline->rounds) : f->at.round;
    const int lends = f->pipeline->lending != NULL;
    const ta_status status = lends ? take_lent(f, round, inputs) : take_copies(f, round, inputs);
    if (status != TA_OK)
        return status;
    if (number != NULL)
        *number = f->submitted;
    f->submitted++;
    f->waiting = 1;
    return TA_OK;
}

ta_status ta_frames_submit(ta_frames *f, const void *const *inputs, uint32_t *number)
{
    const ta_status status = enter(f, FULL);
    if (status == TA_ERROR_BUSY)
        put(&f->refused, 1);
    return status == TA_OK ? leave(f, submit(f, inputs, number)) : status;
}

ta_status ta_frames_poll(ta_frames *f)
{
    const ta_status status = enter(f, 0);
    return status == TA_OK ? leave(f, go_on(f, 0)) : status;
}

static ta_status wait_for(ta_frames *f)
{
    if (f->submitted == f->returned)
        return TA_ERROR_STATE;
    const uint32_t refused = look_at(&f->refused);
    ta_status status = TA_OK;
    put(&f->refused, 0);
    while (status == TA_OK && !is_over(f) && !(refused && !f->waiting))
        status = go_on(f, f->runtime->timeout_us);
    return status;
}

ta_status ta_frames_wait(ta_frames *f)
{
    const ta_status status = enter(f, 0);
    return status == TA_OK ? leave(f, wait_for(f)) : status;
}

static ta_status result(ta_frames *f, void *const *outputs, ta_frame *frame)
{
    const ta_frame next = {f->returned, TA_ERROR_BUSY, TA_NO_STEP};
    if (frame != NULL)
        *frame = next;
    if (f->submitted == f->returned)
        return TA_ERROR_STATE;
    if (!is_over(f))
        return TA_ERROR_BUSY;
    ta_frame_slot *slot = slot_of(f, f->turns[f->returned % TA_MOST_FRAMES]);
    if (f->pipeline->lending != NULL)
        give_back(f, slot);
    else if (slot->frame.status == TA_OK)
        give_outputs(f, slot->round, outputs);
    if (frame != NULL)
        *frame = slot->frame;
    f->returned++;
    return slot->frame.status;
}

ta_status ta_frames_result(ta_frames *f, void *const *outputs, ta_frame *frame)
{
    const ta_status status = enter(f, frame == NULL ? NONE_OVER : 0u); /* else it wants to know which frame is next */
    return status == TA_OK ? leave(f, result(f, outputs, frame)) : status;
}

/* Go on until there is a place for a frame, or, where none is given, until the oldest one is over. One result is taken on
 * the way, if there is one. TA_ERROR_BUSY: another one has to be taken before. */
static ta_status make_place(ta_frames *f, int is_given, void *const *outputs, ta_frame *frame)
{
    for (;;) {
        if (frame->status == TA_ERROR_BUSY && is_over(f))
            (void)result(f, outputs, frame);
        if ((is_given && !f->waiting) || (!is_given && frame->status != TA_ERROR_BUSY))
            return TA_OK;
        if (f->submitted == f->returned)
            return TA_ERROR_STATE;
        if (f->at.step == 0u && !f->begun && !may_begin(f) && frame->status != TA_ERROR_BUSY)
            return TA_ERROR_BUSY;
        const ta_status status = go_on(f, f->runtime->timeout_us);
        if (status != TA_OK)
            return status;
    }
}

/* Inputs are copied before others compute, so that nobody has to wait until they are seen. */
static ta_status exchange(ta_frames *f, const void *const *inputs, void *const *outputs, ta_frame *frame)
{
    if (inputs != NULL && !all_given(f, inputs))
        return TA_ERROR_ARGUMENT;
    ta_status status = make_place(f, inputs != NULL, outputs, frame);
    if (status != TA_OK || inputs == NULL)
        return status;
    status = submit(f, inputs, NULL);
    if (status == TA_OK)
        (void)make_place(f, 1, outputs, frame); /* what goes wrong is in results */
    return status;
}

ta_status ta_frames_exchange(ta_frames *f, const void *const *inputs, void *const *outputs, ta_frame *frame)
{
    const ta_frame none = {0, TA_ERROR_BUSY, TA_NO_STEP};
    if (frame == NULL)
        return TA_ERROR_ARGUMENT;
    *frame = none;
    const ta_status status = enter(f, 0);
    return status == TA_OK ? leave(f, exchange(f, inputs, outputs, frame)) : status;
}

static ta_status recover(ta_frames *f)
{
    if (f->active || f->broken || f->submitted != f->returned)
        return TA_ERROR_STATE;
    f->lost = 0;
    return TA_OK;
}

ta_status ta_frames_recover(ta_frames *f)
{
    const ta_status status = enter(f, 0);
    return status == TA_OK ? leave(f, recover(f)) : status;
}

ta_status ta_frames_stop(ta_frames *f)
{
    if (f == NULL || f->pipeline == NULL)
        return TA_OK;
    if (enter(f, 0) != TA_OK)
        return TA_ERROR_STATE;
    if (f->active)
        end_all(f, f->runtime->timeout_us);
    if (f->pipeline->lending != NULL)
        f->pipeline->lending->give_back(f->pipeline->bundle);
    f->pipeline = NULL;
    return leave(f, TA_OK);
}
