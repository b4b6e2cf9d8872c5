#include <digits.h>
#include <string.h>

#include "frames.h"
#include "ports/qemu_mps2/qemu_mps2.h" /* a console; on a board of yours, its UART */

static int largest(const float *scores, int count)
{
    int best = 0, each;
    for (each = 1; each < count; each++)
        if (scores[each] > scores[best])
            best = each;
    return best;
}

int main(void)
{
    int frame, right = 0;
    if (digits_init(&ta_port_qemu_mps2) != TA_OK) /* on a board of yours, your port */
        return 1;
    for (frame = 0; frame < 8; frame++) {
        memcpy(digits_input_image(), frames[frame], DIGITS_INPUT_IMAGE_BYTES);
        if (digits_run() != TA_OK)
            return 2;
        right += largest(digits_output_scores(), 10) == labels[frame];
    }
    ta_mps2_say_number(right);
    ta_mps2_say(" of 8 digits right\n");
    return digits_stop() == TA_OK ? 0 : 3;
}
