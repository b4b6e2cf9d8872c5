/* Several models on one system: bundles that share a port, its arenas and the programs of its instances.
 *
 * One model runs at a time. Where two models want the same program on an instance it is loaded once. Where
 * they want different ones, the instance is stopped and gets its program again when the other model runs: no
 * model ever runs with a program that is not its own.
 *
 * As with ta_runtime: the caller owns all memory, calls come from one thread at a time and from no interrupt.
 */
#ifndef TARGET_ARCH_MODELS_H
#define TARGET_ARCH_MODELS_H

#include "target_arch/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All zero before the first ta_models_init. Fields are for reading, but for `runtime.timeout_us`. */
typedef struct ta_models {
    ta_runtime runtime; /* its `bundle` is the model that ran last, at first the first one */
    const ta_bundle *const *bundles;
    uint32_t count;
    const ta_load *programs[TA_MAX_TIMELINES]; /* by instance: the program that it runs; NULL for none */
} ta_models;

/* Take models into use: check the tables of all, open the port, load and start every instance that some
 * model needs, with the program of the first model that needs it. All bundles have the same table of arenas.
 * The pointers are kept until ta_models_stop; the tables behind them stay the caller's. Answers and what is left
 * after a failure: as of ta_init; `runtime.bundle` is then the model to blame, where one is.
 *   TA_ERROR_ARGUMENT  also: no bundle, or bundles with different tables of arenas */
ta_status ta_models_init(ta_models *models, const ta_bundle *const *bundles, uint32_t count, const ta_soc *soc,
                         const ta_port *port);

/* Execute model number `model` once, as ta_run does. Before that, instances that hold another program than
 * the model's are stopped, loaded and started. Where that fails the model does not run, `failed_step` is its
 * LOAD, and the next run that needs the instance tries again.
 *   TA_ERROR_ARGUMENT  there is no such model
 *   TA_ERROR_STATE     not ready, or running already; `runtime.bundle` is still the running model's
 *   any                of the port's stop, load and start, of ta_run */
ta_status ta_models_run(ta_models *models, uint32_t model);

/* Stop every instance and close the port, as ta_stop does. */
ta_status ta_models_stop(ta_models *models);

#ifdef __cplusplus
}
#endif

#endif
