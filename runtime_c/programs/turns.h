/* What runner and self-test share: the order in which they run the models of a bundle, where inputs and outputs are,
 * and what they say of a failure. Behind program_table.h. */
#ifndef TARGET_ARCH_PROGRAMS_TURNS_H
#define TARGET_ARCH_PROGRAMS_TURNS_H

#include "target_arch/runtime.h"

/* What is done for a model in a round: its inputs are written, it runs, its outputs are read. */
typedef enum ta_phase { TA_PHASE_INPUTS = 0, TA_PHASE_RUN = 1, TA_PHASE_OUTPUTS = 2, TA_PHASES = 3 } ta_phase;

typedef struct ta_turn {
    uint32_t number; /* of the model */
    ta_phase phase;
} ta_turn;

/* Part `part`, of TA_PHASES times `count`, of a round of `count` models: all phases of one model after the other.
 * Where models keep their bytes it is each phase for all of them, so that inputs and outputs have to outlive the runs
 * of others. */
static inline ta_turn ta_turn_of(uint32_t part, uint32_t count)
{
    ta_turn turn;
    turn.number = TA_PROGRAM_SEPARATE ? part % count : part / TA_PHASES;
    turn.phase = (ta_phase)(TA_PROGRAM_SEPARATE ? part / count : part % TA_PHASES);
    return turn;
}

/* Where input or output number `number` of a model is for a program, outputs behind inputs: in `memory`, or in an
 * arena where that is NULL. */
static inline void *ta_place(const ta_bundle *bundle, void *const *memory, uint32_t number)
{
    if (memory != NULL)
        return memory[number];
    return ta_pointer(bundle, number < bundle->input_count ? bundle->inputs[number].where
                                                           : bundle->outputs[number - bundle->input_count].where);
}

/* Say which step failed, -1 where none is to blame, of which model where there are several; and stop everything. */
static inline void ta_failed(const char *what, ta_status status)
{
    const ta_runtime *runtime = ta_program_runtime();
    const char *damaged = ta_program_damaged_weights();
    const char *complaint = ta_program_complaint();
    ta_say(what);
    if (TA_PROGRAM_MODELS > 1u) {
        ta_say(" ");
        ta_say(runtime->bundle == NULL ? "-" : runtime->bundle->name);
    }
    ta_say(": step ");
    ta_say_number((int32_t)runtime->failed_step);
    ta_say(": ");
    ta_say(ta_status_name(status));
    ta_say("\n");
    if (damaged != NULL) {
        ta_say("weights: `");
        ta_say(damaged);
        ta_say("` is missing, truncated or altered\n");
    }
    if (complaint[0] != '\0') {
        ta_say("port: ");
        ta_say(complaint);
        ta_say("\n");
    }
    (void)ta_program_stop();
}

#endif
