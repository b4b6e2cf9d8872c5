/* Several frames of one model in flight: bundles that were compiled with `--frames`.
 *
 * The steps of a model are one table of rounds, which is gone through again and again. Every round starts a frame, if
 * one was submitted, and each step of it works for the frame that was started so many rounds before as its stage
 * says; steps of absent frames are skipped, and count as complete. So frames start and end at any time, and nothing
 * in flight waits for a frame that does not come.
 *
 * Nothing here blocks but ta_frames_wait, ta_frames_stop, and kernels on the host while they compute. Calls for one
 * value come from one thread at a time: one that comes while another is at work is refused with TA_ERROR_STATE and
 * changes nothing, where the core can compare and swap (an ARMv6-M cannot). None of them is interrupt-safe. The
 * interrupt of a device does what its port says, which moves the counter that ta_frames_poll reads; a core that has
 * nothing else to do calls ta_frames_wait, whose port's `wait` may sleep until then (WFI).
 *
 * While frames are in flight the runtime is running: ta_run and ta_stop answer TA_ERROR_STATE.
 */
#ifndef TARGET_ARCH_FRAMES_H
#define TARGET_ARCH_FRAMES_H

#include "target_arch/lending.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TA_MOST_FRAMES 16u /* a power of two, and at least two more than a pipeline has stages */

/* The emitted tables. `bundle` has the steps of all rounds and no LOADs; its arenas are those of the bundle that was
 * initialised, its inputs and outputs those of the first round, of the second and so on. A WAIT is for the latest step
 * of its timeline that has its value in the table. */
typedef struct ta_pipeline {
    const ta_bundle *bundle;
    const uint8_t *stages; /* of each step of a round, of all kinds of rounds */
    uint32_t round_steps;
    uint32_t rounds;
    uint32_t stage_count; /* the frames in flight */
    uint32_t done;        /* the step of a round after which the frame in the last stage is over */
    uint32_t has_states;  /* 0 or 1 */
    uint32_t kinds; /* of rounds that take turns, as their frames do on equal cores; 1: all rounds are alike */
    const ta_lending *lending; /* of a bundle with the inputs and outputs of one round; NULL where they are in arenas */
} ta_pipeline;

/* What became of a frame. Frames are counted from 0 in the order in which they were submitted. */
typedef struct ta_frame {
    uint32_t number;
    ta_status status;
    uint32_t failed_step; /* index into the pipeline's steps, TA_NO_STEP where none is to blame */
} ta_frame;

/* A step of a round. Rounds are counted on; which one of the table that is, and of which kind, is counted beside, as a
 * division takes as long as much of a step. */
typedef struct ta_round_place {
    uint32_t turn;
    uint32_t step;
    uint32_t round; /* turn modulo the rounds of the table */
    uint32_t kind;  /* turn modulo the kinds of rounds */
} ta_round_place;

typedef struct ta_frame_slot {
    ta_frame frame;
    uint32_t turn;  /* the round in which it is started, */
    uint32_t round; /* and which one of the table that is */
    uint32_t there;
    uint32_t over;
    uint32_t stopped; /* 1: its steps from this one on are skipped */
    uint32_t stopped_turn;
    uint32_t stopped_step;
    uint32_t sum; /* of the inputs that were lent for it, in programs that check them */
} ta_frame_slot;

/* One timeline. Steps count whether they were skipped or not; the port knows those that were not. */
typedef struct ta_lane {
    uint32_t base;      /* the port's counter when frames began to be in flight */
    uint32_t submitted; /* since then */
    uint32_t completed;
    uint32_t passed;   /* steps of the table */
    uint32_t settled;  /* of these, how many are known to be complete or were skipped */
    uint32_t in_table; /* steps of one round trip of the table */
    uint32_t in_trip;  /* of these, passed in the current one */
    ta_round_place next;   /* the step that is settled next, or an earlier one, */
    uint32_t behind; /* with so many of the timeline from it on that are settled */
} ta_lane;

/* All zero before ta_frames_init. Fields are for reading. */
typedef struct ta_frames {
    const ta_pipeline *pipeline;
    const ta_bundle *run; /* the runtime's, while no frame is in flight */
    ta_runtime *runtime;
    uint32_t door; /* whether a call is at work, else which ones would be refused */
    uint32_t active;    /* frames are in flight, and the runtime is claimed for them */
    uint32_t broken;    /* something in flight was cancelled */
    uint32_t begun;     /* the current round was begun */
    uint32_t lost;      /* a frame failed that others' states depend on */
    uint32_t waiting;   /* a frame was submitted that no round has started yet */
    uint32_t refused;   /* and so the one behind it was not taken */
    uint32_t sum;       /* of its inputs, see ta_frame_slot */
    uint32_t submitted; /* frames so far */
    uint32_t returned;  /* results that were taken */
    uint32_t flying;    /* frames that are started and not over */
    uint32_t inputs;    /* of a frame */
    uint32_t outputs;
    ta_round_place at;        /* the step that is next */
    ta_round_place stuck;     /* the step that was waited for last */
    uint64_t since_us; /* when it could not go on; 0 where it can */
    uint32_t turns[TA_MOST_FRAMES]; /* by number of a frame, modulo: its round */
    ta_frame_slot slots[TA_MOST_FRAMES];
    ta_lane lanes[TA_MAX_TIMELINES];
} ta_frames;

