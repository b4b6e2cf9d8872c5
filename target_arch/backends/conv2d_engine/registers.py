"""The registers of the conv2d engine: one command convolves one tile in its block RAM."""

from target_arch.backends.registers import RegisterMap

FUNCTION = "conv2d"

REGISTERS = RegisterMap(
    engine="conv2d_engine",
    title="The int8 conv2d engine",
    operands=(
        ("INPUT", "device address of the input tile, int8 [IN_HEIGHT, IN_WIDTH, IN_CHANNELS]"),
        ("WEIGHTS", "device address of int8 [OUT_CHANNELS, KERNEL_HEIGHT, KERNEL_WIDTH, IN_CHANNELS]"),
        ("PARAMETERS", "device address of int32 [OUT_CHANNELS, 3]: bias, multiplier, shift; little endian"),
        ("OUTPUT", "device address of the output tile, int8 [OUT_HEIGHT, OUT_WIDTH, OUT_CHANNELS]"),
    ),
    words=(
        ("IN_HEIGHT", "rows of the input tile"),
        ("IN_WIDTH", "columns of the input tile"),
        ("IN_CHANNELS", "channels of the input tile"),
        ("OUT_HEIGHT", "rows of the output tile"),
        ("OUT_WIDTH", "columns of the output tile"),
        ("OUT_CHANNELS", "channels of the output tile"),
        ("KERNEL_HEIGHT", "rows of the kernel"),
        ("KERNEL_WIDTH", "columns of the kernel"),
        ("STRIDE_HEIGHT", "input rows from one output row to the next"),
        ("STRIDE_WIDTH", "input columns from one output column to the next"),
        ("PAD_TOP", "rows of padding above the tile; rows beyond the tile below are padding too"),
        ("PAD_LEFT", "columns of padding left of the tile; beyond the tile at the right is padding too"),
        ("INPUT_ZERO_POINT", "int32, subtracted from every input; padding counts as this value"),
        ("OUTPUT_ZERO_POINT", "int32, added after scaling"),
        ("CLAMP_MIN", "int32, the least result"),
        ("CLAMP_MAX", "int32, the greatest result"),
        ("ROUNDING", "one of the ROUNDING values"),
    ),
    constants=(
        ("STATUS_FAULT_TRANSFER", 5, "the DMA port reports that bytes did not come, or could not be taken"),
    ),
)
