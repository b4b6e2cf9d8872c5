/* Deadlines of steps and runs: so many percent of the times that the plan has for them.
 *
 * The times are those of the compiler's simulated run, a model of the chip and no worst-case analysis, so the margin
 * is the program's to choose, from measurements. A step that ends late ends the run with TA_ERROR_DEADLINE when it
 * returns; waiting for an event ends with TA_ERROR_TIMEOUT when its time is over. A function that never returns is for
 * a watchdog: `next` is called before every step and can serve it.
 *
 * The caller owns all memory. Nothing here blocks or is interrupt-safe.
 */
#ifndef TARGET_ARCH_DEADLINE_H
#define TARGET_ARCH_DEADLINE_H

#include "target_arch/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The times of a bundle: microseconds from the start of a run to the end of each step that the host waits for, rounded
 * up; of other steps, to that of the next one; then to the end of the run. They never fall. `due_us` has ta_bundle.step_count + 1 of them. */
typedef struct ta_due {
    const ta_bundle *bundle;
    const uint32_t *due_us;
} ta_due;

/* All zero at first. Fields are for reading, but for `next` and `next_context`. */
typedef struct ta_deadline {
    ta_runtime *runtime;
    const ta_due *models;
    uint32_t count;
    uint32_t percent;
    uint32_t timeout_us; /* the runtime's, before there was a deadline */
    ta_watch next;       /* called as the runtime's `watch` would be; NULL: none */
    void *next_context;
} ta_deadline;

/* From the next run on, a step has to end within `percent` % of its time; 0: whenever it likes. Takes the runtime's
 * `watch`, which is `next` again after 0. Call it between runs of an initialised runtime; an init keeps it.
 *   TA_ERROR_ARGUMENT     NULL, or a model that is not in the table
 *   TA_ERROR_STATE        the runtime is not ready
 *   TA_ERROR_UNSUPPORTED  the port has no clock */
ta_status ta_deadline_set(ta_deadline *deadline, ta_runtime *runtime, const ta_due *models, uint32_t count,
                          uint32_t percent);

#ifdef __cplusplus
}
#endif

#endif
