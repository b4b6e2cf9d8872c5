/* The host port under test: as fast as it can, with jitter, as late as it may, and with counters about to
 * wrap. */
#include <string.h>

#include "conformance/conformance.h"
#include "ports/host/host.h"
#include "ports/host/simulator.h"
#include "target_arch/port.h"

/* Each with a guard zone behind it. */
static uint8_t tcm_bytes[WITH_GUARD(TCM_BYTES)] TA_ALIGNED(CONFORMANCE_ALIGNMENT);
static uint8_t ram_0_bytes[WITH_GUARD(RAM_BYTES)], ram_1_bytes[WITH_GUARD(RAM_BYTES)];

static const ta_simulated_memory memories[] = {
    {MEMORY_TCM, TCM_BYTES, tcm_bytes},
    {MEMORY_RAM_0, RAM_BYTES, ram_0_bytes},
    {MEMORY_RAM_1, RAM_BYTES, ram_1_bytes},
};

static ta_status adder_run(uint32_t *registers, const ta_window *windows, uint32_t window_count)
{
    const uint32_t count = registers[ADDER_COUNT];
    if (count == ADDER_HANGS)
        return TA_ERROR_TIMEOUT;
    const uint8_t *a = ta_window_at(windows, window_count, registers[ADDER_A], count);
    const uint8_t *b = ta_window_at(windows, window_count, registers[ADDER_B], count);
    uint8_t *out = ta_window_at(windows, window_count, registers[ADDER_OUT], count);
    registers[ADDER_STATUS] = ADDER_DONE;
    if (count == 0 || a == NULL || b == NULL || out == NULL) {
        registers[ADDER_STATUS] |= ADDER_FAULT;
        return TA_OK;
    }
    for (uint32_t i = 0; i < count; i++)
        out[i] = (uint8_t)(a[i] + b[i]);
    return TA_OK;
}

static const ta_simulator adder = {"adder", ADDER_REGISTERS, ADDER_START_REGISTER, adder_run};
static const ta_simulator *const simulators[INSTANCE_COUNT] = {NULL, NULL, &adder, &adder};

#ifdef CONFORMANCE_EMULATOR
#include "cores/process.h"

/* The dsp is a process under an emulator: CONFORMANCE_EMULATOR, CONFORMANCE_BOOT and CONFORMANCE_MACHINE say
 * which; the image is linked. */
enum { FIRMWARE_BYTES = 65536 };
#define FIRMWARE_ADDRESS 0xc0000000u
#define FIRMWARE_PHYSICAL 0x4000000u
extern const uint8_t conformance_image[];
static uint8_t firmware_bytes[FIRMWARE_BYTES] TA_ALIGNED(CONFORMANCE_ALIGNMENT);
static ta_shared firmware = {firmware_bytes, sizeof firmware_bytes, 0};
static ta_shared tcm_shared = {tcm_bytes, sizeof tcm_bytes, 0};
static ta_shared sram_shared = {conformance_sram, sizeof conformance_sram, 0};
static const ta_process_memory seen[] = {
    {&firmware, FIRMWARE_ADDRESS, FIRMWARE_PHYSICAL},
    {&tcm_shared, TCM_ADDRESS, 0xffff000100000000u},
    {&sram_shared, SRAM_ADDRESS, 0xffff000200000000u},
};
static const ta_function functions[] = {conformance_add};
static const char *const command[] = {CONFORMANCE_EMULATOR, CONFORMANCE_BOOT, NULL};
static ta_process_state state;
static const ta_process dsp = {TA_PROCESS_CORE, &state, command, seen, functions, 3, 1, CONFORMANCE_MACHINE};
static const ta_core *const cores[INSTANCE_COUNT] = {NULL, &dsp.core, NULL, NULL};
#define CORES cores
#define IMAGE conformance_image
#else
#define CORES NULL
#define IMAGE NULL
#endif

/* Stands for what a load process knows of its images. */
#define WRONG_IMAGE "wrong: no firmware"

static ta_status check_image(const uint8_t *image, uint32_t bytes)
{
    const uint32_t length = sizeof WRONG_IMAGE - 1u;
    return bytes >= length && memcmp(image, WRONG_IMAGE, length) == 0 ? TA_ERROR_IMAGE : TA_OK;
}

static const ta_image_check checks[] = {{TA_LOAD_FIRMWARE, check_image}};

static const ta_simulation simulation = {memories, 3, simulators, INSTANCE_COUNT, CORES, checks, 1};

static const char *const modes[] = {"eager", "jitter", "lazy", "wrap", NULL};

static void set_mode(const char *mode)
{
    (void)ta_host_simulate(&simulation);
    ta_host_set_jitter(strcmp(mode, "jitter") == 0 ? 20177u : 0u);
    ta_host_set_lazy(strcmp(mode, "lazy") == 0);
    ta_host_set_counters(strcmp(mode, "wrap") == 0 ? 0xfffffffdu : 0u);
}

static void reset(uint32_t instance)
{
#ifdef CONFORMANCE_EMULATOR
    if (instance == INSTANCE_DSP) {
        ta_process_fail(&dsp, TA_PROCESS_RESETS);
        return;
    }
#endif
    ta_host_fail(TIMELINE_OF(instance), 0, TA_ERROR_DEVICE);
}

static void lose(uint32_t timeline)
{
#ifdef CONFORMANCE_EMULATOR
    if (timeline == TIMELINE_OF(INSTANCE_DSP)) {
        ta_process_fail(&dsp, TA_PROCESS_ANSWER_LOST);
        return;
    }
#endif
    ta_host_lose(timeline, 0);
}

/* The bytes behind the memories and behind the constants; in front of an arena is the port's own filling. */
static int guards(int paint)
{
    enum { PAINT = 0x3c };
    uint8_t *const memory[] = {tcm_bytes, ram_0_bytes, ram_1_bytes, conformance_sram};
    const size_t used[] = {TCM_BYTES, RAM_BYTES, RAM_BYTES, SRAM_BYTES + ADD_BYTES};
    const size_t size[] = {sizeof tcm_bytes, sizeof ram_0_bytes, sizeof ram_1_bytes, sizeof conformance_sram};
    int intact = 1;
    for (size_t i = 0; i < sizeof used / sizeof used[0]; i++)
        for (size_t at = used[i]; at < size[i]; at++)
            if (paint)
                memory[i][at] = PAINT;
            else
                intact &= memory[i][at] == PAINT;
    for (size_t at = 0; at < 64 && !paint; at++)
        intact &= tcm_bytes[at] == TA_POISON && (at >= 32 || ram_1_bytes[at] == TA_POISON);
    return intact;
}

#ifdef CONFORMANCE_EMULATOR
#define IMAGE_BYTES CONFORMANCE_IMAGE_BYTES
#else
#define IMAGE_BYTES 0
#endif

const port_under_test under_test = {
    .port = &ta_port_host,
    .modes = modes,
    .set_mode = set_mode,
    .set_counters = ta_host_set_counters,
    .fail = ta_host_fail,
    .set_lazy = ta_host_set_lazy,
    .image = IMAGE,
    .image_bytes = IMAGE_BYTES,
    .lose = lose,
    .signal = ta_host_signal,
    .reset = reset,
    .guards = guards,
    .wrong_image = WRONG_IMAGE,
};
