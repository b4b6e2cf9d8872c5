/* The part of the CUDA driver API and of NVRTC that the port uses, opened at run time.
 *
 * Types and names follow NVIDIA's documentation of the driver API; the declarations are our own, since no
 * header of CUDA may be needed to build a bundle. Functions with an ABI suffix (`_v2`) have it here too.
 */
#ifndef TARGET_ARCH_PORT_CUDA_DRIVER_H
#define TARGET_ARCH_PORT_CUDA_DRIVER_H

#include <stddef.h>

#include "target_arch/abi.h"

#define TA_CU_NOT_READY 600 /* CUDA_ERROR_NOT_READY: an event that has not happened yet */
#define TA_CU_EVENT_DISABLE_TIMING 2u
#define TA_CU_STREAM_NON_BLOCKING 1u
#define TA_CU_MAJOR 75 /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR */
#define TA_CU_MINOR 76
#define TA_CU_HOST 1 /* CU_MEMORYTYPE_HOST */
#define TA_CU_DEVICE 2

typedef int ta_cu_result;
typedef int ta_cu_device;
typedef unsigned long long ta_cu_pointer;
typedef struct ta_cu_context_st *ta_cu_context;
typedef struct ta_cu_module_st *ta_cu_module;
typedef struct ta_cu_function_st *ta_cu_function;
typedef struct ta_cu_stream_st *ta_cu_stream;
typedef struct ta_cu_event_st *ta_cu_event;
typedef struct ta_nvrtc_program_st *ta_nvrtc_program;

/* One side of CUDA_MEMCPY2D. */
typedef struct ta_cu_side {
    size_t x_bytes;
    size_t y;
    int memory_type;
    const void *host;
    ta_cu_pointer device;
    void *array;
    size_t pitch;
} ta_cu_side;

typedef struct ta_cu_copy2d {
    ta_cu_side source;
    ta_cu_side target;
    size_t width_bytes;
    size_t height;
} ta_cu_copy2d;

typedef struct ta_cuda_driver {
    ta_cu_result (*init)(unsigned flags);
    ta_cu_result (*device_count)(int *count);
    ta_cu_result (*device_get)(ta_cu_device *device, int ordinal);
    ta_cu_result (*device_attribute)(int *value, int attribute, ta_cu_device device);
    ta_cu_result (*context_retain)(ta_cu_context *context, ta_cu_device device);
    ta_cu_result (*context_release)(ta_cu_device device);
    ta_cu_result (*context_reset)(ta_cu_device device);
    ta_cu_result (*context_set)(ta_cu_context context);
    ta_cu_result (*memory_alloc)(ta_cu_pointer *pointer, size_t bytes);
    ta_cu_result (*memory_free)(ta_cu_pointer pointer);
    ta_cu_result (*memory_fill)(ta_cu_pointer pointer, unsigned char byte, size_t bytes);
    ta_cu_result (*host_register)(void *pointer, size_t bytes, unsigned flags);
    ta_cu_result (*host_unregister)(void *pointer);
    ta_cu_result (*copy_async)(ta_cu_pointer target, ta_cu_pointer source, size_t bytes, ta_cu_stream stream);
    ta_cu_result (*copy2d_async)(const ta_cu_copy2d *copy, ta_cu_stream stream);
    ta_cu_result (*stream_create)(ta_cu_stream *stream, unsigned flags);
    ta_cu_result (*stream_destroy)(ta_cu_stream stream);
    ta_cu_result (*event_create)(ta_cu_event *event, unsigned flags);
    ta_cu_result (*event_destroy)(ta_cu_event event);
    ta_cu_result (*event_record)(ta_cu_event event, ta_cu_stream stream);
    ta_cu_result (*event_query)(ta_cu_event event);
    ta_cu_result (*module_load)(ta_cu_module *module, const void *image);
    ta_cu_result (*module_unload)(ta_cu_module module);
    ta_cu_result (*module_function)(ta_cu_function *function, ta_cu_module module, const char *name);
    ta_cu_result (*launch)(ta_cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                           unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                           ta_cu_stream stream, void **parameters, void **extra);
    ta_cu_result (*error_name)(ta_cu_result result, const char **name);
} ta_cuda_driver;

/* The driver's functions, after ta_cuda_open answered TA_OK. */
extern ta_cuda_driver ta_cuda;

/* Open the driver and start it. Opening an open one is TA_OK. TA_ERROR_UNSUPPORTED: there is none, or it
 * lacks a function, or it finds no device; `ta_cuda_complaint` says which. */
ta_status ta_cuda_open(void);

/* Compile CUDA C for compute capability `major`.`minor`. On success `*ptx` is the result, zero-terminated,
 * in a static buffer that the next call overwrites. TA_ERROR_UNSUPPORTED: no compiler. TA_ERROR_IMAGE: it refuses
 * the text, or the result exceeds TA_CUDA_PTX_BYTES. */
ta_status ta_cuda_compile(const char *source, int major, int minor, const char **ptx);

/* Keep a message for ta_cuda_complaint: the call, and its result. */
void ta_cuda_complain(const char *what, const char *outcome);

#endif
