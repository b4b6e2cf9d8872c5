/* The contract of the tables that tell the programs of a bundle about it.
 *
 * `runner.c` and `selftest.c` are the same for all bundles, and call functions alone that a linker can see: nothing goes
 * through a pointer but what reads an element. They include `program_table.h`, which is emitted beside them, and defines
 *
 *   TA_PROGRAM_MODELS            how many models there are, numbered from 0
 *   TA_PROGRAM_SEPARATE          1 where models keep their inputs and outputs while others run, else 0
 *   TA_PROGRAM_STEPS             the steps of all models together
 *   TA_PROGRAM_PORT(name)        the function of the port with that name, behind its prefix
 *   ta_program_bundles           the `ta_bundle` of every model
 *   ta_program_lent              of every model the memory of its inputs, then of its outputs, that the program lends it;
 *                                NULL where they are in arenas
 *   ta_program_init, _stop, _runtime   those of the bundle
 *   ta_program_run(model), ta_program_reset(model)   those of a model; nothing to reset where it has no states
 *   ta_program_damaged_weights   the weights that are not those of the bundle; NULL where there are none such
 *   ta_program_complaint         more of the port about a failure, or ""
 *
 * and, where frames can be in flight, TA_PROGRAM_IN_FLIGHT, which is the number of sets of memory, with
 *
 *   ta_program_flying            of every set the memory of the inputs, then of the outputs: one set where these are
 *                                copied, else more than are lent at once, which frames take in turn
 *   ta_program_submit(set), _poll, _wait, _result   those of the model, on that memory
 *
 * and TA_PROGRAM_SIMULATES where the port has `set_lazy` and `set_jitter`. It ends with the services of a system:
 * hosted.h or machine.h. A program of your own needs none of this: it calls the functions of the bundle's header.
 */
#ifndef TARGET_ARCH_PROGRAMS_PROGRAM_H
#define TARGET_ARCH_PROGRAMS_PROGRAM_H

#include "target_arch/runtime.h"

/* What the reference makes of one output, and how to read an element of it, see elements.h. An element may be off by
 * `absolute` plus `relative` of the magnitude of the reference's. */
typedef struct ta_expected {
    const char *name;
    const void *values;
    uint32_t elements;
    double (*element_at)(const void *values, uint32_t index);
    double absolute;
    double relative;
} ta_expected;

/* The vector of a model: the bytes of every input, and every output that is expected of them. */
typedef struct ta_vector {
    uint32_t model;
    const void *const *inputs;
    const ta_expected *outputs;
} ta_vector;

/* All vectors of a bundle. `missing` says of each other model why it has none. */
typedef struct ta_vectors {
    const ta_vector *vectors;
    const char *const *missing;
    uint32_t count;
    uint32_t missing_count;
} ta_vectors;

#endif
