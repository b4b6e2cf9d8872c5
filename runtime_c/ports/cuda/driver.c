/* Opens the CUDA driver and the run-time compiler, and looks their functions up. */
#define _POSIX_C_SOURCE 200809L

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ports/cuda/cuda.h"
#include "ports/cuda/driver.h"

#ifndef TA_CUDA_PTX_BYTES
#define TA_CUDA_PTX_BYTES (4u << 20) /* of zeros that the system provides when they are touched */
#endif

TA_STATIC_ASSERT(sizeof(void *) == sizeof(void (*)(void)), dlsym_can_answer_functions);

ta_cuda_driver ta_cuda;

static char complaint[512];
static void *driver_library;

const char *ta_cuda_complaint(void)
{
    return complaint;
}

void ta_cuda_complain(const char *what, const char *outcome)
{
    (void)snprintf(complaint, sizeof complaint, "%.100s: %.400s", what, outcome);
}

/* The library that the environment names, else the first of `names` that is there. */
static void *open_library(const char *variable, const char *const *names)
{
    const char *wanted = getenv(variable);
    void *library = NULL;
    if (wanted != NULL && wanted[0] != '\0')
        return dlopen(wanted, RTLD_NOW | RTLD_LOCAL);
    for (; library == NULL && *names != NULL; names++)
        library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    return library;
}

/* C has no cast from an object pointer to a function pointer; POSIX promises that the bytes are the same. */
static int find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    if (symbol == NULL)
        ta_cuda_complain(name, "the library lacks this function");
    return symbol != NULL;
}

static int find_all(void *library)
{
    return find(library, "cuInit", &ta_cuda.init) &&
           find(library, "cuDeviceGetCount", &ta_cuda.device_count) &&
           find(library, "cuDeviceGet", &ta_cuda.device_get) &&
           find(library, "cuDeviceGetAttribute", &ta_cuda.device_attribute) &&
           find(library, "cuDevicePrimaryCtxRetain", &ta_cuda.context_retain) &&
           find(library, "cuDevicePrimaryCtxRelease_v2", &ta_cuda.context_release) &&
           find(library, "cuDevicePrimaryCtxReset_v2", &ta_cuda.context_reset) &&
           find(library, "cuCtxSetCurrent", &ta_cuda.context_set) &&
           find(library, "cuMemAlloc_v2", &ta_cuda.memory_alloc) &&
           find(library, "cuMemFree_v2", &ta_cuda.memory_free) &&
           find(library, "cuMemsetD8_v2", &ta_cuda.memory_fill) &&
           find(library, "cuMemHostRegister_v2", &ta_cuda.host_register) &&
           find(library, "cuMemHostUnregister", &ta_cuda.host_unregister) &&
           find(library, "cuMemcpyAsync", &ta_cuda.copy_async) &&
           find(library, "cuMemcpy2DAsync_v2", &ta_cuda.copy2d_async) &&
           find(library, "cuStreamCreate", &ta_cuda.stream_create) &&
           find(library, "cuStreamDestroy_v2", &ta_cuda.stream_destroy) &&
           find(library, "cuEventCreate", &ta_cuda.event_create) &&
           find(library, "cuEventDestroy_v2", &ta_cuda.event_destroy) &&
           find(library, "cuEventRecord", &ta_cuda.event_record) &&
           find(library, "cuEventQuery", &ta_cuda.event_query) &&
           find(library, "cuModuleLoadData", &ta_cuda.module_load) &&
           find(library, "cuModuleUnload", &ta_cuda.module_unload) &&
           find(library, "cuModuleGetFunction", &ta_cuda.module_function) &&
           find(library, "cuLaunchKernel", &ta_cuda.launch) &&
           find(library, "cuGetErrorName", &ta_cuda.error_name);
}

static ta_status no_device(const char *what, const char *outcome)
{
    ta_cuda_complain(what, outcome);
    (void)dlclose(driver_library);
    driver_library = NULL;
    return TA_ERROR_UNSUPPORTED;
}

