// What follows from the sizes of a command, and whether it is one: geometry, then addresses, then arithmetic.
//
// Twelve products on one multiplier, one per cycle; `done` pulses with `outcome` one cycle after the last.
// The parameters of the channels are not looked at here. Addresses come out as offsets into the memory.
`include "conv2d_engine_registers.vh"
`default_nettype none

module conv2d_engine_sizes (
    input wire clk,
    input wire reset,
    input wire start,
    input wire [32*`TA_CONV2D_ENGINE_REGISTERS-1:0] registers,
    input wire [31:0] memory_base,
    input wire [31:0] memory_bytes,

    output reg         done,
    output reg  [31:0] outcome,
    output reg  [31:0] row_bytes,    // of the input
    output reg  [31:0] line_bytes,   // KERNEL_WIDTH * IN_CHANNELS
    output wire [31:0] filter_bytes, // of one output channel
    output reg  [31:0] step_bytes,   // from one window to the next along a row
    output reg  [31:0] row_step,     // from one window row to the next
    output reg  [31:0] pad_bytes,    // left of the input
    output reg  [31:0] pad_rows,     // above the input, in bytes
    output wire [31:0] input_at,
    output wire [31:0] weights_at,
    output wire [31:0] parameters_at,
    output wire [31:0] output_at
);
    // The words of the command.
    wire [31:0] input_address = registers[8*`TA_CONV2D_ENGINE_INPUT+:32];
    wire [31:0] weights_address = registers[8*`TA_CONV2D_ENGINE_WEIGHTS+:32];
    wire [31:0] parameters_address = registers[8*`TA_CONV2D_ENGINE_PARAMETERS+:32];
    wire [31:0] output_address = registers[8*`TA_CONV2D_ENGINE_OUTPUT+:32];
    wire [31:0] in_height = registers[8*`TA_CONV2D_ENGINE_IN_HEIGHT+:32];
    wire [31:0] in_width = registers[8*`TA_CONV2D_ENGINE_IN_WIDTH+:32];
    wire [31:0] in_channels = registers[8*`TA_CONV2D_ENGINE_IN_CHANNELS+:32];
    wire [31:0] out_height = registers[8*`TA_CONV2D_ENGINE_OUT_HEIGHT+:32];
    wire [31:0] out_width = registers[8*`TA_CONV2D_ENGINE_OUT_WIDTH+:32];
    wire [31:0] out_channels = registers[8*`TA_CONV2D_ENGINE_OUT_CHANNELS+:32];
    wire [31:0] kernel_height = registers[8*`TA_CONV2D_ENGINE_KERNEL_HEIGHT+:32];
    wire [31:0] kernel_width = registers[8*`TA_CONV2D_ENGINE_KERNEL_WIDTH+:32];
    wire [31:0] stride_height = registers[8*`TA_CONV2D_ENGINE_STRIDE_HEIGHT+:32];
    wire [31:0] stride_width = registers[8*`TA_CONV2D_ENGINE_STRIDE_WIDTH+:32];
    wire [31:0] pad_top = registers[8*`TA_CONV2D_ENGINE_PAD_TOP+:32];
    wire [31:0] pad_left = registers[8*`TA_CONV2D_ENGINE_PAD_LEFT+:32];
    wire [31:0] input_zero_point = registers[8*`TA_CONV2D_ENGINE_INPUT_ZERO_POINT+:32];
    wire [31:0] output_zero_point = registers[8*`TA_CONV2D_ENGINE_OUTPUT_ZERO_POINT+:32];
    wire [31:0] clamp_min = registers[8*`TA_CONV2D_ENGINE_CLAMP_MIN+:32];
    wire [31:0] clamp_max = registers[8*`TA_CONV2D_ENGINE_CLAMP_MAX+:32];
    wire [31:0] rounding = registers[8*`TA_CONV2D_ENGINE_ROUNDING+:32];

    localparam [31:0] PARAMETER_BYTES = 12;
    localparam [3:0] LAST = 12;

    reg         working;
    reg  [ 3:0] step;
    reg  [63:0] product;
    reg  [63:0] input_size;
    reg  [63:0] filter_size;
    reg  [63:0] weight_size;
    reg  [63:0] parameter_size;
    reg  [63:0] output_size;

    // The products: what the step before computed is in `product`.
    reg  [47:0] factor;
    reg  [31:0] size;
    always @* begin
        factor = product[47:0];
        size   = in_channels;
        case (step)
            0: factor = {16'd0, in_width};
            1: size = in_height;
            2: factor = {16'd0, kernel_width};
            3: size = kernel_height;
            4: size = out_channels;
            5: begin
                factor = {16'd0, out_width};
                size   = out_channels;
            end
            6: size = out_height;
            7: begin
                factor = {16'd0, PARAMETER_BYTES};
                size   = out_channels;
            end
            8: factor = {16'd0, stride_width};
            9: begin
                factor = {16'd0, row_bytes};
                size   = stride_height;
            end
            10: factor = {16'd0, pad_left};
            default: begin
                factor = {16'd0, row_bytes};
                size   = pad_top;
            end
        endcase
    end

    always @(posedge clk) begin
        product <= {16'd0, factor} * {48'd0, size[15:0]};
        case (step)
            1: row_bytes <= product[31:0];
            2: input_size <= product;
            3: line_bytes <= product[31:0];
            4: filter_size <= product;
            5: weight_size <= product;
            7: output_size <= product;
            8: parameter_size <= product;
            9: step_bytes <= product[31:0];
            10: row_step <= product[31:0];
            11: pad_bytes <= product[31:0];
            12: pad_rows <= product[31:0];
            default: ;
        endcase
    end

    // Geometry.
    function is_size(input [31:0] value);
        is_size = value != 0 && value[31:16] == 0;
    endfunction

    wire geometry = is_size(in_height) && is_size(in_width) &&
        is_size(in_channels) && is_size(out_height) && is_size(out_width) &&
        is_size(out_channels) && is_size(kernel_height) &&
        is_size(kernel_width) && is_size(stride_height) &&
        is_size(stride_width) && pad_top < kernel_height &&
        pad_left < kernel_width;

    // Addresses: [offset, offset + bytes) within the memory.
    function holds(input [31:0] address, input [63:0] bytes, input [31:0] base, input [31:0] available);
        reg [31:0] offset;
        begin
            offset = address - base;
            holds  = address >= base && offset <= available && bytes <= {32'd0, available - offset};
        end
    endfunction

    wire addresses = holds(input_address, input_size, memory_base, memory_bytes) &&
        holds(weights_address, weight_size, memory_base, memory_bytes) &&
        holds(parameters_address, parameter_size, memory_base, memory_bytes) &&
        holds(output_address, output_size, memory_base, memory_bytes);

    // Arithmetic.
    function is_int8(input [31:0] value);
        is_int8 = value == {{24{value[7]}}, value[7:0]};
    endfunction

    wire arithmetic = is_int8(input_zero_point) && is_int8(output_zero_point) &&
        is_int8(clamp_min) && is_int8(clamp_max) &&
        $signed(clamp_min) <= $signed(clamp_max) &&
        rounding <= `TA_CONV2D_ENGINE_ROUNDING_TFLITE_SINGLE;

    always @(posedge clk) begin
        done <= 0;
        if (working) begin
            step <= step + 1;
            if (step == LAST) begin
                working <= 0;
                done    <= 1;
                outcome <= !geometry ? `TA_CONV2D_ENGINE_STATUS_FAULT_GEOMETRY :
                    !addresses ? `TA_CONV2D_ENGINE_STATUS_FAULT_ADDRESS :
                    !arithmetic ? `TA_CONV2D_ENGINE_STATUS_FAULT_ARITHMETIC :
                    `TA_CONV2D_ENGINE_STATUS_DONE;
            end
        end else if (start) begin
            working <= 1;
            step    <= 0;
        end
        if (reset) begin
            working <= 0;
            step    <= 0;
        end
    end

    assign filter_bytes  = filter_size[31:0];
    assign input_at      = input_address - memory_base;
    assign weights_at    = weights_address - memory_base;
    assign parameters_at = parameters_address - memory_base;
    assign output_at     = output_address - memory_base;

    wire unused = &{1'b0, registers, size, filter_size};
endmodule

`default_nettype wire
