/* The CUDA port: a host and one CUDA device, through the driver API.
 *
 * The driver cannot halt a kernel: `cancel` waits a while and then says so, and `close` throws the whole
 * context away where something in it did not end or failed.
 */
#include <string.h>

#include "ports/cuda/state.h"

ta_cuda_port_state ta_cuda_state = {.dispatching = TA_CUDA_NOBODY};

ta_status ta_cuda_judged(ta_cu_result result, const char *what, ta_status otherwise)
{
    const char *name = NULL;
    if (result == 0)
        return TA_OK;
    if (ta_cuda.error_name(result, &name) != 0 || name == NULL)
        name = "unknown error";
    ta_cuda_complain(what, name);
    return otherwise;
}

/* open and close */

static ta_status check(const ta_soc *soc, const ta_bundle *bundle)
{
    if (bundle->arena_count <= TA_CUDA_MAX_ARENAS && soc->memory_count <= TA_MAX_TIMELINES)
        return TA_OK;
    ta_cuda_complain(soc->name, "more memories or arenas than this port holds");
    return TA_ERROR_ARGUMENT;
}

static ta_status set_up(void)
{
    ta_cuda_port_state *all = &ta_cuda_state;
    ta_cu_result result = ta_cuda.device_get(&all->device, 0);
    if (result == 0)
        result = ta_cuda.context_retain(&all->context, all->device);
    if (result == 0)
        result = ta_cuda.context_set(all->context);
    ta_status status = ta_cuda_judged(result, "the device's context", TA_ERROR_DEVICE);
    for (uint32_t i = 0; i < all->soc->timeline_count && status == TA_OK; i++)
        status = ta_cuda_lane_open(&all->lanes[i]);
    return status == TA_OK ? ta_cuda_memory_open() : status;
}

static void tear_down(void)
{
    ta_cuda_memory_close();
    for (uint32_t i = 0; i < ta_cuda_state.soc->timeline_count; i++)
        ta_cuda_lane_close(&ta_cuda_state.lanes[i]);
    if (ta_cuda_state.context != NULL && ta_cuda_state.spoilt)
        (void)ta_cuda.context_reset(ta_cuda_state.device);
    if (ta_cuda_state.context != NULL)
        (void)ta_cuda.context_release(ta_cuda_state.device);
    ta_cuda_state.soc = NULL;
}

static ta_status cuda_open(const ta_port *port, const ta_soc *soc, const ta_bundle *bundle)
{
    static const ta_cuda_port_state fresh = {.dispatching = TA_CUDA_NOBODY};
    (void)port;
    if (ta_cuda_state.soc != NULL)
        return TA_ERROR_STATE;
    ta_status status = check(soc, bundle);
    if (status == TA_OK)
        status = ta_cuda_open();
    if (status != TA_OK)
        return status;
    ta_cuda_state = fresh;
    ta_cuda_state.soc = soc;
    ta_cuda_state.bundle = bundle;
    status = set_up();
    if (status != TA_OK)
        tear_down();
    return status;
}

static ta_status cuda_close(const ta_port *port)
{
    ta_status status = TA_OK;
    (void)port;
    if (ta_cuda_state.soc == NULL)
        return TA_ERROR_STATE;
    for (uint32_t i = 0; i < ta_cuda_state.soc->timeline_count; i++)
        if (ta_cuda_lane_drain(i) != TA_OK)
            status = TA_ERROR_TIMEOUT;
    if (status != TA_OK)
        ta_cuda_state.spoilt = 1;
    tear_down();
    return status;
}

/* load, start, stop */

/* Is this text of a program, or of PTX? Both must end with a zero. */
static int is_text(const uint8_t *image, uint32_t bytes)
{
    return bytes > 0 && image[bytes - 1u] == 0;
}

static ta_status another_device(uint32_t instance)
{
    ta_cuda_complain(ta_cuda_state.soc->instances[instance].name, "the port runs one device, from an image");
    return TA_ERROR_UNSUPPORTED;
}

