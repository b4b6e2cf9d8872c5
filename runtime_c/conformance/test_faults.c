/* Faults of a chip, one at a time: the runtime names the step and the device, runs work again after
 * stop and init, and no byte outside the pools was touched. */
#include <string.h>

#include "conformance/conformance.h"

enum { A = 0, B = 256, OUT_DSP = 512, OUT_ADDER = 768, IMAGE_ROOM = 131072 };
#define PATIENCE_US 500000u

static workload w;
static struct {
    uint32_t load, copy, call, command;
} steps;
static uint8_t image[IMAGE_ROOM];

/* Both inputs go to a core and to an adder, by DMA; both sums come back. */
static void add_both(void)
{
    begin(&w);
    steps.load = add_load(&w, INSTANCE_DSP);
    (void)add_load(&w, INSTANCE_ADDER_0);
    steps.copy = add_copy(&w, CHANNEL_0, sram(A), tcm(0), ADD_BYTES);
    (void)add_copy(&w, CHANNEL_0, sram(B), tcm(512), ADD_BYTES);
    (void)add_copy(&w, CHANNEL_1, sram(A), ram_0(0), ADD_BYTES);
    (void)add_copy(&w, CHANNEL_1, sram(B), ram_0(512), ADD_BYTES);
    (void)add_wait(&w, CHANNEL_0);
    steps.call = add_call(&w, INSTANCE_DSP, tcm(0), tcm(512), tcm(1024));
    (void)add_wait(&w, CHANNEL_1);
    steps.command = add_command(&w, INSTANCE_ADDER_0, ADD_BYTES, ram_0(0), ram_0(512), ram_0(1024));
    (void)add_wait(&w, TIMELINE_OF(INSTANCE_DSP));
    (void)add_copy(&w, CHANNEL_0, tcm(1024), sram(OUT_DSP), ADD_BYTES);
    (void)add_wait(&w, TIMELINE_OF(INSTANCE_ADDER_0));
    (void)add_copy(&w, CHANNEL_1, ram_0(1024), sram(OUT_ADDER), ADD_BYTES);
    (void)add_wait(&w, CHANNEL_0);
    (void)add_wait(&w, CHANNEL_1);
}

/* Each says whether it could. */
static int dma_error(void)
{
    under_test.fail(CHANNEL_0, 0, TA_ERROR_DMA);
    return 1;
}

static int dma_hangs(void)
{
    under_test.fail(CHANNEL_0, 0, TA_ERROR_TIMEOUT);
    return 1;
}

static int dma_interrupt_lost(void)
{
    under_test.lose(CHANNEL_0);
    return 1;
}

static int core_resets(void)
{
    under_test.reset(INSTANCE_DSP);
    return 1;
}

static int core_interrupt_lost(void)
{
    under_test.lose(TIMELINE_OF(INSTANCE_DSP));
    return 1;
}

static int device_resets(void)
{
    under_test.reset(INSTANCE_ADDER_0);
    return 1;
}

static int device_hangs(void)
{
    w.words[1] = ADDER_HANGS;
    return 1;
}

static int device_faults(void)
{
    w.words[1] = 0;
    return 1;
}

static int device_interrupt_lost(void)
{
    under_test.lose(TIMELINE_OF(INSTANCE_ADDER_0));
    return 1;
}

/* The dsp gets an image of our own making; `crc32` says whether the check of its sum shall pass. */
static void give_image(uint32_t bytes, uint32_t sum)
{
    w.loads[0].image = image;
    w.loads[0].image_bytes = bytes;
    w.loads[0].image_crc32 = sum;
}

static int image_corrupt(void)
{
    const uint32_t bytes = under_test.image != NULL ? under_test.image_bytes : 64u;
    if (bytes > IMAGE_ROOM)
        return 0;
    if (under_test.image != NULL)
        memcpy(image, under_test.image, bytes);
    const uint32_t sum = ta_crc32(image, bytes);
    image[bytes / 2u] ^= 0x10u;
    give_image(bytes, sum);
    return 1;
}

static int image_cut_short(void)
{
    if (under_test.image == NULL || under_test.image_bytes > IMAGE_ROOM)
        return 0;
    memcpy(image, under_test.image, under_test.image_bytes);
    give_image(under_test.image_bytes - 8u, ta_crc32(image, under_test.image_bytes - 8u));
    return 1;
}

/* Bytes 18 and 19 of an ELF file name its machine. */
static int image_for_another_machine(void)
{
    if (under_test.image == NULL || under_test.image_bytes > IMAGE_ROOM)
        return 0;
    memcpy(image, under_test.image, under_test.image_bytes);
    image[18] ^= 1u;
    give_image(under_test.image_bytes, ta_crc32(image, under_test.image_bytes));
    return 1;
}

