/* What programs that run for long draw, and what their process holds. Includers define _POSIX_C_SOURCE. */
#ifndef SOAKING_H
#define SOAKING_H

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static uint32_t state; /* of the numbers that are drawn; not 0 */

static uint32_t next(void)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static unsigned long resident_kib(void)
{
    unsigned long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%lu %lu", &total, &resident) != 2)
        exit(2);
    (void)fclose(file);
    return resident * (unsigned long)sysconf(_SC_PAGESIZE) / 1024u;
}

static unsigned descriptors(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL)
        exit(2);
    while (readdir(folder) != NULL)
        count++;
    (void)closedir(folder);
    return count - 3u; /* ".", ".." and the folder itself */
}

#endif