static ta_status cuda_load(const ta_port *port, uint32_t instance, const uint8_t *image, uint32_t bytes)
{
    const char *text = (const char *)image;
    int major = 0, minor = 0;
    (void)port;
    if (ta_cuda_state.soc == NULL || ta_cuda_state.started)
        return TA_ERROR_STATE;
    if (image == NULL || (ta_cuda_state.module != NULL && ta_cuda_state.owner != instance))
        return another_device(instance);
    if (is_text(image, bytes) && strstr(text, "__global__") != NULL) {
        if (ta_cuda.device_attribute(&major, TA_CU_MAJOR, ta_cuda_state.device) != 0 ||
            ta_cuda.device_attribute(&minor, TA_CU_MINOR, ta_cuda_state.device) != 0)
            return TA_ERROR_DEVICE;
        const ta_status status = ta_cuda_compile(text, major, minor, &text);
        if (status != TA_OK)
            return status;
    }
    if (ta_cuda_state.module != NULL)
        (void)ta_cuda.module_unload(ta_cuda_state.module);
    ta_cuda_state.module = NULL;
    ta_cuda_state.owner = instance;
    const ta_cu_result loaded = ta_cuda.module_load(&ta_cuda_state.module, text);
    return ta_cuda_judged(loaded, "cuModuleLoadData", TA_ERROR_IMAGE);
}

static ta_status cuda_start(const ta_port *port, uint32_t instance)
{
    (void)port;
    if (ta_cuda_state.soc == NULL)
        return TA_ERROR_STATE;
    if (ta_cuda_state.soc->instances[instance].load_process == (uint32_t)TA_LOAD_LINKED)
        return another_device(instance);
    if (ta_cuda_state.module == NULL || ta_cuda_state.owner != instance)
        return TA_ERROR_STATE;
    ta_cuda_state.started = 1;
    return TA_OK;
}

static ta_status cuda_stop(const ta_port *port, uint32_t instance)
{
    (void)port;
    if (ta_cuda_state.soc == NULL)
        return TA_ERROR_STATE;
    const ta_status status = ta_cuda_lane_drain(ta_cuda_state.soc->instances[instance].timeline);
    if (status != TA_OK || ta_cuda_state.owner != instance)
        return status;
    if (ta_cuda_state.module != NULL)
        (void)ta_cuda.module_unload(ta_cuda_state.module);
    ta_cuda_state.module = NULL;
    ta_cuda_state.started = 0;
    return TA_OK;
}

/* copies */

static ta_status cuda_copy(const ta_port *port, const ta_copy *copy)
{
    (void)port;
    if (ta_cuda_state.soc == NULL)
        return TA_ERROR_STATE;
    uint8_t *target = ta_pointer(ta_cuda_state.bundle, copy->target);
    const uint8_t *source = ta_pointer(ta_cuda_state.bundle, copy->source);
    if (target == NULL || source == NULL)
        return TA_ERROR_ARGUMENT;
    const size_t target_stride = copy->target_stride, source_stride = copy->source_stride;
    for (size_t row = 0; row < copy->rows; row++)
        memmove(target + row * target_stride, source + row * source_stride, copy->row_bytes);
    return TA_OK;
}

static ta_status cuda_copy_async(const ta_port *port, uint32_t channel, const ta_copy *copy)
{
    (void)port;
    if (ta_cuda_state.soc == NULL)
        return TA_ERROR_STATE;
    if (ta_cuda_lane_full(channel))
        return TA_ERROR_BUSY;
    const ta_status status = ta_cuda_queue_copy(copy, ta_cuda_state.lanes[channel].stream);
    if (status != TA_OK && status != TA_ERROR_ARGUMENT)
        ta_cuda_state.spoilt = 1;
    return status != TA_OK ? status : ta_cuda_lane_submit(channel);
}

/* dispatch */

ta_status ta_cuda_launch(const char *kernel, uint32_t blocks, uint32_t threads, void *const *pointers,
                         uint32_t count)
{
    ta_cu_pointer values[TA_MAX_OPERANDS];
    void *parameters[TA_MAX_OPERANDS];
    ta_cu_function function = NULL;
    if (ta_cuda_state.soc == NULL || ta_cuda_state.dispatching == TA_CUDA_NOBODY)
        return TA_ERROR_STATE;
    if (count > TA_MAX_OPERANDS)
        return TA_ERROR_ARGUMENT;
    const uint32_t timeline = ta_cuda_state.soc->instances[ta_cuda_state.dispatching].timeline;
    const ta_cu_stream stream = ta_cuda_state.lanes[timeline].stream;
    for (uint32_t i = 0; i < count; i++) {
        values[i] = (ta_cu_pointer)(uintptr_t)pointers[i];
        parameters[i] = &values[i];
    }
    ta_cu_result result = ta_cuda.module_function(&function, ta_cuda_state.module, kernel);
    if (result != 0)
        return ta_cuda_judged(result, kernel, TA_ERROR_IMAGE);
    result = ta_cuda.launch(function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, NULL);
    if (result != 0)
        ta_cuda_state.spoilt = 1; /* a context that is lost refuses whatever is asked */
    return ta_cuda_judged(result, kernel, TA_ERROR_DEVICE);
}

