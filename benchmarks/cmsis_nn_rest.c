/* Functions of CMSIS-NN that TensorFlow Lite Micro calls and the backend `cmsis_nn` does not, for their
 * instructions: the dense layers of ad01_int8 with -DDENSE, the additions of ic_resnet_int8 with -DADD.
 *
 * A program for a board of QEMU without an operating system; values do not matter.
 */
#include <stdint.h>

#include "arm_nnfunctions.h"
#include "arm_nnsupportfunctions.h"

int main(void);

static int8_t x[1 << 15], y[1 << 15], z[1 << 15], weights[640 * 128];
static int32_t bias[640], sums[2 * 640];

#ifdef DENSE
static void dense(int in, int out)
{
    const cmsis_nn_context context = {sums, sizeof sums};
    const cmsis_nn_fc_params params = {.input_offset = 3, .output_offset = -4, .activation = {-128, 127}};
    const cmsis_nn_per_tensor_quant_params quantization = {1717986918, -7};
    const cmsis_nn_dims from = {1, 1, 1, in}, filter = {in, 1, 1, out}, to = {1, 1, 1, out};
#if defined(ARM_MATH_MVEI)
    (void)arm_vector_sum_s8(sums, in, out, weights, params.input_offset, 0, bias);
#endif
    (void)arm_fully_connected_s8(&context, &params, &quantization, &from, x, &filter, weights, &to, bias, &to, y);
}

int main(void)
{
    static const int sizes[11] = {640, 128, 128, 128, 128, 8, 128, 128, 128, 128, 640};
    for (int i = 0; i < 10; i++)
        dense(sizes[i], sizes[i + 1]);
    return z[0] & 1;
}
#else
int main(void)
{
    static const int sizes[3] = {16384, 8192, 4096};
    for (int i = 0; i < 3; i++)
        (void)arm_elementwise_add_s8(x, y, 3, 1717986918, -1, -4, 1517986918, -1, 20, z, 5, 1317986918, -18, -128, 127,
                                     sizes[i]);
    return weights[0] & bias[0] & sums[0] & 1;
}
#endif

static void reset(void)
{
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20; /* CPACR: the floating-point and vector unit */
    __asm volatile("dsb\n isb");
    (void)main();
    __asm volatile("mov r0, #0x18\n ldr r1, =0x20026\n bkpt 0xab" ::: "r0", "r1"); /* semihosting: exit */
    for (;;)
        ;
}

extern void *const vectors[2];
__attribute__((section(".vectors"))) void *const vectors[2] = {(void *)0x20070000u, (void *)reset};
