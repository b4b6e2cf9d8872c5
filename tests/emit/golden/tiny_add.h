/* SPDX-License-Identifier: LicenseRef-generated */
/* The model `tiny-add` on tiny.
 *
 * There is one of it per program: inputs, outputs and everything between are in static memory. Calls come
 * from one thread at a time and not from interrupts. Statuses are those of target_arch/abi.h.
 */
#ifndef TINY_ADD_H
#define TINY_ADD_H

#include "target_arch/runtime.h"

/* input 0: x:0: int8[1,8] */
#define TINY_ADD_INPUT_X_0_RANK 2
#define TINY_ADD_INPUT_X_0_SHAPE {1, 8}
#define TINY_ADD_INPUT_X_0_ELEMENTS 8u
#define TINY_ADD_INPUT_X_0_BYTES 8u
/* real = scale * (stored - zero point) */
#define TINY_ADD_INPUT_X_0_SCALE 0.5f
#define TINY_ADD_INPUT_X_0_ZERO_POINT (-1)

/* output 0: y: int8[1,8] */
#define TINY_ADD_OUTPUT_Y_RANK 2
#define TINY_ADD_OUTPUT_Y_SHAPE {1, 8}
#define TINY_ADD_OUTPUT_Y_ELEMENTS 8u
#define TINY_ADD_OUTPUT_Y_BYTES 8u

#ifdef __cplusplus
extern "C" {
#endif

/* The port that this bundle carries. */
extern const ta_port ta_port_host;

/* Bring the system up: open `port`, load and start every instance the model uses. Blocks until all run.
 * The port stays the caller's until stop. On failure nothing is left running; see ta_init. */
ta_status tiny_add_init(const ta_port *port);

/* Execute the model once on what the inputs hold. Blocks until the outputs are there. May overwrite the
 * inputs. On failure the outputs are undefined and the runtime's `failed_step` tells where; see ta_run. */
ta_status tiny_add_run(void);

/* Stop every instance and close the port; see ta_stop. init works again. */
ta_status tiny_add_stop(void);

/* Compare up to `bytes` bytes of constants and tables with their CRC-32C, from where the last call ended,
 * around and around; init compared them all. Call it between runs or between steps, as often as there is
 * time.
 *   TA_ERROR_STATE    before init
 *   TA_ERROR_CORRUPT  something changed, so results of earlier runs may be wrong; init tells whether it
 *                     still is */
ta_status tiny_add_check(uint32_t bytes);

/* The model's runtime, for its `failed_step`, `run_us` and `timeout_us`. Never NULL. */
ta_runtime *tiny_add_runtime(void);

/* Where input 0 goes, TINY_ADD_INPUT_X_0_ELEMENTS elements. Write it before every
 * run: a run may use the bytes for something else, and writing may overwrite the last run's outputs. */
int8_t *tiny_add_input_x_0(void);

/* Output 0, TINY_ADD_OUTPUT_Y_ELEMENTS elements.
 * Valid from a run that returned TA_OK until an input is written. */
const int8_t *tiny_add_output_y(void);

#ifdef __cplusplus
}
#endif

#endif