/* A device reaches of the host's memories what is pinned. */
static int reaches(const ta_instance_info *info, uint32_t arena)
{
    const uint32_t memory = ta_cuda_state.bundle->arenas[arena].memory;
    return info->is_host || !ta_cuda_state.soc->memories[memory].host_visible || ta_cuda_state.pinned[arena];
}

static int observes(const ta_instance_info *info, uint32_t memory)
{
    for (uint32_t i = 0; i < info->observed_count; i++)
        if (info->observed[i].memory == memory)
            return 1;
    return info->is_host && ta_cuda_state.soc->memories[memory].host_visible;
}

static ta_status cuda_dispatch(const ta_port *port, const ta_dispatch *dispatch)
{
    void *pointers[TA_MAX_OPERANDS];
    (void)port;
    if (ta_cuda_state.soc == NULL)
        return TA_ERROR_STATE;
    const ta_instance_info *info = &ta_cuda_state.soc->instances[dispatch->instance];
    for (uint32_t i = 0; i < dispatch->ref_count; i++) {
        const uint32_t arena = dispatch->refs[i].arena;
        if (!observes(info, ta_cuda_state.bundle->arenas[arena].memory) || !reaches(info, arena))
            return TA_ERROR_ARGUMENT;
        pointers[i] = (void *)(uintptr_t)ta_cuda_place(dispatch->refs[i]);
    }
    if (info->is_host)
        return dispatch->kernel->function(pointers);
    if (!ta_cuda_state.started || ta_cuda_state.owner != dispatch->instance)
        return TA_ERROR_STATE;
    if (ta_cuda_lane_full(info->timeline))
        return TA_ERROR_BUSY;
    ta_cuda_state.dispatching = dispatch->instance;
    const ta_status status = dispatch->kernel->function(pointers);
    ta_cuda_state.dispatching = TA_CUDA_NOBODY;
    return status != TA_OK ? status : ta_cuda_lane_submit(info->timeline);
}

/* timelines */

static ta_status cuda_read_timeline(const ta_port *port, uint32_t timeline, uint32_t *value)
{
    (void)port;
    if (ta_cuda_state.soc == NULL)
        return TA_ERROR_STATE;
    ta_cuda_lane_advance(timeline);
    *value = ta_cuda_state.lanes[timeline].completed;
    return TA_OK;
}

static ta_status cuda_wait(const ta_port *port, uint32_t timeline, uint32_t value, uint32_t timeout_us)
{
    (void)port;
    return ta_cuda_state.soc == NULL ? TA_ERROR_STATE : ta_cuda_lane_wait(timeline, value, timeout_us);
}

static ta_status cuda_cancel(const ta_port *port, uint32_t timeline)
{
    (void)port;
    return ta_cuda_state.soc == NULL ? TA_ERROR_STATE : ta_cuda_lane_drain(timeline);
}

/* The driver keeps the host's cache coherent with what its copies read and write. */
static ta_status cuda_cache_clean(const ta_port *port, const void *start, uint32_t bytes)
{
    (void)port;
    (void)start;
    (void)bytes;
    return TA_OK;
}

static ta_status cuda_cache_invalidate(const ta_port *port, void *start, uint32_t bytes)
{
    (void)port;
    (void)start;
    (void)bytes;
    return TA_OK;
}

static ta_status cuda_now_us(const ta_port *port, uint64_t *now)
{
    (void)port;
    *now = ta_cuda_clock_us();
    return TA_OK;
}

const ta_port ta_port_cuda = {
    .version = TA_PORT_VERSION,
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .load = cuda_load,
    .start = cuda_start,
    .stop = cuda_stop,
    .copy = cuda_copy,
    .copy_async = cuda_copy_async,
    .dispatch = cuda_dispatch,
    .read_timeline = cuda_read_timeline,
    .wait = cuda_wait,
    .cancel = cuda_cancel,
    .cache_clean = cuda_cache_clean,
    .cache_invalidate = cuda_cache_invalidate,
    .now_us = cuda_now_us,
};
