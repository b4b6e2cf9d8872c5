/* my_conv: its registers, for the driver and the simulator, and the description of a layer. */
#ifndef MY_CONV_H
#define MY_CONV_H

#include "target_arch/driver.h"

/* Byte offsets in the register file. */
#define MY_CONV_START 0x00u    /* writing 1 starts the command that the others describe; reads 1 while it runs */
#define MY_CONV_STATUS 0x04u   /* how the last command ended */
#define MY_CONV_INPUT 0x08u    /* device address, int8 [IN_HEIGHT, IN_WIDTH, IN_CHANNELS] */
#define MY_CONV_LAYER 0x0cu    /* device address of the description of the layer, see below */
#define MY_CONV_OUTPUT 0x10u   /* device address, int8 [OUT_HEIGHT, OUT_WIDTH, OUT_CHANNELS] */
#define MY_CONV_RESIDUAL 0x14u /* device address, int8, as large as the output; read where STAGES has ADD */
#define MY_CONV_STAGES 0x18u   /* the one word of a command: the sum of the stages below */

#define MY_CONV_REGISTERS 7u
#define MY_CONV_LEAST_OPERANDS 3u
#define MY_CONV_OPERANDS 4u
#define MY_CONV_WORDS 1u

/* The input passes through the stages of a command in this order. A stage that is left out passes it on unchanged. */
#define MY_CONV_CONVOLVE 1u /* convolution, bias, requantization, clamping */
#define MY_CONV_ADD 2u      /* the sum with the residual, each on its own scale */

#define MY_CONV_STATUS_DONE 1u
#define MY_CONV_STATUS_FAULT 2u /* an operand does not lie in the accelerator's memory, or the layer is none */

/* The description of a layer: MY_CONV_FIELDS words of 32 bits; then for each output channel bias, multiplier and shift,
 * 32 bits each; then the weights, int8 [OUT_CHANNELS, KERNEL_HEIGHT, KERNEL_WIDTH, IN_CHANNELS]. All little endian. */
enum {
    MY_CONV_IN_HEIGHT,
    MY_CONV_IN_WIDTH,
    MY_CONV_IN_CHANNELS,
    MY_CONV_OUT_HEIGHT,
    MY_CONV_OUT_WIDTH,
    MY_CONV_OUT_CHANNELS,
    MY_CONV_KERNEL_HEIGHT,
    MY_CONV_KERNEL_WIDTH,
    MY_CONV_STRIDE_HEIGHT,
    MY_CONV_STRIDE_WIDTH,
    MY_CONV_PAD_TOP,
    MY_CONV_PAD_LEFT,
    MY_CONV_SCALING,  /* five words: zero points of input and output, least and greatest result, rounding */
    MY_CONV_SUM = 17, /* the words of the sum, from here on */
    MY_CONV_FIELDS = 31
};

/* The words of the sum, counted from MY_CONV_SUM. Its addends are the value of the stage before, less its zero point, and
 * the residual, less its own. The rounding is that of the scaling: 0 is TFLite's, 1 is ONNX's. */
enum {
    MY_CONV_SUM_ZERO,                 /* two words: the zero points */
    MY_CONV_SUM_MULTIPLIER = 2,       /* four words: the multipliers, each as lower and upper half of 64 bits */
    MY_CONV_SUM_SHIFT = 6,            /* two words: TFLite scales each addend by multiplier and shift */
    MY_CONV_SUM_LEFT = 8,             /* TFLite shifts each addend to the left by so many bits first */
    MY_CONV_SUM_RESULT_MULTIPLIER,    /* TFLite scales the sum by this and the shift */
    MY_CONV_SUM_RESULT_SHIFT,         /* ONNX shifts the sum of exact products to the right, half to even */
    MY_CONV_SUM_RESULT_ZERO,
    MY_CONV_SUM_LEAST,
    MY_CONV_SUM_GREATEST
};

extern const ta_driver my_conv_driver;

#endif
