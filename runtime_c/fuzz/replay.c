/* Runs a fuzz target without libFuzzer, each input in a process of its own, so that a crash ends that one alone:
 *
 *     replay FIRST COUNT BYTES   inputs of at most so many bytes, made from the numbers FIRST, FIRST + 1, ...
 *
 * Prints how many inputs there were, how many the target took, and how many crashed, with the numbers of the first ten.
 * Exit code 1 where one did.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz/fuzz.h"

enum { MOST_BYTES = 4096, REFUSED = 0, ACCEPTED = 10, SHOWN = 10 };

static uint8_t bytes[MOST_BYTES];

/* xorshift, seeded so that neighbouring numbers have nothing in common. */
static uint32_t next(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static size_t make(uint32_t number, uint32_t most)
{
    uint32_t state = (number + 1u) * 0x9e3779b9u | 1u;
    for (int i = 0; i < 8; i++)
        (void)next(&state);
    const size_t count = 1u + next(&state) % most;
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(next(&state) >> 24);
    return count;
}

/* ACCEPTED, REFUSED, or anything else for a crash. */
static int attempt(size_t count)
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        (void)LLVMFuzzerTestOneInput(bytes, count);
        _exit(fuzz_accepted ? ACCEPTED : REFUSED);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("replay");
        exit(2);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char **argv)
{
    uint32_t accepted = 0, crashed = 0;
    if (argc != 4)
        return 2;
    const uint32_t first = (uint32_t)strtoul(argv[1], NULL, 0), total = (uint32_t)strtoul(argv[2], NULL, 0);
    const uint32_t most = (uint32_t)strtoul(argv[3], NULL, 0);
    if (most == 0 || most > MOST_BYTES)
        return 2;
    for (uint32_t number = first; number - first < total; number++) {
        const int answer = attempt(make(number, most));
        accepted += answer == ACCEPTED;
        if (answer == ACCEPTED || answer == REFUSED)
            continue;
        if (++crashed <= SHOWN)
            printf("crashed: %u\n", (unsigned)number);
    }
    printf("%u inputs, %u accepted, %u crashed\n", (unsigned)total, (unsigned)accepted, (unsigned)crashed);
    return crashed != 0;
}
