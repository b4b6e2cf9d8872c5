// Which of LANES consecutive positions, from `first` on, lie in [0, length).
`default_nettype none

module conv2d_engine_span #(
    parameter LANES = 16,
    parameter POSITION = 52
) (
    input  wire signed [POSITION-1:0] first,
    input  wire        [        31:0] length,
    output wire        [   LANES-1:0] lanes
);
    localparam COUNT_BITS = $clog2(LANES) + 1;
    localparam [31:0] LANES_32 = LANES;
    localparam [COUNT_BITS-1:0] ALL = LANES_32[COUNT_BITS-1:0];
    localparam [COUNT_BITS-1:0] NONE = 0;
    localparam signed [POSITION-1:0] MOST = {{POSITION - 1{1'b0}}, 1'b1} << $clog2(LANES);

    wire signed [POSITION-1:0] gap = -first;
    wire signed [POSITION-1:0] left = $signed({{POSITION - 32{1'b0}}, length}) - first;
    wire [COUNT_BITS-1:0] skipped = gap <= 0 ? NONE : gap >= MOST ? ALL : gap[COUNT_BITS-1:0];
    wire [COUNT_BITS-1:0] reached = left <= 0 ? NONE : left >= MOST ? ALL : left[COUNT_BITS-1:0];

    assign lanes = ({LANES{1'b1}} << skipped) & ~({LANES{1'b1}} << reached);
endmodule

`default_nettype wire
