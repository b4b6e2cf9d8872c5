/* Takes the place of a bundle's runner: one fault after the other in the driver, all in one process. Reads one frame;
 * prints a line per fault: what run answered, whether a step is to blame, how stop went, and how a run after stop and
 * init went. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <digits_int8.h>

#define PATIENCE_US 300000u
#define FAULT "CUDA_ON_CPU_FAULT"

static uint8_t frame[DIGITS_INT8_INPUT_IMAGE_BYTES], expected[DIGITS_INT8_OUTPUT_LOGITS_BYTES];

static const char *const faults[] = {"none", "launch", "copy", "hang", "stall", "lost"};

static ta_status run(void)
{
    memcpy(digits_int8_input_image(), frame, sizeof frame);
    return digits_int8_run();
}

/* Does all of it work again, from init on? */
static const char *after(void)
{
    if (digits_int8_init(&ta_port_cuda) != TA_OK)
        return "init failed";
    if (run() != TA_OK || memcmp(digits_int8_output_logits(), expected, sizeof expected) != 0)
        return "differs";
    return digits_int8_stop() == TA_OK ? "equal" : "stop failed";
}

int main(void)
{
    ta_runtime *rt = digits_int8_runtime();
    if (fread(frame, 1, sizeof frame, stdin) != sizeof frame || digits_int8_init(&ta_port_cuda) != TA_OK)
        return 2;
    if (run() != TA_OK)
        return 3;
    memcpy(expected, digits_int8_output_logits(), sizeof expected);
    if (digits_int8_stop() != TA_OK)
        return 4;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        if (digits_int8_init(&ta_port_cuda) != TA_OK)
            return 5;
        rt->timeout_us = PATIENCE_US;
        (void)setenv(FAULT, faults[i], 1);
        const ta_status status = run();
        const char *device = ta_failed_device(rt);
        printf("%s: %s, %s, ", faults[i], ta_status_name(status), device == NULL ? "no device" : device);
        const ta_status stopped = digits_int8_stop();
        (void)unsetenv(FAULT);
        printf("stop %s, then %s\n", ta_status_name(stopped), after());
        (void)fflush(stdout);
    }
    return 0;
}
