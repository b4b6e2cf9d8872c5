/* Weights files of a computer: mapped, so that pages come as they are read, and never given back. */
#define _POSIX_C_SOURCE 200809L

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weights/weights.h"

#define LONGEST 4096

/* The bytes of a file; NULL where it cannot be read or has none. */
static const void *mapped(const char *path, uint32_t *bytes)
{
    struct stat about;
    void *start = MAP_FAILED;
    const int file = open(path, O_RDONLY);
    if (file < 0)
        return NULL;
    if (fstat(file, &about) == 0 && about.st_size > 0 && (uint64_t)about.st_size <= UINT32_MAX)
        start = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    (void)close(file);
    if (start == MAP_FAILED)
        return NULL;
    *bytes = (uint32_t)about.st_size;
    return start;
}

ta_status ta_weights_map(const ta_weights *weights, const ta_soc *soc, const ta_port *port, const char **damaged)
{
    char path[LONGEST];
    uint32_t bytes = 0;
    if (weights == NULL || damaged == NULL || weights->start == NULL)
        return TA_ERROR_ARGUMENT;
    if (*weights->start != NULL)
        return ta_weights_check(weights, port, damaged);
    const char *folder = getenv("TARGET_ARCH_WEIGHTS");
    const int length = snprintf(path, sizeof path, "%s/%s", folder == NULL ? "weights" : folder, weights->file);
    const void *start = length < 0 || length >= LONGEST ? NULL : mapped(path, &bytes);
    if (start == NULL) {
        *damaged = weights->file;
        return TA_ERROR_CORRUPT;
    }
    const ta_status status = ta_weights_use(weights, soc, port, start, bytes, damaged);
    if (status != TA_OK)
        (void)munmap((void *)(uintptr_t)start, bytes);
    return status;
}
