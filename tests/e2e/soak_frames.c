/* Frames in flight of the model `soak` on the host port, again and again, while random faults happen:
 * `soak_frames FRAMES SEED`.
 *
 * In one frame of a thousand a transfer or a core fails. One frame has to say so, with its number and its step; all others
 * have the bits of single runs, in order. Prints at 1,000 frames and ten times on the way what the process holds: KiB of
 * memory and file descriptors. Exit code 1 where anything was not as it has to be.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <soak.h>
#include <zynq_edge_soc.h>

#include "../runtime_c/soaking.h"
#include "ports/host/host.h"

enum { KINDS = 16, ONE_IN = 1000, EARLY = 1000 };

static float x[SOAK_INPUT_X_ELEMENTS], right[KINDS][SOAK_OUTPUT_Y_ELEMENTS], y[SOAK_OUTPUT_Y_ELEMENTS];
static const soak_frame_inputs inputs = {x};
static const soak_frame_outputs outputs = {y};
static uint32_t wrong, faults, failed;

static void draw(uint32_t number)
{
    for (uint32_t i = 0; i < SOAK_INPUT_X_ELEMENTS; i++)
        x[i] = (float)((number % KINDS * 37u + i * 11u) % 17u) - 8.0f;
}

static int single_runs(void)
{
    for (uint32_t i = 0; i < KINDS; i++) {
        draw(i);
        memcpy(soak_input_x(), x, sizeof x);
        if (soak_run() != TA_OK)
            return 0;
        memcpy(right[i], soak_output_y(), sizeof y);
    }
    return memcmp(right[0], right[1], sizeof y) != 0;
}

static void suffer(void)
{
    faults++;
    if (next() % 2u != 0)
        ta_host_fail(ZYNQ_EDGE_TIMELINE_PS_DMA_0, next() % 4u, TA_ERROR_DMA);
    else
        ta_host_fail(ZYNQ_EDGE_TIMELINE_DSP_CPU, next() % 4u, TA_ERROR_DEVICE);
}

/* Takes the results that are there; their number. */
static uint32_t take(uint32_t got)
{
    ta_frame frame;
    uint32_t taken = 0;
    for (;;) {
        const ta_status status = soak_result(&outputs, &frame);
        if (status == TA_ERROR_BUSY || status == TA_ERROR_STATE)
            return taken;
        const uint32_t number = got + taken++;
        if (status == TA_OK)
            wrong += frame.number != number || memcmp(y, right[number % KINDS], sizeof y) != 0;
        else
            wrong += frame.number != number || frame.failed_step == TA_NO_STEP;
        failed += status != TA_OK;
    }
}

static void tell(uint32_t got)
{
    printf("%u frames, %u faults, %u frames failed, %u wrong, %lu KiB, %u descriptors\n", (unsigned)got, (unsigned)faults,
           (unsigned)failed, (unsigned)wrong, resident_kib(), descriptors());
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const uint32_t frames = (uint32_t)strtoul(argv[1], NULL, 0);
    const uint32_t tenth = frames / 10u != 0 ? frames / 10u : 1u;
    uint32_t sent = 0, got = 0;
    state = (uint32_t)strtoul(argv[2], NULL, 0) | 1u;
    if (soak_init(&ta_port_host) != TA_OK || !single_runs())
        return 1;
    while (got < frames && wrong == 0) {
        draw(sent);
        if (sent < frames && soak_submit(&inputs, NULL) == TA_OK) {
            sent++;
            if (next() % ONE_IN == 0)
                suffer();
        } else {
            const ta_status waited = soak_wait();
            wrong += waited != TA_OK && waited != TA_ERROR_STATE;
        }
        const ta_status polled = soak_poll();
        wrong += polled != TA_OK && polled != TA_ERROR_BUSY;
        const uint32_t taken = take(got);
        for (uint32_t i = 0; i < taken; i++)
            if (++got == EARLY || got % tenth == 0)
                tell(got);
    }
    wrong += soak_stop() != TA_OK || failed == 0 || failed > faults;
    return wrong != 0;
}
