/* Transposed convolutions as convolutions: the outputs whose rows, and those whose columns, are as far from a multiple
 * of the stride are sums over the same elements of the kernel, those that many elements apart, last ones first.
 */
#ifndef TA_KERNELS_TRANSPOSED_H
#define TA_KERNELS_TRANSPOSED_H

#include <stdint.h>

/* Along rows or columns, for the outputs of one distance from a multiple of the stride. */
typedef struct {
    int32_t first, count; /* the first of them, and how many there are */
    int32_t taps;         /* elements of the kernel */
    int32_t before;       /* of these, how many are before the image at the first one */
} ta_phase;

/* Outputs at `distance`, of `extent` outputs of a kernel of `kernel` elements, `cut` of which are left out before the
 * first; the kernel is at least as large as the stride. */
static inline ta_phase ta_phase_of(int32_t distance, int32_t stride, int32_t kernel, int32_t cut, int32_t extent)
{
    const int32_t behind = (distance - cut) % stride;
    ta_phase phase = {behind < 0 ? behind + stride : behind, 0, (kernel - distance + stride - 1) / stride, 0};
    phase.count = phase.first < extent ? (extent - phase.first + stride - 1) / stride : 0;
    phase.before = phase.taps - 1 - (phase.first + cut - distance) / stride;
    return phase;
}

#endif
