/* Prints, for inputs at both ends of a range and beside them, the statuses of a run and of a frame in flight. */
#include <stdio.h>
#include <string.h>

#include <small.h>

#ifdef LENDS
static int8_t x[4096] __attribute__((aligned(4096)));
static int8_t y[4096] __attribute__((aligned(4096)));
static const small_io io = {x, y};
#define RUN small_run(&io)
#define SUBMIT small_submit(&io, NULL)
#define RESULT small_result(NULL)
#define INPUT x
#else
static int8_t x[SMALL_INPUT_T0_ELEMENTS];
static const small_frame_inputs inputs = {x};
#define RUN small_run()
#define SUBMIT small_submit(&inputs, NULL)
#define RESULT small_result(NULL, NULL)
#define INPUT small_input_t0()
#endif

int main(void)
{
    static const int values[] = {SMALL_INPUT_T0_LOW - 1, SMALL_INPUT_T0_LOW, SMALL_INPUT_T0_HIGH, SMALL_INPUT_T0_HIGH + 1};
    if (small_init(&ta_port_host) != TA_OK)
        return 1;
    for (int i = 0; i < 4; i++) {
        memset(x, SMALL_INPUT_T0_LOW, SMALL_INPUT_T0_ELEMENTS);
        x[SMALL_INPUT_T0_ELEMENTS - 1] = (int8_t)values[i];
        memmove(INPUT, x, SMALL_INPUT_T0_ELEMENTS);
        const ta_status run = RUN;
        const ta_status taken = SUBMIT;
        printf("%d: %d %d\n", values[i], run != TA_OK, taken != TA_OK);
        if ((run != TA_OK && run != TA_ERROR_ARGUMENT) || (taken != TA_OK && taken != TA_ERROR_ARGUMENT))
            return 2;
        if (taken == TA_OK && (small_wait() != TA_OK || RESULT != TA_OK))
            return 3;
    }
    return small_stop() == TA_OK ? 0 : 4;
}
