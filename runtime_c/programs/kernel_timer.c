/* Measures one kernel: prints a hash of its results, and the seconds of a call. The same text as a shared object offers
 * both to TVM's RPC server, as functions of its C calling convention: so a server needs nothing but TVM, or its C++
 * runtime.
 *
 * `timed_kernel.h` is written for each kernel. It defines ROUNDS; RESULT, the array of the results; `call`, which calls
 * the kernel once; and `fill`, which fills its operands, with FILL and FILL_SUMS where their values do not matter.
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Pseudo-random bytes, and sums of biases that are small enough to overflow nothing. `state` is the caller's. */
#define FILL(array) FILL_WITH(array, (state >> 24) & 0xffu)
#define FILL_SUMS(array) FILL_WITH(array, (int32_t)(state >> 20) - 2048)
#define FILL_WITH(array, value)                                \
    do {                                                       \
        for (size_t i = 0; i < sizeof array / sizeof *array; i++) { \
            state = state * 1664525u + 1013904223u;            \
            array[i] = value;                                  \
        }                                                      \
    } while (0)

#include "timed_kernel.h"

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of processor time of one call: the least of `rounds`, each long enough for the clock. */
static double seconds(int rounds)
{
    double best = 1e30;
    long calls = 1;
    for (int round = 0; round < rounds; round++) {
        double each;
        for (;;) {
            const double start = now();
            for (long i = 0; i < calls; i++)
                call();
            each = now() - start;
            if (each >= 2e-3 || calls >= 1000000)
                break;
            calls *= 2;
        }
        each /= (double)calls;
        best = each < best ? each : best;
    }
    return best;
}

static int64_t hash(void)
{
    const unsigned char *bytes = (const unsigned char *)RESULT;
    uint64_t found = 0xcbf29ce484222325u;
    call();
    for (size_t i = 0; i < sizeof RESULT; i++)
        found = (found ^ bytes[i]) * 0x100000001b3u;
    return (int64_t)(found >> 1);
}

/* TVM's calling convention: a tagged value of 16 bytes; tag 1 is an integer, 3 a float. */
typedef struct {
    int32_t tag;
    uint32_t zero;
    union {
        int64_t integer;
        double real;
    } value;
} any;

int __tvm_ffi_seconds(void *self, const any *arguments, int32_t count, any *result)
{
    (void)self;
    if (count != 1 || arguments[0].tag != 1)
        return -1;
    fill();
    result->tag = 3;
    result->zero = 0;
    result->value.real = seconds((int)arguments[0].value.integer);
    return 0;
}

static int answer(any *result, int64_t value)
{
    result->tag = 1;
    result->zero = 0;
    result->value.integer = value;
    return 0;
}

int __tvm_ffi_hash(void *self, const any *arguments, int32_t count, any *result)
{
    (void)self;
    (void)arguments;
    (void)count;
    fill();
    return answer(result, hash());
}

/* The process that started this one: a server starts a process per session. */
int __tvm_ffi_server(void *self, const any *arguments, int32_t count, any *result)
{
    (void)self;
    (void)arguments;
    (void)count;
    return answer(result, (int64_t)getppid());
}

int main(void)
{
    fill();
    printf("%lld %.9e\n", (long long)hash(), seconds(ROUNDS));
    return 0;
}
