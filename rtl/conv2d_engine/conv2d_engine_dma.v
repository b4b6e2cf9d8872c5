// The 2-D DMA port: rows of bytes between a stream and the engine's memory.
//
// A transfer is `rows` runs of `row_bytes`, `stride` bytes apart in memory, packed one behind the other on the
// stream: each run begins a new beat, its last beat may be partly used. Any byte address will do. The memory
// port is granted whenever `grant` is 1. A transfer that leaves the memory stops with `fault`, which stays
// until the next one starts; the beat that would leave it is not taken, and nothing of it is written. So does one
// whose other side answers a beat with an error, which `refused` tells for one cycle. What never answers is
// waited for, until a reset.
`default_nettype none

module conv2d_engine_dma #(
    parameter BEAT = 8 // bytes
) (
    input  wire              clk,
    input  wire              reset,
    input  wire [      31:0] memory_base,
    input  wire [      31:0] memory_bytes,
    // A transfer; `start` while busy is ignored. Zero rows or zero bytes end at once.
    input  wire              start,
    input  wire              inward, // 1: from the stream into the memory
    input  wire [      31:0] address,
    input  wire [      31:0] row_bytes,
    input  wire [      31:0] rows,
    input  wire [      31:0] stride,
    output reg               busy,
    output reg               fault,
    output reg               refused,
    output reg               into,
    // The streams.
    input  wire              in_valid,
    input  wire              in_error, // with in_valid: the source could not read
    output wire              in_ready,
    input  wire [8*BEAT-1:0] in_data,
    output reg               out_valid,
    input  wire              out_ready,
    input  wire              out_error, // with out_ready: the target could not write
    output wire [8*BEAT-1:0] out_data,
    output reg  [       7:0] out_count, // bytes of this beat
    // The memory, addresses from 0.
    input  wire              grant,
    output wire              read,
    output wire              write,
    output wire [      31:0] at,
    output wire [       7:0] count,
    output wire [8*BEAT-1:0] write_data,
    input  wire [8*BEAT-1:0] read_data
);
    localparam [31:0] MOST = BEAT;

    reg         issued_all;
    reg  [31:0] row_start;
    reg  [31:0] column;
    reg  [31:0] rows_left;
    reg  [31:0] width;
    reg  [31:0] pitch;

    wire [31:0] left = width - column;
    wire        row_ends = left <= MOST;
    wire [31:0] place = row_start + column;
    wire        below = place > memory_bytes;
    wire [31:0] room = memory_bytes - place;
    wire [31:0] size = row_ends ? left : MOST;
    wire        outside = below || size > room;
    wire        free = !out_valid || out_ready;
    wire        bad = into ? in_ready && in_valid && in_error : out_valid && out_ready && out_error;
    wire        active = busy && !issued_all && !outside;

    assign count = size[7:0];
    assign at = place;
    assign write_data = in_data;
    assign out_data = read_data;
    assign in_ready = active && into && grant;
    assign write = in_ready && in_valid && !in_error;
    assign read = active && !into && grant && free;

    wire step = write || read;

    always @(posedge clk) begin
        refused <= busy && bad;
        if (out_ready) out_valid <= 0;
        if (read) begin
            out_valid <= 1;
            out_count <= size[7:0];
        end
        if (busy) begin
            if (step && !row_ends) column <= column + MOST;
            if (step && row_ends) begin
                column    <= 0;
                row_start <= row_start + pitch;
                rows_left <= rows_left - 1;
                if (rows_left == 1) issued_all <= 1;
            end
            if (issued_all && free) busy <= 0;
            if (!issued_all && outside && free) begin
                busy  <= 0;
                fault <= 1;
            end
            if (bad) begin
                busy      <= 0;
                fault     <= 1;
                out_valid <= 0;
            end
        end else if (start) begin
            busy       <= rows != 0 && row_bytes != 0;
            fault      <= 0;
            into       <= inward;
            issued_all <= 0;
            row_start  <= address - memory_base;
            column     <= 0;
            rows_left  <= rows;
            width      <= row_bytes;
            pitch      <= stride;
        end
        if (reset) begin
            busy      <= 0;
            fault     <= 0;
            refused   <= 0;
            out_valid <= 0;
        end
    end
endmodule

`default_nettype wire
