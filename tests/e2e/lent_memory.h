/* Memory of the caller, for programs that define _POSIX_C_SOURCE. */
#ifndef LENT_MEMORY_H
#define LENT_MEMORY_H

#include <stdlib.h>
#include <string.h>

/* New memory whose bytes are no zeros. Ends the program where there is none. */
static void *aligned(size_t alignment, size_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, alignment < sizeof memory ? sizeof memory : alignment, bytes) != 0)
        abort();
    memset(memory, 0x5a, bytes);
    return memory;
}

#endif
