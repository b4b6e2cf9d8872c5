/* Weights files, compared with their checks before anything uses them. */
#include "weights/weights.h"

#include "integrity/integrity.h"

#define HEAD 16u /* "TAW1", number of tensors, number of the program */

static uint32_t word(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static ta_status damage(const char *what, const char **damaged)
{
    *damaged = what;
    return TA_ERROR_CORRUPT;
}

/* The first tensor that ends behind `bytes`. */
static const char *truncated(const ta_weights *weights, uint32_t bytes)
{
    for (uint32_t i = 0; i < weights->count; i++)
        if (weights->tensors[i].offset + weights->tensors[i].bytes > bytes)
            return weights->tensors[i].name;
    return "checks";
}

static ta_status compare(const ta_weights *weights, const ta_port *port, const uint8_t *start, const uint8_t *checks,
                         const char **damaged)
{
    const uint32_t before = HEAD + 4u * weights->count;
    const uint64_t program = word(checks + 8) | (uint64_t)word(checks + 12) << 32;
    if (word(checks) != 0x31574154u || word(checks + 4) != weights->count)
        return damage("checks", damaged);
    if (ta_crc32c(0, checks, before) != word(checks + before))
        return damage("checks", damaged);
    if (program != weights->program)
        return TA_ERROR_ABI_MISMATCH;
    for (uint32_t i = 0; i < weights->count; i++) {
        const ta_weight *tensor = &weights->tensors[i];
        if (ta_crc32c_on(port, 0, start + tensor->offset, tensor->bytes) != word(checks + HEAD + 4u * i))
            return damage(tensor->name, damaged);
    }
    return TA_OK;
}

/* Is this an address at which the arena can be? */
static int suits(const ta_weights *weights, const ta_soc *soc, const void *start)
{
    const uintptr_t at = (uintptr_t)start;
    if (start == NULL || (at & (weights->lent->alignment - 1u)) != 0u)
        return 0;
#ifdef TA_SECTIONS
    const ta_memory_info *memory = &soc->memories[weights->memory];
    if (weights->lent->bound && (at < memory->address || at - memory->address > memory->bytes - weights->bytes))
        return 0;
#else
    (void)soc;
#endif
    return 1;
}

ta_status ta_weights_use(const ta_weights *weights, const ta_soc *soc, const ta_port *port, const void *start,
                         uint32_t bytes, const char **damaged)
{
    if (weights == NULL || damaged == NULL)
        return TA_ERROR_ARGUMENT;
    *damaged = NULL;
    if (soc == NULL || weights->start == NULL)
        return TA_ERROR_ARGUMENT;
    *weights->start = NULL;
    if (!suits(weights, soc, start))
        return TA_ERROR_ARGUMENT;
    if (bytes < TA_WEIGHTS_FILE_BYTES(weights->bytes, weights->count))
        return damage(truncated(weights, bytes), damaged);
    const uint8_t *first = start;
    ta_status status = compare(weights, port, first, first + weights->bytes, damaged);
    if (status == TA_OK)
        *weights->start = start;
    return status;
}

ta_status ta_weights_check(const ta_weights *weights, const ta_port *port, const char **damaged)
{
    if (weights == NULL || damaged == NULL)
        return TA_ERROR_ARGUMENT;
    *damaged = NULL;
    if (weights->start == NULL)
        return compare(weights, port, weights->linked, weights->checks, damaged);
    const uint8_t *first = *weights->start;
    return first == NULL ? TA_ERROR_STATE : compare(weights, port, first, first + weights->bytes, damaged);
}

ta_status ta_weights_at(const ta_weights *weights, const ta_soc *soc, const ta_port *port, const void *start,
                        const char **damaged)
{
    if (weights == NULL || weights->start == NULL)
        return TA_ERROR_ARGUMENT;
    if (*weights->start != NULL)
        return ta_weights_check(weights, port, damaged);
    const uint32_t bytes = TA_WEIGHTS_FILE_BYTES(weights->bytes, weights->count);
    return ta_weights_use(weights, soc, port, start, bytes, damaged);
}
