// The engine itself: checks a command, then convolves its tile.
//
// Output pixels are computed in groups of up to PIXELS neighbours in a row. Per group the input lines that the
// windows span are read once and spread over the line buffers, one per pixel (LOAD). Then each output channel
// fetches its parameters (FETCH) and streams its weights through the MAC array, LANES bytes per cycle, against
// all windows at once (DOT). Sums go through one requantizer, one per cycle, beside the next channel's DOT.
//
// A window larger than WINDOW_BYTES is taken in chunks: then LOAD and DOT alternate for every channel.
`include "conv2d_engine_registers.vh"
`default_nettype none

module conv2d_engine_core #(
    parameter LANES = 16,         // a power of two, at least 16: parameters are read at once
    parameter PIXELS = 4,
    parameter WINDOW_BYTES = 4096 // a power of two, at least 2 * LANES
) (
    input wire clk,
    input wire reset,
    input wire start,
    input wire [32*`TA_CONV2D_ENGINE_REGISTERS-1:0] registers,
    input wire [31:0] memory_base,
    input wire [31:0] memory_bytes,
    output reg busy,
    output reg done,
    output reg [31:0] outcome,
    output reg [31:0] cycles, // from start to done, of the last command

    // The memory: LANES bytes one cycle after `read`, and single bytes to write; addresses from 0.
    output wire               read,
    output reg  [       31:0] read_at,
    input  wire [8*LANES-1:0] read_data,
    output wire               write,
    output wire [       31:0] write_at,
    output wire [        7:0] write_data
);
    // The words of the command.
    wire [31:0] in_height = registers[8*`TA_CONV2D_ENGINE_IN_HEIGHT+:32];
    wire [31:0] out_height = registers[8*`TA_CONV2D_ENGINE_OUT_HEIGHT+:32];
    wire [31:0] out_width = registers[8*`TA_CONV2D_ENGINE_OUT_WIDTH+:32];
    wire [31:0] out_channels = registers[8*`TA_CONV2D_ENGINE_OUT_CHANNELS+:32];
    wire [31:0] kernel_height = registers[8*`TA_CONV2D_ENGINE_KERNEL_HEIGHT+:32];
    wire [31:0] stride_height = registers[8*`TA_CONV2D_ENGINE_STRIDE_HEIGHT+:32];
    wire [31:0] pad_top = registers[8*`TA_CONV2D_ENGINE_PAD_TOP+:32];
    wire [31:0] rounding = registers[8*`TA_CONV2D_ENGINE_ROUNDING+:32];

    localparam POSITION = 52; // bits that hold any place along the lines of a command, with its sign
    localparam ROWS = WINDOW_BYTES / LANES;
    localparam ROW_BITS = $clog2(ROWS);
    localparam [31:0] PARAMETER_BYTES = 12;
    localparam [31:0] STEP = LANES;
    localparam [31:0] WINDOW = WINDOW_BYTES;
    localparam [31:0] GROUP_32 = PIXELS;
    localparam [15:0] GROUP = GROUP_32[15:0];
    localparam [15:0] TAIL = GROUP + 16'd12; // cycles until the last result is written
    localparam [ROW_BITS-1:0] LAST_ROW = {ROW_BITS{1'b1}};

    localparam [2:0] IDLE = 0, SIZES = 1, CHECK = 2, CHECKED = 3, LOAD = 4, FETCH = 5, DOT = 6, FLUSH = 7;
    reg [2:0] state;

    wire [31:0] row_bytes, line_bytes, filter_bytes, step_bytes, row_step, pad_bytes, pad_rows;
    wire [31:0] input_at, weights_at, parameters_at, output_at;
    wire sizes_done;
    wire [31:0] sizes_outcome;

    conv2d_engine_sizes sizes (
        .clk(clk),
        .reset(reset),
        .start(start && state == IDLE),
        .registers(registers),
        .memory_base(memory_base),
        .memory_bytes(memory_bytes),
        .done(sizes_done),
        .outcome(sizes_outcome),
        .row_bytes(row_bytes),
        .line_bytes(line_bytes),
        .filter_bytes(filter_bytes),
        .step_bytes(step_bytes),
        .row_step(row_step),
        .pad_bytes(pad_bytes),
        .pad_rows(pad_rows),
        .input_at(input_at),
        .weights_at(weights_at),
        .parameters_at(parameters_at),
        .output_at(output_at)
    );

    function signed [POSITION-1:0] place(input [31:0] bytes);
        place = $signed({{POSITION - 32{1'b0}}, bytes});
    endfunction

    // Where the loops are.
    reg [15:0] row, column, channel, line;
    reg signed [33:0] top;               // the first input row of the windows
    reg signed [POSITION-1:0] left;      // the first input byte of the first window, within its row
    reg signed [POSITION-1:0] along;     // LOAD: from `left`, along the lines
    reg [31:0] window_at, line_at;       // in memory: the first input row of the windows, the line
    reg signed [POSITION-1:0] line_from; // the first byte of the line, within the chunk
    reg [31:0] parameter_at, filter_at, pixel_at;
    reg [31:0] chunk;                    // first byte of the chunk, within the window
    reg [31:0] position;                 // DOT: within the window
    reg [ROW_BITS-1:0] buffer_row;
    reg [15:0] spacing;                  // cycles until the requantizer can take another channel
    reg [15:0] tail;

    wire [31:0] columns_left = out_width - {16'd0, column};
    wire [15:0] pixels = columns_left < GROUP_32 ? columns_left[15:0] : GROUP;
    wire signed [POSITION-1:0] step = place(step_bytes);
    wire signed [POSITION-1:0] group_step = step * PIXELS;
    wire signed [POSITION-1:0] span = place(line_bytes) + step * $signed({1'b0, pixels - 16'd1});
    wire signed [33:0] source = top + $signed({18'd0, line});
    wire row_inside = source >= 0 && source < $signed({2'b00, in_height});

    wire along_ends = along + place(STEP) >= span;
    wire line_ends = {16'd0, line} + 1 == kernel_height;
    wire channel_ends = {16'd0, channel} + 1 == out_channels;
    wire column_ends = columns_left <= GROUP_32;
    wire row_ends = {16'd0, row} + 1 == out_height;
    wire whole = filter_bytes <= WINDOW;

    wire [31:0] taps_left = filter_bytes - position;
    wire filter_ends = taps_left <= STEP;
    wire chunk_ends = filter_ends || buffer_row == LAST_ROW;
    wire dot = state == DOT && !(filter_ends && spacing != 0);

    // Reads.
    wire check_read = state == CHECK;
    wire fetch_read = state == FETCH;
    wire [31:0] line_place = line_at + left[31:0] + along[31:0];
    assign read = check_read || fetch_read || state == LOAD || dot;
    always @* begin
        case (state)
            LOAD: read_at = line_place;
            DOT: read_at = filter_at + position;
            default: read_at = parameter_at;
        endcase
    end

    // One cycle after a read of parameters.
    reg check_came, fetch_came, fault;
    wire [31:0] came_bias = read_data[0+:32];
    wire [31:0] came_multiplier = read_data[32+:32];
    wire [31:0] came_shift = read_data[64+:32];
    wire onnx = rounding == `TA_CONV2D_ENGINE_ROUNDING_ONNX;
    wire signed [31:0] shift_least = onnx ? 0 : -31;
    wire signed [31:0] shift_most = onnx ? 62 : 30;
    wire came_bad = came_multiplier[31] || $signed(came_shift) < shift_least || $signed(came_shift) > shift_most;
    reg [31:0] bias, multiplier;
    reg [6:0] shift;

    always @(posedge clk) begin
        check_came <= check_read;
        fetch_came <= fetch_read;
        if (state == SIZES) fault <= 0;
        else if (check_came && came_bad) fault <= 1;
        if (fetch_came) begin
            bias       <= came_bias;
            multiplier <= came_multiplier;
            shift      <= came_shift[6:0];
        end
    end

    // One cycle after a read of a line: spread it over the windows that it belongs to.
    reg load_came, came_inside;
    reg signed [POSITION-1:0] came_along, came_left, came_from;
    always @(posedge clk) begin
        load_came   <= state == LOAD;
        came_inside <= row_inside;
        came_along  <= along;
        came_left   <= left + along;
        came_from   <= line_from;
    end

    wire [LANES-1:0] not_padding;
    conv2d_engine_span #(.LANES(LANES), .POSITION(POSITION)) columns (
        .first(came_left), .length(row_bytes), .lanes(not_padding)
    );

    wire [7:0] input_zero_point = registers[8*`TA_CONV2D_ENGINE_INPUT_ZERO_POINT+:8];
    wire [8*LANES-1:0] padded;
    genvar lane;
    generate
        for (lane = 0; lane < LANES; lane = lane + 1) begin : gen_padded
            assign padded[8*lane+:8] =
                came_inside && not_padding[lane] ? read_data[8*lane+:8] : input_zero_point;
        end
    endgenerate

    // One cycle after a read of weights: multiply.
    reg dot_came, dot_first, dot_last, dot_last_2, dot_last_3;
    reg [31:0] dot_left;
    always @(posedge clk) begin
        dot_came   <= dot;
        dot_first  <= position == 0;
        dot_left   <= taps_left;
        dot_last   <= dot && filter_ends && !reset;
        dot_last_2 <= dot_last && !reset;
        dot_last_3 <= dot_last_2 && !reset;
    end
    wire [LANES-1:0] taps = dot_left >= STEP ? {LANES{1'b1}} : ~({LANES{1'b1}} << dot_left);

    wire [32*PIXELS-1:0] sums;
    genvar pixel;
    generate
        for (pixel = 0; pixel < PIXELS; pixel = pixel + 1) begin : gen_pixel
            wire signed [POSITION-1:0] offset = came_along - step * pixel; // within the pixel's line
            wire [LANES-1:0] own;
            wire [8*LANES-1:0] window;

            conv2d_engine_span #(.LANES(LANES), .POSITION(POSITION)) taps_of_line (
                .first(offset), .length(line_bytes), .lanes(own)
            );
            conv2d_engine_line_buffer #(.LANES(LANES), .BYTES(WINDOW_BYTES), .POSITION(POSITION)) lines (
                .clk(clk),
                .write(load_came),
                .write_position(came_from + offset),
                .write_lanes(own),
                .write_data(padded),
                .read(dot),
                .read_row(buffer_row),
                .read_data(window)
            );
            conv2d_engine_macs #(.LANES(LANES)) macs (
                .clk(clk),
                .valid(dot_came),
                .first(dot_first),
                .lanes(taps),
                .inputs(window),
                .weights(read_data),
                .zero_point(input_zero_point),
                .sum(sums[32*pixel+:32])
            );
        end
    endgenerate

    // Where the results of a channel go, from its last DOT until its sums are complete; then one per cycle.
    reg [31:0] at_1, at_2, at_3, out_at;
    reg [15:0] pixels_1, pixels_2, pixels_3, results;
    reg [31:0] held_bias, held_multiplier, out_bias, out_multiplier;
    reg [6:0] held_shift, out_shift;
    reg [32*PIXELS-1:0] out_sums;
    always @(posedge clk) begin
        at_1     <= pixel_at + {16'd0, channel};
        at_2     <= at_1;
        at_3     <= at_2;
        pixels_1 <= pixels;
        pixels_2 <= pixels_1;
        pixels_3 <= pixels_2;
        if (dot_last) begin
            held_bias       <= bias;
            held_multiplier <= multiplier;
            held_shift      <= shift;
        end
        if (results != 0) begin
            results  <= results - 1;
            out_at   <= out_at + out_channels;
            out_sums <= out_sums >> 32;
        end
        if (dot_last_3) begin
            results        <= pixels_3;
            out_at         <= at_3;
            out_sums       <= sums;
            out_bias       <= held_bias;
            out_multiplier <= held_multiplier;
            out_shift      <= held_shift;
        end
        if (reset) results <= 0;
    end

    conv2d_engine_requantize #(.TAG(32)) requantize (
        .clk(clk),
        .reset(reset),
        .rounding(registers[8*`TA_CONV2D_ENGINE_ROUNDING+:2]),
        .zero_point(registers[8*`TA_CONV2D_ENGINE_OUTPUT_ZERO_POINT+:8]),
        .least(registers[8*`TA_CONV2D_ENGINE_CLAMP_MIN+:8]),
        .greatest(registers[8*`TA_CONV2D_ENGINE_CLAMP_MAX+:8]),
        .valid(results != 0),
        .accumulator(out_sums[31:0]),
        .bias(out_bias),
        .multiplier(out_multiplier),
        .shift(out_shift),
        .tag(out_at),
        .result_valid(write),
        .result(write_data),
        .result_tag(write_at)
    );

    // LOAD begins: at the first line of the windows.
    task begin_load(input [31:0] from, input [31:0] chunk_from);
        begin
            state     <= LOAD;
            line      <= 0;
            along     <= 0;
            line_at   <= from;
            line_from <= -place(chunk_from);
            chunk     <= chunk_from;
        end
    endtask

    task begin_channels;
        begin
            channel      <= 0;
            parameter_at <= parameters_at;
            filter_at    <= weights_at;
        end
    endtask

    task next_group;
        begin
            begin_channels;
            pixel_at <= pixel_at + {16'd0, pixels} * out_channels;
            if (!column_ends) begin
                column <= column + GROUP;
                left   <= left + group_step;
                begin_load(window_at, 0);
            end else if (!row_ends) begin
                column    <= 0;
                left      <= -place(pad_bytes);
                row       <= row + 1;
                top       <= top + $signed({2'b00, stride_height});
                window_at <= window_at + row_step;
                begin_load(window_at + row_step, 0);
            end else begin
                state <= FLUSH;
                tail  <= TAIL;
            end
        end
    endtask

    task finish(input [31:0] how);
        begin
            state   <= IDLE;
            busy    <= 0;
            done    <= 1;
            outcome <= how;
        end
    endtask

    always @(posedge clk) begin
        done <= 0;
        if (busy) cycles <= cycles + 1;
        if (spacing != 0) spacing <= spacing - 1;
        case (state)
            IDLE:
            if (start) begin
                state   <= SIZES;
                busy    <= 1;
                cycles  <= 0;
                spacing <= 0;
            end
            SIZES:
            if (sizes_done) begin
                begin_channels;
                if (sizes_outcome == `TA_CONV2D_ENGINE_STATUS_DONE) state <= CHECK;
                else finish(sizes_outcome);
            end
            CHECK: begin
                channel      <= channel + 1;
                parameter_at <= parameter_at + PARAMETER_BYTES;
                if (channel_ends) begin
                    state <= CHECKED;
                    tail  <= 1;
                end
            end
            CHECKED: begin // the last parameters come now, the verdict one cycle later
                tail <= tail - 1;
                if (tail == 0) begin
                    if (fault) finish(`TA_CONV2D_ENGINE_STATUS_FAULT_ARITHMETIC);
                    else begin
                        begin_channels;
                        row       <= 0;
                        column    <= 0;
                        top       <= -$signed({2'b00, pad_top});
                        left      <= -place(pad_bytes);
                        window_at <= input_at - pad_rows;
                        pixel_at  <= output_at;
                        begin_load(input_at - pad_rows, 0);
                    end
                end
            end
            LOAD: begin
                along <= along + place(STEP);
                if (along_ends) begin
                    along     <= 0;
                    line      <= line + 1;
                    line_at   <= line_at + row_bytes;
                    line_from <= line_from + place(line_bytes);
                    if (line_ends) state <= FETCH;
                end
            end
            FETCH: begin
                state      <= DOT;
                position   <= chunk;
                buffer_row <= 0;
            end
            DOT:
            if (dot) begin
                position   <= position + STEP;
                buffer_row <= buffer_row + 1;
                if (filter_ends) begin
                    spacing      <= pixels - 1;
                    channel      <= channel + 1;
                    parameter_at <= parameter_at + PARAMETER_BYTES;
                    filter_at    <= filter_at + filter_bytes;
                    if (channel_ends) next_group;
                    else if (whole) state <= FETCH;
                    else begin_load(window_at, 0);
                end else if (chunk_ends) begin_load(window_at, chunk + WINDOW);
            end
            default: begin // FLUSH
                tail <= tail - 1;
                if (tail == 0) finish(`TA_CONV2D_ENGINE_STATUS_DONE);
            end
        endcase
        if (reset) begin
            state <= IDLE;
            busy  <= 0;
            done  <= 0;
        end
    end

    wire unused = &{1'b0, registers, came_shift};
endmodule

`default_nettype wire
