/* The services of a computer: frames are its standard input, results its standard output. */
#ifndef TARGET_ARCH_PROGRAMS_HOSTED_H
#define TARGET_ARCH_PROGRAMS_HOSTED_H

#include <stdio.h>

#include "target_arch/runtime.h"

/* A program has arguments, and can print numbers with a point. */
#define TA_PROGRAM_HOSTED

static inline int ta_open(const char *name, int for_writing)
{
    (void)name;
    return for_writing;
}

static inline int32_t ta_read(int handle, void *bytes, uint32_t count)
{
    (void)handle;
    return (int32_t)fread(bytes, 1, count, stdin);
}

static inline int32_t ta_write(int handle, const void *bytes, uint32_t count)
{
    (void)handle;
    return (int32_t)fwrite(bytes, 1, count, stdout);
}

static inline int ta_close(int handle)
{
    (void)handle;
    return fflush(stdout) == 0 ? 0 : -1;
}

/* Say what went wrong. */
static inline void ta_say(const char *text)
{
    (void)fputs(text, stderr);
}

static inline void ta_say_number(int32_t number)
{
    (void)fprintf(stderr, "%ld", (long)number);
}

/* Print results. */
static inline void ta_print(const char *text)
{
    (void)fputs(text, stdout);
}

static inline void ta_print_number(int32_t number)
{
    (void)printf("%ld", (long)number);
}

/* Nothing is counted. */
static inline void ta_clear_profile(void)
{
}

static inline ta_status ta_counted_run(uint32_t model)
{
    return ta_program_run(model);
}

static inline int ta_write_profile(void)
{
    return 1;
}

#endif
