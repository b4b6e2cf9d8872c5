/* Runs every model of a bundle that has a vector on it: one input, and what the reference makes of it. Several models
 * run in turn, twice, so that each follows another.
 *
 * Returns 0 where every output passes, 1 where one does not, 2 where a model did not run, 3 where none has a vector.
 */
#include <math.h>
#include <string.h>

#include "program_table.h"
#include "programs/turns.h"
#include "test_vectors.h"

static int passed = 1;

/* Whether an element is near enough; NaN and infinity belong where the reference has them. */
static int is_near(double actual, double expected, double absolute, double relative)
{
    if (isnan(expected) || isinf(expected))
        return isnan(expected) ? isnan(actual) : actual == expected;
    return fabs(actual - expected) <= absolute + relative * fabs(expected);
}

/* Print how many elements are equal in every bit, and on a computer how far off the others are. */
static void print_line(const ta_expected *expected, int is_right, uint32_t equal, double largest)
{
    ta_print(is_right ? "pass " : "FAIL ");
    ta_print(expected->name);
    ta_print(": ");
    ta_print_number((int32_t)equal);
    ta_print(" of ");
    ta_print_number((int32_t)expected->elements);
    ta_print(" bit-equal");
#ifdef TA_PROGRAM_HOSTED
    printf(", largest difference %g, allowed %g", largest, expected->absolute);
    if (expected->relative > 0.0)
        printf(" + %g of the magnitude", expected->relative);
#else
    (void)largest;
#endif
    ta_print("\n");
}

/* 1 where every element is near enough, or equal in every bit. */
static int compare(const void *actual, uint32_t size, const ta_expected *expected)
{
    uint32_t equal = 0, wrong = 0;
    double largest = 0.0;
    for (uint32_t i = 0; i < expected->elements; i++) {
        const uint8_t *a = (const uint8_t *)actual + i * size;
        const uint8_t *b = (const uint8_t *)expected->values + i * size;
        const double one = expected->element_at(actual, i);
        const double other = expected->element_at(expected->values, i);
        const double difference = fabs(one - other);
        if (memcmp(a, b, size) == 0) {
            equal++;
            continue;
        }
        if (!is_near(one, other, expected->absolute, expected->relative))
            wrong++;
        if (!(difference <= largest))
            largest = difference;
    }
    print_line(expected, wrong == 0u, equal, largest);
    return wrong == 0u;
}

static int failed(const char *what, ta_status status)
{
    ta_failed(what, status);
    return 2;
}

static void write_inputs(const ta_vector *vector)
{
    const ta_bundle *bundle = ta_program_bundles[vector->model];
    ta_program_reset(vector->model);
    for (uint32_t i = 0; i < bundle->input_count; i++)
        memcpy(ta_place(bundle, ta_program_lent[vector->model], i), vector->inputs[i], bundle->inputs[i].bytes);
}

static void compare_outputs(const ta_vector *vector)
{
    const ta_bundle *bundle = ta_program_bundles[vector->model];
    for (uint32_t i = 0; i < bundle->output_count; i++) {
        const void *actual = ta_place(bundle, ta_program_lent[vector->model], bundle->input_count + i);
        const uint32_t size = bundle->outputs[i].bytes / vector->outputs[i].elements;
        passed &= compare(actual, size, &vector->outputs[i]);
    }
}

/* A round of all vectors. TA_OK, or the status of the run that ended it. */
static ta_status run_vectors(void)
{
    ta_status status = TA_OK;
    ta_clear_profile();
    for (uint32_t part = 0; part < TA_PHASES * vectors.count && status == TA_OK; part++) {
        const ta_turn turn = ta_turn_of(part, vectors.count);
        const ta_vector *vector = &vectors.vectors[turn.number];
        if (turn.phase == TA_PHASE_INPUTS)
            write_inputs(vector);
        else if (turn.phase == TA_PHASE_RUN)
            status = ta_counted_run(vector->model);
        else
            compare_outputs(vector);
    }
    return status;
}

int main(void);
int main(void)
{
    ta_status status;
    for (uint32_t i = 0; i < vectors.missing_count; i++) {
        ta_print(vectors.missing[i]);
        ta_print("\n");
    }
    if (vectors.count == 0u)
        return 3;
    status = ta_program_init();
    if (status != TA_OK)
        return failed("init", status);
    for (int round = 0; round < (TA_PROGRAM_MODELS > 1u ? 2 : 1) && status == TA_OK; round++)
        status = run_vectors();
    if (status != TA_OK)
        return failed("run", status);
    status = ta_program_stop();
    if (status != TA_OK)
        return failed("stop", status);
    if (!ta_write_profile())
        return 2;
    return passed ? 0 : 1;
}
