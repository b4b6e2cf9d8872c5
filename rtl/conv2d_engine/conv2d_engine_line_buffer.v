// The window of one output pixel: its input lines, zero point for padding, one behind the other.
//
// A write places LANES bytes from `write_position` on, which may lie before, across or behind the part of the
// window that is held here; only lanes in `write_lanes` and inside count. A read gives the LANES bytes of a
// row one cycle later.
`default_nettype none

module conv2d_engine_line_buffer #(
    parameter LANES = 16,   // a power of two
    parameter BYTES = 4096, // a power of two, at least 2 * LANES
    parameter POSITION = 52
) (
    input  wire                             clk,
    input  wire                             write,
    input  wire signed [      POSITION-1:0] write_position,
    input  wire        [         LANES-1:0] write_lanes,
    input  wire        [       8*LANES-1:0] write_data,
    input  wire                             read,
    input  wire        [$clog2(BYTES/LANES)-1:0] read_row,
    output wire        [       8*LANES-1:0] read_data
);
    localparam LANE_BITS = $clog2(LANES);
    localparam ROWS = BYTES / LANES;
    localparam ROW_BITS = $clog2(ROWS);

    wire [LANE_BITS-1:0] first = write_position[LANE_BITS-1:0];
    wire signed [POSITION-LANE_BITS-1:0] row = write_position[POSITION-1:LANE_BITS];
    wire [LANES-1:0] wrapped = ~({LANES{1'b1}} << first); // banks that hold bytes of the next row
    wire [2*LANES-1:0] enables = {write_lanes, write_lanes} << first;
    wire [16*LANES-1:0] rotated = {write_data, write_data} << {first, 3'b000};

    genvar bank;
    generate
        for (bank = 0; bank < LANES; bank = bank + 1) begin : gen_bank
            reg [7:0] bytes[0:ROWS-1];
            reg [7:0] shown;
            wire signed [POSITION-LANE_BITS-1:0] own =
                row + $signed({{POSITION - LANE_BITS - 1{1'b0}}, wrapped[bank]});
            wire held = own[POSITION-LANE_BITS-1:ROW_BITS] == 0;

            always @(posedge clk) begin
                if (write && held && enables[LANES+bank]) bytes[own[ROW_BITS-1:0]] <= rotated[8*(LANES+bank)+:8];
                if (read) shown <= bytes[read_row];
            end

            assign read_data[8*bank+:8] = shown;
        end
    endgenerate

    wire unused = &{1'b0, enables, rotated};
endmodule

`default_nettype wire
