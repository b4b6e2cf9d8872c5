/* Inputs and outputs in memory of the caller: bundles that were compiled with `--io caller`.
 *
 * The functions of such a bundle call these; a program that drives the runtime itself does too. As with ta_runtime:
 * calls come from one thread at a time and from no interrupt, and nothing here blocks.
 */
#ifndef TARGET_ARCH_LENT_H
#define TARGET_ARCH_LENT_H

#include "target_arch/lending.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Lend the bytes of every input, then of every output, in the order of the bundle's tables, for the next ta_run.
 * They stay the caller's, and are in use until ta_give_back; where a run leaves the runtime broken, until ta_stop.
 * On failure nothing is lent.
 *   TA_ERROR_ARGUMENT  NULL; an address that is not aligned as the arena wants it; bytes of an output that are also
 *                      those of another input or output, of other frames and jobs, too; bytes inside an arena of the
 *                      bundle. In builds with
 *                      TA_SECTIONS, where addresses are those of the SoC, also bytes that a device or DMA channel
 *                      touches outside the memory where it expects them */
ta_status ta_lend(const ta_bundle *bundle, const ta_soc *soc, const void *const *starts);

/* Is an input or output without bytes, as nothing is lent? */
int ta_is_missing(const ta_bundle *bundle);

/* Nothing is lent any more, and the next ta_run answers TA_ERROR_ARGUMENT until something is. */
void ta_give_back(const ta_bundle *bundle);

/* These for frames in flight and workloads. Compiled with TA_LENT_CHECK it has sums of inputs. */
extern const ta_lending ta_lending_of_caller;

#ifdef __cplusplus
}
#endif

#endif