/* The description's hash stands in the image as eight bytes, the lowest first. */
static int image_of_another_description(void)
{
    uint8_t hash[8];
    if (under_test.image == NULL || under_test.image_bytes > IMAGE_ROOM)
        return 0;
    memcpy(image, under_test.image, under_test.image_bytes);
    for (uint32_t i = 0; i < sizeof hash; i++)
        hash[i] = (uint8_t)((uint64_t)CONFORMANCE_HASH >> (8u * i));
    for (uint32_t i = 0; i + sizeof hash <= under_test.image_bytes; i++)
        if (memcmp(image + i, hash, sizeof hash) == 0)
            image[i] ^= 1u;
    give_image(under_test.image_bytes, ta_crc32(image, under_test.image_bytes));
    return 1;
}

static int bundle_of_another_description(void)
{
    w.bundle.abi_hash ^= 1u;
    return 1;
}

typedef struct fault {
    const char *name;
    int (*inject)(void);
    uint32_t early; /* 1: before init, which answers `status`; 0: before the first run, which does */
    ta_status status;
    const uint32_t *step; /* NULL: none is to blame */
    const char *device;
} fault;

static const fault faults[] = {
    {"DMA error", dma_error, 0, TA_ERROR_DMA, &steps.copy, "dma.0"},
    {"DMA that never completes", dma_hangs, 0, TA_ERROR_TIMEOUT, &steps.copy, "dma.0"},
    {"DMA interrupt lost", dma_interrupt_lost, 0, TA_ERROR_TIMEOUT, &steps.copy, "dma.0"},
    {"core resets", core_resets, 0, TA_ERROR_DEVICE, &steps.call, "dsp"},
    {"core's doorbell lost", core_interrupt_lost, 0, TA_ERROR_TIMEOUT, &steps.call, "dsp"},
    {"device resets", device_resets, 0, TA_ERROR_DEVICE, &steps.command, "adder[0]"},
    {"device never answers", device_hangs, 0, TA_ERROR_TIMEOUT, &steps.command, "adder[0]"},
    {"device reports a fault", device_faults, 0, TA_ERROR_DEVICE, &steps.command, "adder[0]"},
    {"device interrupt lost", device_interrupt_lost, 0, TA_ERROR_TIMEOUT, &steps.command, "adder[0]"},
    {"image corrupt", image_corrupt, 1, TA_ERROR_IMAGE, &steps.load, "dsp"},
    {"image cut short", image_cut_short, 1, TA_ERROR_IMAGE, &steps.load, "dsp"},
    {"image for another machine", image_for_another_machine, 1, TA_ERROR_IMAGE, &steps.load, "dsp"},
    {"image of another description", image_of_another_description, 1, TA_ERROR_ABI_MISMATCH, &steps.load, "dsp"},
    {"bundle of another description", bundle_of_another_description, 1, TA_ERROR_ABI_MISMATCH, NULL, NULL},
};

static int named(const char *device)
{
    const char *found = ta_failed_device(&rt);
    return device == NULL ? found == NULL : found != NULL && strcmp(found, device) == 0;
}

/* A whole run from init to stop gives both sums, and nothing is written beside the pools. */
static int works(uint32_t seed)
{
    if (ta_init(&rt, &w.bundle, &conformance_soc, under_test.port) != TA_OK)
        return 0;
    for (uint32_t i = 0; i < 2; i++) {
        fill(A, 1024, seed + i);
        if (ta_run(&rt) != TA_OK || !is_sum(A, B, OUT_DSP, ADD_BYTES) || !is_sum(A, B, OUT_ADDER, ADD_BYTES))
            return 0;
    }
    return ta_stop(&rt) == TA_OK && under_test.guards(0);
}

static const char *suffer(const fault *f)
{
    add_both();
    if (f->early && !f->inject())
        return NULL;
    const ta_status status = ta_init(&rt, &w.bundle, &conformance_soc, under_test.port);
    const uint32_t step = f->step == NULL ? TA_NO_STEP : *f->step;
    if (f->early) {
        CHECK(status == f->status && rt.failed_step == step && named(f->device));
        CHECK(ta_run(&rt) == TA_ERROR_STATE);
    } else {
        CHECK(status == TA_OK);
        rt.timeout_us = f->status == TA_ERROR_TIMEOUT ? PATIENCE_US : TA_DEFAULT_TIMEOUT_US;
        fill(A, 1024, 3);
        (void)f->inject();
        CHECK(ta_run(&rt) == f->status && rt.failed_step == step && named(f->device));
        CHECK(ta_stop(&rt) == TA_OK);
    }
    CHECK(under_test.guards(0));
    add_both();
    CHECK(works(7));
    return NULL;
}

static const char *faults_one_by_one(void)
{
    SKIP_WITHOUT(under_test.fail && under_test.lose && under_test.reset && under_test.guards, "no faults to inject");
    CHECK(under_test.guards(1));
    add_both();
    CHECK(works(1));
    for (uint32_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        const char *result = suffer(&faults[i]);
        if (result != NULL)
            return result;
    }
    return NULL;
}

const test_case fault_tests[] = {
    {"every fault is named, and survived", faults_one_by_one},
    {NULL, NULL},
};
