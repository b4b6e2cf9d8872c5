/* The services of a machine without an operating system are functions of its port: files and messages are those of the
 * computer that emulates it, and a profile says what the steps of a run took. */
#ifndef TARGET_ARCH_PROGRAMS_MACHINE_H
#define TARGET_ARCH_PROGRAMS_MACHINE_H

#include "target_arch/runtime.h"

#define ta_open TA_PROGRAM_PORT(open)
#define ta_read TA_PROGRAM_PORT(read)
#define ta_write TA_PROGRAM_PORT(write)
#define ta_close TA_PROGRAM_PORT(close)
#define ta_say TA_PROGRAM_PORT(say)
#define ta_say_number TA_PROGRAM_PORT(say_number)
#define ta_print TA_PROGRAM_PORT(say)
#define ta_print_number TA_PROGRAM_PORT(say_number)

/* Words of a profile before those of the steps of all models: ticks of the last round, bytes of the stack used, bytes
 * it has. */
#define TA_PROFILE_HEAD 3u

static uint64_t ta_profile[TA_PROFILE_HEAD + TA_PROGRAM_STEPS];

static inline void ta_clear_profile(void)
{
    for (uint32_t i = 0; i < sizeof ta_profile / sizeof ta_profile[0]; i++)
        ta_profile[i] = 0;
}

/* Run a model once, and add what that took. */
static inline ta_status ta_counted_run(uint32_t model)
{
    uint64_t *steps = &ta_profile[TA_PROFILE_HEAD];
    uint64_t since;
    ta_status status;
    for (uint32_t i = 0; i < model; i++)
        steps += ta_program_bundles[i]->step_count;
    TA_PROGRAM_PORT(count_steps_of)(ta_program_bundles[model], steps, ta_program_bundles[model]->step_count);
    since = TA_PROGRAM_PORT(ticks)();
    status = ta_program_run(model);
    ta_profile[0] += TA_PROGRAM_PORT(ticks)() - since;
    TA_PROGRAM_PORT(count_steps)(NULL, 0);
    return status;
}

/* Write the file `profile`: little-endian words. 1, or 0 after a failure. */
static inline int ta_write_profile(void)
{
    const int file = ta_open("profile", 1);
    ta_profile[1] = TA_PROGRAM_PORT(stack_used)();
    ta_profile[2] = TA_PROGRAM_PORT(stack_bytes)();
    if (file < 0 || ta_write(file, ta_profile, sizeof ta_profile) != (int32_t)sizeof ta_profile)
        return 0;
    return ta_close(file) == 0;
}

#endif
