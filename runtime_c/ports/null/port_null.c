/* The null port: a system that is nothing but its host. Clone this folder to port the runtime.
 *
 * It runs bundles whose every partition is on the host, in any C99 environment, with no operating system.
 * An operation that it lacks is NULL below, and ta_init answers TA_ERROR_UNSUPPORTED to a bundle that needs it.
 * To port, replace NULLs one at a time (port.h says what each operation promises) and run the conformance
 * suite after each.
 */
#include "target_arch/runtime.h"

/* The arguments of `open`. A port for real hardware keeps its queues and counters beside these. */
static const ta_bundle *opened;
static const ta_soc *described;

static ta_status null_open(const ta_port *port, const ta_soc *soc, const ta_bundle *bundle)
{
    (void)port;
    if (opened != NULL)
        return TA_ERROR_STATE;
    described = soc; /* a real port checks here that it runs on this SoC, enables clocks, resets DMA engines */
    opened = bundle;
    return TA_OK;
}

static ta_status null_close(const ta_port *port)
{
    (void)port;
    if (opened == NULL)
        return TA_ERROR_STATE;
    opened = NULL;
    return TA_OK;
}

/* Bytes one after the other, from the end where the target is behind the source, so that the two may
 * overlap. */
static void copy_row(uint8_t *target, const uint8_t *source, uint32_t bytes)
{
    if ((uintptr_t)target < (uintptr_t)source)
        for (uint32_t i = 0; i < bytes; i++)
            target[i] = source[i];
    else
        for (uint32_t left = bytes; left > 0u; left--)
            target[left - 1u] = source[left - 1u];
}

static ta_status null_copy(const ta_port *port, const ta_copy *copy)
{
    (void)port;
    uint8_t *target = ta_pointer(opened, copy->target);
    const uint8_t *source = ta_pointer(opened, copy->source);
    if (target == NULL || source == NULL)
        return TA_ERROR_ARGUMENT;
    const size_t target_stride = copy->target_stride, source_stride = copy->source_stride;
    for (size_t row = 0; row < copy->rows; row++)
        copy_row(target + row * target_stride, source + row * source_stride, copy->row_bytes);
    return TA_OK;
}

static ta_status null_dispatch(const ta_port *port, const ta_dispatch *dispatch)
{
    (void)port;
    void *pointers[TA_MAX_OPERANDS];
    if (!described->instances[dispatch->instance].is_host)
        return TA_ERROR_STATE; /* nothing here starts another core */
    for (uint32_t i = 0; i < dispatch->ref_count; i++) {
        pointers[i] = ta_pointer(opened, dispatch->refs[i]);
        if (pointers[i] == NULL)
            return TA_ERROR_ARGUMENT; /* the host does not see that memory */
    }
    return dispatch->kernel->function(pointers);
}

extern const ta_port ta_port_null;
const ta_port ta_port_null = {
    .version = TA_PORT_VERSION,
    .name = "null",
    .open = null_open,
    .close = null_close,
    .load = NULL,             /* give an instance its program: copy firmware, write a bitstream */
    .start = NULL,            /* release its reset */
    .stop = NULL,             /* hold it in reset; nothing it had in flight touches memory any more */
    .copy = null_copy,        /* by the CPU */
    .copy_async = NULL,       /* program a DMA channel; TA_ERROR_BUSY when its queue is full */
    .dispatch = null_dispatch, /* the host runs the function here and now; any other core gets a message */
    .address = NULL,          /* where an instance sees a byte: for devices that take operands by address */
    .read_timeline = NULL,    /* the completion counter of a channel or instance */
    .wait = NULL,             /* sleep until an interrupt moved the counter far enough */
    .cancel = NULL,           /* abort a channel or device */
    .mmio_read32 = NULL,      /* registers of an instance, for its driver */
    .mmio_write32 = NULL,
    .cache_clean = NULL,      /* NULL is right for a host without a cache only if no copy path names a duty */
    .cache_invalidate = NULL,
    .now_us = NULL,           /* a free-running timer; reports and deadlines use it */
    .crc32c = NULL,           /* a CRC unit; without one, software computes it */
    .dispatch_all = NULL,     /* several calls in one message; without it, each has its own */
    .succeeded = NULL,        /* a look at the completion counter, where failures are known; without it, `wait` */
};
