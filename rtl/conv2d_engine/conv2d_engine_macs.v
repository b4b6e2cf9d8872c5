// One row of the MAC array: LANES products of (input - zero point) and weight per cycle, summed into 32 bits.
//
// `valid` comes with the operands; `first` begins a sum. Two cycles after operands came, they are in `sum`,
// which wraps at 32 bits. Lanes that are not in `lanes` add nothing.
`default_nettype none

module conv2d_engine_macs #(
    parameter LANES = 16
) (
    input  wire               clk,
    input  wire               valid,
    input  wire               first,
    input  wire [  LANES-1:0] lanes,
    input  wire [8*LANES-1:0] inputs,
    input  wire [8*LANES-1:0] weights,
    input  wire [        7:0] zero_point,
    output reg  [       31:0] sum
);
    reg [17*LANES-1:0] products;
    reg                products_valid;
    reg                products_first;

    genvar lane;
    generate
        for (lane = 0; lane < LANES; lane = lane + 1) begin : gen_lane
            wire signed [8:0] input_byte = {inputs[8*lane+7], inputs[8*lane+:8]};
            wire signed [8:0] zero = {zero_point[7], zero_point};
            wire signed [8:0] difference = input_byte - zero;
            wire signed [7:0] weight = weights[8*lane+:8];
            wire signed [16:0] product = difference * weight;

            always @(posedge clk) products[17*lane+:17] <= lanes[lane] ? product : 17'd0;
        end
    endgenerate

    reg [31:0] total;
    integer    each;
    always @* begin
        total = products_first ? 32'd0 : sum;
        for (each = 0; each < LANES; each = each + 1)
            total = total + {{15{products[17*each+16]}}, products[17*each+:17]};
    end

    always @(posedge clk) begin
        products_valid <= valid;
        products_first <= first;
        if (products_valid) sum <= total;
    end
endmodule

`default_nettype wire
