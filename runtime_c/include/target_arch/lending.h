/* Inputs and outputs in memory of the caller, as frames in flight and workloads see them: lent when a frame or a job
 * begins, given back when it is over. Bundles that were compiled with `--io caller` have one of these (lent/lent.h).
 */
#ifndef TARGET_ARCH_LENDING_H
#define TARGET_ARCH_LENDING_H

#include "target_arch/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The functions of lent/lent.h, and the sum of the inputs that are lent: 0 in programs that do not check them. */
typedef struct ta_lending {
    ta_status (*lend)(const ta_bundle *bundle, const ta_soc *soc, const void *const *starts);
    int (*is_missing)(const ta_bundle *bundle);
    uint32_t (*sum)(const ta_bundle *bundle);
    void (*give_back)(const ta_bundle *bundle);
} ta_lending;

#ifdef __cplusplus
}
#endif

#endif
