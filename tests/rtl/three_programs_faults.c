/* Takes the place of a bundle's runner: one fault after the other on a DSP under QEMU, an engine that is RTL, and
 * the DMA channels between them. Reads one frame; prints a line per fault: what init or run answered, the step, the
 * device, then how a run after stop and init went. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <hexagon_edge_soc.h>
#include <kws_int8.h>

#include "cores/process.h"
#include "ports/host/host.h"

#define LEAST_PATIENCE_US 1000000u
#define RUNS_OF_PATIENCE 4u

extern const ta_process process_dsp_cpu;

static uint8_t frame[KWS_INT8_INPUT_INPUT_1_BYTES], expected[KWS_INT8_OUTPUT_IDENTITY_BYTES];

static void none(void) {}
static void axi_error(void) { ta_host_fail(HEXAGON_EDGE_TIMELINE_AXI_DMA_0, 0, TA_ERROR_DMA); }
static void ps_error(void) { ta_host_fail(HEXAGON_EDGE_TIMELINE_PS_DMA_0, 0, TA_ERROR_DMA); }
static void axi_hangs(void) { ta_host_fail(HEXAGON_EDGE_TIMELINE_AXI_DMA_0, 0, TA_ERROR_TIMEOUT); }
static void ps_lost(void) { ta_host_lose(HEXAGON_EDGE_TIMELINE_PS_DMA_0, 0); }
static void engine_resets(void) { ta_host_fail(HEXAGON_EDGE_TIMELINE_FPGA_CONV2D, 0, TA_ERROR_DEVICE); }
static void engine_lost(void) { ta_host_lose(HEXAGON_EDGE_TIMELINE_FPGA_CONV2D, 0); }
static void dsp_resets(void) { ta_process_fail(&process_dsp_cpu, TA_PROCESS_RESETS); }
static void dsp_answer_lost(void) { ta_process_fail(&process_dsp_cpu, TA_PROCESS_ANSWER_LOST); }
static void dsp_request_lost(void) { ta_process_fail(&process_dsp_cpu, TA_PROCESS_REQUEST_LOST); }

static const struct {
    const char *name;
    void (*inject)(void);
} faults[] = {
    {"none", none},
    {"axi_dma error", axi_error},
    {"ps_dma error", ps_error},
    {"axi_dma never completes", axi_hangs},
    {"ps_dma interrupt lost", ps_lost},
    {"engine resets", engine_resets},
    {"engine interrupt lost", engine_lost},
    {"dsp resets", dsp_resets},
    {"dsp doorbell to the host lost", dsp_answer_lost},
    {"dsp doorbell to the dsp lost", dsp_request_lost},
};

static ta_status run(void)
{
    memcpy(kws_int8_input_input_1(), frame, sizeof frame);
    return kws_int8_run();
}

/* Does all of it work again, from init on? */
static const char *after(void)
{
    if (kws_int8_init(&ta_port_host) != TA_OK)
        return "init failed";
    if (run() != TA_OK || memcmp(kws_int8_output_Identity(), expected, sizeof expected) != 0)
        return "differs";
    return kws_int8_stop() == TA_OK ? "equal" : "stop failed";
}

static uint32_t now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)now.tv_sec * 1000000u + (uint32_t)(now.tv_nsec / 1000);
}

int main(void)
{
    if (fread(frame, 1, sizeof frame, stdin) != sizeof frame || kws_int8_init(&ta_port_host) != TA_OK)
        return 2;
    /* A wait is shorter than a whole run, however busy this computer is. */
    const uint32_t began = now_us();
    if (run() != TA_OK)
        return 3;
    const uint32_t patience = LEAST_PATIENCE_US + RUNS_OF_PATIENCE * (now_us() - began);
    memcpy(expected, kws_int8_output_Identity(), sizeof expected);
    if (kws_int8_stop() != TA_OK)
        return 4;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        if (kws_int8_init(&ta_port_host) != TA_OK)
            return 5;
        kws_int8_runtime()->timeout_us = patience;
        faults[i].inject();
        const ta_status status = run();
        const char *device = ta_failed_device(kws_int8_runtime());
        const int named = kws_int8_runtime()->failed_step != TA_NO_STEP;
        const ta_status stopped = kws_int8_stop();
        printf("%s: %s, %s, stop %s, then %s\n", faults[i].name, ta_status_name(status),
               named && device != NULL ? device : "no step", ta_status_name(stopped), after());
        (void)fflush(stdout);
    }
    return fwrite(expected, 1, sizeof expected, stdout) == sizeof expected ? 0 : 6;
}
