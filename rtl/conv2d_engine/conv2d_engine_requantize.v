// From an accumulator to an int8 result, one per cycle, six cycles later.
//
// The three ways to round are those of target_arch/plan/arithmetic.py, to the bit:
//   tflite         saturating left shift, doubling high multiply, then a rounding right shift
//   tflite_single  exact product, one right shift that rounds half up
//   onnx           exact product, one right shift that rounds half to even
// All are `product / 2^right`, rounded half up; onnx then makes a tie even, tflite shifts once more. `tag`
// goes along. Shifts are in the range that the core has checked: -31 to 62.
`include "conv2d_engine_registers.vh"
`default_nettype none

module conv2d_engine_requantize #(
    parameter TAG = 32
) (
    input  wire           clk,
    input  wire           reset,
    input  wire [    1:0] rounding,
    input  wire [    7:0] zero_point,
    input  wire [    7:0] least,
    input  wire [    7:0] greatest,
    input  wire           valid,
    input  wire [   31:0] accumulator,
    input  wire [   31:0] bias,
    input  wire [   31:0] multiplier,
    input  wire [    6:0] shift,
    input  wire [TAG-1:0] tag,
    output wire           result_valid,
    output wire [    7:0] result,
    output wire [TAG-1:0] result_tag
);
    localparam STAGES = 6;

    wire tflite = rounding == `TA_CONV2D_ENGINE_ROUNDING_TFLITE;
    wire onnx = rounding == `TA_CONV2D_ENGINE_ROUNDING_ONNX;

    // What travels with a value.
    reg [STAGES-1:0] valids;
    reg [TAG*STAGES-1:0] tags;
    always @(posedge clk) begin
        valids <= reset ? {STAGES{1'b0}} : {valids[STAGES-2:0], valid};
        tags   <= {tags[TAG*(STAGES-1)-1:0], tag};
    end
    assign result_valid = valids[STAGES-1];
    assign result_tag   = tags[TAG*(STAGES-1)+:TAG];

    // 1: the bias; wraps.
    reg signed [31:0] sum;
    reg signed [31:0] multiplier_1;
    reg signed [ 6:0] shift_1;
    always @(posedge clk) begin
        sum          <= accumulator + bias;
        multiplier_1 <= multiplier;
        shift_1      <= shift;
    end

    // 2: the left shift of tflite; saturates.
    wire [4:0] left = tflite && shift_1 > 0 ? shift_1[4:0] : 5'd0;
    wire signed [63:0] wide = {{32{sum[31]}}, sum} << left;
    wire in_range = wide[63:31] == {33{wide[63]}};
    reg signed [31:0] factor;
    reg signed [31:0] multiplier_2;
    reg signed [6:0] shift_2;
    always @(posedge clk) begin
        factor       <= in_range ? wide[31:0] : {wide[63], {31{!wide[63]}}};
        multiplier_2 <= multiplier_1;
        shift_2      <= shift_1;
    end

    // 3: the product, exact.
    reg signed [63:0] product;
    reg signed [ 6:0] shift_3;
    always @(posedge clk) begin
        product <= factor * multiplier_2;
        shift_3 <= shift_2;
    end

    // 4: the right shift.
    wire [6:0] once = 7'd31 - shift_3;
    wire [5:0] right = tflite ? 6'd31 : onnx ? shift_3[5:0] : once[5:0];
    wire [63:0] half = right == 0 ? 64'd0 : 64'd1 << (right - 6'd1);
    wire [63:0] rest = product & ~({64{1'b1}} << right);
    wire signed [63:0] rounded = $signed(product + half) >>> right;
    wire tie = right != 0 && rest == half;
    reg signed [63:0] scaled;
    reg signed [6:0] shift_4;
    always @(posedge clk) begin
        scaled  <= {rounded[63:1], rounded[0] && !(onnx && tie)};
        shift_4 <= shift_3;
    end

    // 5: the second right shift of tflite, which rounds half away from zero.
    wire [4:0] again = tflite && shift_4 < 0 ? -shift_4[4:0] : 5'd0;
    wire [63:0] again_half = again == 0 ? 64'd0 : (64'd1 << (again - 5'd1)) - {63'd0, scaled[63]};
    reg signed [63:0] shifted;
    always @(posedge clk) shifted <= $signed(scaled + again_half) >>> again;

    // 6: zero point and bounds.
    wire signed [63:0] moved = shifted + {{56{zero_point[7]}}, zero_point};
    wire signed [63:0] low = {{56{least[7]}}, least};
    wire signed [63:0] high = {{56{greatest[7]}}, greatest};
    reg [7:0] clamped;
    always @(posedge clk) clamped <= moved > high ? greatest : moved < low ? least : moved[7:0];
    assign result = clamped;

    wire unused = &{1'b0, once};
endmodule

`default_nettype wire