/* Check the tables of a pipeline for a runtime that is ready with `runtime->bundle`. Both stay the caller's, and are
 * kept. TA_ERROR_ARGUMENT: NULL, or tables that ta_init would refuse; TA_ERROR_STATE: the runtime is not ready. */
ta_status ta_frames_init(ta_frames *frames, const ta_pipeline *pipeline, ta_runtime *runtime);

/* Take a frame: `inputs` has an address for every input, whose bytes are copied, and are the caller's again when this
 * returns. `number` (may be NULL) is that of the frame. Starts nothing: ta_frames_poll does.
 *   TA_ERROR_BUSY      full: the frame before was not started yet; poll or wait, take results, and submit it again
 *   TA_ERROR_STATE     the runtime is not ready; or a frame failed that has states: ta_frames_recover, then a reset
 *   TA_ERROR_ARGUMENT  NULL
 * Of a pipeline that lends, `inputs` goes on with an address for every output, and nothing is copied: from TA_OK until
 * ta_frames_result has answered for this frame, inputs must not change, and outputs must not be touched. Where the
 * runtime is broken all memory that was lent is in use until ta_stop. Frames may have inputs in common; outputs share
 * no byte with what other frames in flight have. TA_ERROR_ARGUMENT as of ta_lend: nothing was taken. */
ta_status ta_frames_submit(ta_frames *frames, const void *const *inputs, uint32_t *number);

/* Go on as far as that is possible without waiting: until another frame is over, or something in flight is not, or a
 * round is over and the next one would start no frame. The next call begins it nevertheless: a caller who has a frame
 * submits it before, and it follows the one in front of it at once.
 *   TA_OK          a result can be taken, or a frame would be started now, or nothing is in flight
 *   TA_ERROR_BUSY  something is in flight: poll again when it may be over
 *   TA_ERROR_TIMEOUT  something took longer than the runtime's `timeout_us`, and what is in flight was cancelled: no
 *                  frame goes on, each has its result, and the runtime is broken: stop
 * A step that fails in another way ends its frame: the others go on, but where the model has states those behind it
 * end too, with TA_ERROR_STATE. */
ta_status ta_frames_poll(ta_frames *frames);

/* As ta_frames_poll, but wait until the oldest frame is over; or, where ta_frames_submit has just answered
 * TA_ERROR_BUSY, until it would not: the result may not be there yet then. TA_ERROR_STATE: no frame is in flight. */
ta_status ta_frames_wait(ta_frames *frames);

/* Take the result of the oldest frame: its status is returned. Where that is TA_OK its outputs were copied to the
 * addresses in `outputs`, one for each, NULL for one that is not wanted; they are the caller's all the time. `frame`
 * (may be NULL) says which frame it is. Of a pipeline that lends, `outputs` is not read: outputs are where they were
 * lent, and all memory that was lent for the frame is the caller's again.
 *   TA_ERROR_BUSY   it is not over yet, and still the oldest
 *   TA_ERROR_CORRUPT  of a program compiled with TA_LENT_CHECK: an input that was lent has changed meanwhile; where
 *                   the model has states, those behind the frame end with TA_ERROR_STATE
 *   TA_ERROR_STATE  also: none is in flight, and then `frame->number` is that of the next one */
ta_status ta_frames_result(ta_frames *frames, void *const *outputs, ta_frame *frame);

/* Take a frame as ta_frames_submit does, go on until there is a place for the next one, and give the result of the oldest
 * one if it is over, as ta_frames_result does; where more than one is, the next call gives the next one, and finds a
 * place then. Who always has a frame keeps as many in flight as go with this call alone, which comes in once and not
 * three times. With `inputs` NULL no frame is taken, and it waits for the oldest one.
 *   TA_OK  the frame was taken; or, without one, there is a result
 *   else as ta_frames_wait and ta_frames_submit: no frame was taken
 * `frame` (not NULL) says what was given, whatever is returned: its status is TA_ERROR_BUSY where there was no result yet.
 * When something takes too long, frames that were taken before have that for their results. */
ta_status ta_frames_exchange(ta_frames *frames, const void *const *inputs, void *const *outputs, ta_frame *frame);

/* Frames may be submitted again after one with states had failed and the states were reset.
 * TA_ERROR_STATE: frames are in flight, or their results were not taken. */
ta_status ta_frames_recover(ta_frames *frames);

/* Wait for what is in flight, cancel what does not end, and drop all frames; ta_stop comes next. TA_OK also where
 * there is nothing to stop. */
ta_status ta_frames_stop(ta_frames *frames);

#ifdef __cplusplus
}
#endif

#endif
