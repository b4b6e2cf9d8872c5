// The int8 conv2d engine: its registers.
//
// Written from target_arch/backends/conv2d_engine/registers.py; a test compares the two.
`ifndef TA_CONV2D_ENGINE_REGISTERS_VH
`define TA_CONV2D_ENGINE_REGISTERS_VH

// Byte offsets in the register file.
`define TA_CONV2D_ENGINE_START 0    // writing 1 starts the command that the other registers describe; reads 1 while it runs
`define TA_CONV2D_ENGINE_STATUS 4    // how the last command ended, one of the STATUS values; writing 0 forgets it
`define TA_CONV2D_ENGINE_INPUT 8    // device address of the input tile, int8 [IN_HEIGHT, IN_WIDTH, IN_CHANNELS]
`define TA_CONV2D_ENGINE_WEIGHTS 12   // device address of int8 [OUT_CHANNELS, KERNEL_HEIGHT, KERNEL_WIDTH, IN_CHANNELS]
`define TA_CONV2D_ENGINE_PARAMETERS 16   // device address of int32 [OUT_CHANNELS, 3]: bias, multiplier, shift; little endian
`define TA_CONV2D_ENGINE_OUTPUT 20   // device address of the output tile, int8 [OUT_HEIGHT, OUT_WIDTH, OUT_CHANNELS]
`define TA_CONV2D_ENGINE_IN_HEIGHT 24   // rows of the input tile
`define TA_CONV2D_ENGINE_IN_WIDTH 28   // columns of the input tile
`define TA_CONV2D_ENGINE_IN_CHANNELS 32   // channels of the input tile
`define TA_CONV2D_ENGINE_OUT_HEIGHT 36   // rows of the output tile
`define TA_CONV2D_ENGINE_OUT_WIDTH 40   // columns of the output tile
`define TA_CONV2D_ENGINE_OUT_CHANNELS 44   // channels of the output tile
`define TA_CONV2D_ENGINE_KERNEL_HEIGHT 48   // rows of the kernel
`define TA_CONV2D_ENGINE_KERNEL_WIDTH 52   // columns of the kernel
`define TA_CONV2D_ENGINE_STRIDE_HEIGHT 56   // input rows from one output row to the next
`define TA_CONV2D_ENGINE_STRIDE_WIDTH 60   // input columns from one output column to the next
`define TA_CONV2D_ENGINE_PAD_TOP 64   // rows of padding above the tile; rows beyond the tile below are padding too
`define TA_CONV2D_ENGINE_PAD_LEFT 68   // columns of padding left of the tile; beyond the tile at the right is padding too
`define TA_CONV2D_ENGINE_INPUT_ZERO_POINT 72   // int32, subtracted from every input; padding counts as this value
`define TA_CONV2D_ENGINE_OUTPUT_ZERO_POINT 76   // int32, added after scaling
`define TA_CONV2D_ENGINE_CLAMP_MIN 80   // int32, the least result
`define TA_CONV2D_ENGINE_CLAMP_MAX 84   // int32, the greatest result
`define TA_CONV2D_ENGINE_ROUNDING 88   // one of the ROUNDING values

// Values.
`define TA_CONV2D_ENGINE_REGISTERS 23   // count of 32-bit registers
`define TA_CONV2D_ENGINE_LEAST_OPERANDS 4    // fewest operands of a command
`define TA_CONV2D_ENGINE_OPERANDS 4    // most operands of a command, from INPUT on
`define TA_CONV2D_ENGINE_WORDS 17   // command words from IN_HEIGHT on
`define TA_CONV2D_ENGINE_STATUS_NONE 0    // no command ended since reset, or since 0 was written
`define TA_CONV2D_ENGINE_STATUS_DONE 1    // the command completed
`define TA_CONV2D_ENGINE_STATUS_FAULT_GEOMETRY 2    // a size is zero or beyond the engine, or sizes contradict each other
`define TA_CONV2D_ENGINE_STATUS_FAULT_ADDRESS 3    // an operand is not aligned or not in a memory of the engine
`define TA_CONV2D_ENGINE_STATUS_FAULT_ARITHMETIC 4    // a zero point, a bound, a multiplier, a shift or the rounding is out of range
`define TA_CONV2D_ENGINE_ROUNDING_TFLITE 0    // fixed point: doubling high multiply, then rounding right shift
`define TA_CONV2D_ENGINE_ROUNDING_ONNX 1    // exact product, then a right shift that rounds half to even
`define TA_CONV2D_ENGINE_ROUNDING_TFLITE_SINGLE 2    // fixed point: exact product, then a right shift that rounds half up
`define TA_CONV2D_ENGINE_STATUS_FAULT_TRANSFER 5    // the DMA port reports that bytes did not come, or could not be taken

`endif
