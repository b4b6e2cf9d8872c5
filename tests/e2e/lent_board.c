/* Frames in flight on a board, in memory of the caller: each has the bits of a single run, in order. */
#include <string.h>

#include <digits_int8.h>

#include "ports/qemu_sse200/qemu_sse200.h"

enum { FRAMES = 50, IMAGES = 4, SETS = 8 };

static float images[IMAGES][DIGITS_INT8_INPUT_IMAGE_ROOM / sizeof(float)] TA_ALIGNED(DIGITS_INT8_INPUT_IMAGE_ALIGNMENT);
static float right[IMAGES][16] TA_ALIGNED(64), answers[SETS][16] TA_ALIGNED(64);

static int all_in_flight(void)
{
    uint32_t sent = 0, taken = 0;
    while (taken < FRAMES) {
        ta_status status = TA_OK;
        while (sent < FRAMES && status == TA_OK) {
            const digits_int8_io io = {images[sent % IMAGES], answers[sent % SETS]};
            status = digits_int8_submit(&io, NULL);
            sent += status == TA_OK;
        }
        if ((status != TA_OK && status != TA_ERROR_BUSY) || digits_int8_wait() != TA_OK)
            return 0;
        ta_frame frame;
        while ((status = digits_int8_result(&frame)) == TA_OK) {
            const float *answer = answers[taken % SETS], *expected = right[taken % IMAGES];
            if (frame.number != taken || memcmp(answer, expected, DIGITS_INT8_OUTPUT_LOGITS_BYTES) != 0)
                return 0;
            taken++;
        }
        if (status != (taken < sent ? TA_ERROR_BUSY : TA_ERROR_STATE))
            return 0;
    }
    return 1;
}

int main(void)
{
    if (digits_int8_init(&ta_port_qemu_sse200) != TA_OK)
        return 1;
    for (uint32_t k = 0; k < IMAGES; k++) {
        const digits_int8_io io = {images[k], right[k]};
        for (uint32_t i = 0; i < DIGITS_INT8_INPUT_IMAGE_ELEMENTS; i++)
            images[k][i] = (float)((k * 37u + i * 11u) % 17u);
        if (digits_int8_run(&io) != TA_OK)
            return 2;
    }
    if (!all_in_flight())
        return 3;
    ta_mps2_say("every bit, in order\n");
    return digits_int8_stop() == TA_OK ? 0 : 4;
}
