/* Two bundles in one program: each self-consistent, one after the other, and a refusal while one is open. */
#include <stdio.h>
#include <string.h>

#include <digits_int8.h>
#include <kws_int8.h>

static int failed(const char *what)
{
    printf("failed: %s\n", what);
    return 1;
}

int main(void)
{
    for (int round = 0; round < 2; round++) {
        if (digits_int8_init(&ta_port_host) != TA_OK)
            return failed("the first does not open");
        if (kws_int8_init(&ta_port_host) != TA_ERROR_STATE)
            return failed("the second opens while the first is open");
        memset(digits_int8_input_image(), 0, DIGITS_INT8_INPUT_IMAGE_BYTES);
        if (digits_int8_run() != TA_OK || digits_int8_stop() != TA_OK)
            return failed("the first does not run");
        if (kws_int8_init(&ta_port_host) != TA_OK)
            return failed("the second does not open");
        memset(kws_int8_input_input_1(), 1, KWS_INT8_INPUT_INPUT_1_BYTES);
        if (kws_int8_run() != TA_OK || kws_int8_stop() != TA_OK)
            return failed("the second does not run");
    }
    printf("%g", (double)digits_int8_output_logits()[0]);
    for (unsigned i = 0; i < KWS_INT8_OUTPUT_IDENTITY_ELEMENTS; i++)
        printf(" %d", kws_int8_output_Identity()[i]);
    printf("\n");
    return 0;
}
