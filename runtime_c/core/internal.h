/* Shared by the files of the core. Not for ports, drivers or applications. */
#ifndef TARGET_ARCH_CORE_INTERNAL_H
#define TARGET_ARCH_CORE_INTERNAL_H

#include "target_arch/runtime.h"

enum { TA_STATE_STOPPED = 0, TA_STATE_READY = 1, TA_STATE_BROKEN = 2, TA_STATE_RUNNING = 3 };

/* The instance that a timeline belongs to, NULL for a channel's. Relies on the numbering that ta_validate
 * checked. */
//@ requires \valid_read(soc); assigns \nothing;
static inline const ta_instance_info *ta_timeline_instance(const ta_soc *soc, uint32_t timeline)
{
    return timeline < soc->channel_count ? NULL : &soc->instances[timeline - soc->channel_count];
}

/* Check all tables. TA_ERROR_ARGUMENT or TA_ERROR_UNSUPPORTED as ta_init says; `bad_step` names the step,
 * if one is to blame. Everything behind this trusts the tables. */
ta_status ta_validate(const ta_bundle *bundle, const ta_soc *soc, const ta_port *port, uint32_t *bad_step);

/* Take a ready runtime for one run; 0 where it is not ready, or another call has it. Where the core can compare
 * and swap, one of two threads gets it. */
int ta_claim(ta_runtime *runtime);

/* The end of a claim: ready again, unless it broke meanwhile. */
void ta_release(ta_runtime *runtime);

/* ta_run, of a runtime that is claimed. */
ta_status ta_run_claimed(ta_runtime *runtime);

/* ta_fill, of a runtime that is claimed; it is not stopped after a failure. */
ta_status ta_fill_claimed(ta_runtime *runtime);

/* Execute one step that is not a LOAD. After a failure of an earlier one, `failed_step` is that one. */
ta_status ta_execute(ta_runtime *runtime, uint32_t step);

/* Wait until the first `value` asynchronous steps of this run on the timeline are complete, and see how
 * they ended. Stops at the first failure, with `failed_step` at the step that failed. */
ta_status ta_settle(ta_runtime *runtime, uint32_t timeline, uint32_t value, uint32_t timeout_us);

/* Name the step that failed, unless an earlier one is already named. */
void ta_blame(ta_runtime *runtime, uint32_t step);

#endif