ta_status ta_cuda_open(void)
{
    static const char *const names[] = {"libcuda.so.1", "libcuda.so", NULL};
    int count = 0;
    if (driver_library != NULL)
        return TA_OK;
    driver_library = open_library("TA_CUDA_DRIVER", names);
    if (driver_library == NULL) {
        ta_cuda_complain("libcuda.so.1", "no CUDA driver");
        return TA_ERROR_UNSUPPORTED;
    }
    if (!find_all(driver_library))
        return no_device("libcuda.so.1", "the driver is too old");
    if (ta_cuda.init(0) != 0)
        return no_device("cuInit", "the driver does not start");
    if (ta_cuda.device_count(&count) != 0 || count == 0)
        return no_device("cuDeviceGetCount", "the driver finds no device");
    return TA_OK;
}

typedef struct compiler {
    int (*create)(ta_nvrtc_program *program, const char *source, const char *name, int headers,
                  const char *const *texts, const char *const *names);
    int (*destroy)(ta_nvrtc_program *program);
    int (*compile)(ta_nvrtc_program program, int count, const char *const *options);
    int (*ptx_size)(ta_nvrtc_program program, size_t *bytes);
    int (*ptx)(ta_nvrtc_program program, char *text);
    int (*log_size)(ta_nvrtc_program program, size_t *bytes);
    int (*log)(ta_nvrtc_program program, char *text);
} compiler;

static int find_compiler(void *library, compiler *found)
{
    return find(library, "nvrtcCreateProgram", &found->create) &&
           find(library, "nvrtcDestroyProgram", &found->destroy) &&
           find(library, "nvrtcCompileProgram", &found->compile) &&
           find(library, "nvrtcGetPTXSize", &found->ptx_size) && find(library, "nvrtcGetPTX", &found->ptx) &&
           find(library, "nvrtcGetProgramLogSize", &found->log_size) &&
           find(library, "nvrtcGetProgramLog", &found->log);
}

static char ptx_text[TA_CUDA_PTX_BYTES];

/* The beginning of what the compiler said. The buffer of the result is free while there is none. */
static ta_status refused(const compiler *with, ta_nvrtc_program program)
{
    size_t bytes = 0;
    if (with->log_size(program, &bytes) == 0 && bytes <= sizeof ptx_text && with->log(program, ptx_text) == 0)
        ta_cuda_complain("the CUDA compiler refuses the module", ptx_text);
    else
        ta_cuda_complain("nvrtcCompileProgram", "the CUDA compiler refuses the module");
    return TA_ERROR_IMAGE;
}

static ta_status compile_with(const compiler *with, const char *source, const char *architecture)
{
    /* Without contraction, so that float32 results are those of the other backends. */
    const char *const options[] = {architecture, "--fmad=false"};
    ta_nvrtc_program program = NULL;
    size_t bytes = 0;
    ta_status status = TA_OK;
    if (with->create(&program, source, "module.cu", 0, NULL, NULL) != 0)
        return TA_ERROR_IMAGE;
    if (with->compile(program, 2, options) != 0)
        status = refused(with, program);
    else if (with->ptx_size(program, &bytes) != 0 || bytes > sizeof ptx_text ||
             with->ptx(program, ptx_text) != 0) {
        ta_cuda_complain("nvrtcGetPTX", "the compiled module is larger than TA_CUDA_PTX_BYTES");
        status = TA_ERROR_IMAGE;
    }
    (void)with->destroy(&program);
    return status;
}

ta_status ta_cuda_compile(const char *source, int major, int minor, const char **ptx)
{
    static const char *const names[] = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                        NULL};
    char architecture[48];
    compiler with;
    void *library = open_library("TA_CUDA_COMPILER", names);
    if (library == NULL) {
        ta_cuda_complain("libnvrtc.so", "no run-time compiler for CUDA C");
        return TA_ERROR_UNSUPPORTED;
    }
    (void)snprintf(architecture, sizeof architecture, "--gpu-architecture=compute_%d%d", major, minor);
    const ta_status status =
        find_compiler(library, &with) ? compile_with(&with, source, architecture) : TA_ERROR_UNSUPPORTED;
    (void)dlclose(library);
    *ptx = ptx_text;
    return status;
}
