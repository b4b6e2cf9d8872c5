/* Runs every test in every mode of the port under test. Exit code 1 if one failed. */
#include <stdio.h>
#include <string.h>

#include "conformance/conformance.h"

ta_runtime rt;

const char *failed(const char *condition)
{
    (void)ta_stop(&rt);
    rt.watch = NULL;
    return condition;
}

static int report(unsigned number, const char *name, const char *mode, const char *result)
{
    const int skipped = result != NULL && strncmp(result, "skip: ", 6) == 0;
    const char *label = result == NULL ? "ok" : skipped ? "skip" : "not ok";
    printf("%s %u %s", label, number, name);
    if (mode[0] != '\0')
        printf(" (%s)", mode);
    if (result != NULL)
        printf(": %s", skipped ? result + 6 : result);
    printf("\n");
    (void)fflush(stdout); /* so that a crash shows after which test */
    return result != NULL && !skipped;
}

int main(void)
{
    const test_case *const groups[] = {core_tests, copy_tests, event_tests, device_tests,
                                        failure_tests, fault_tests, table_tests, core_of_host_tests};
    unsigned number = 0;
    int failures = 0;
    for (const char *const *mode = under_test.modes; *mode != NULL; mode++)
        for (size_t group = 0; group < sizeof groups / sizeof groups[0]; group++)
            for (const test_case *test = groups[group]; test->name != NULL; test++) {
                if (under_test.set_mode != NULL)
                    under_test.set_mode(*mode);
                failures += report(++number, test->name, *mode, test->run());
                (void)ta_stop(&rt);
            }
    printf("1..%u\n", number);
    return failures != 0;
}
