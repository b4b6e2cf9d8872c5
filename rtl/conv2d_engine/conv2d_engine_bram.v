// The engine's own memory: byte banks, so that both ports work from any byte address on.
//
// Port A reads BANKS bytes per cycle. Port B reads or writes `b_count` bytes, 0 to B_BYTES. Data comes one
// cycle after the address and stays until the next read on that port. Addresses wrap at BYTES; callers that
// care check the range. A byte that is read and written in one cycle reads as before the write.
`default_nettype none

module conv2d_engine_bram #(
    parameter BANKS = 16,    // a power of two
    parameter BYTES = 65536, // a power of two
    parameter B_BYTES = 8    // at most BANKS
) (
    input  wire                 clk,
    input  wire                 a_read,
    input  wire [         31:0] a_address,
    output wire [  8*BANKS-1:0] a_data,
    input  wire                 b_read,
    input  wire                 b_write,
    input  wire [         31:0] b_address,
    input  wire [          7:0] b_count,
    input  wire [8*B_BYTES-1:0] b_write_data,
    output wire [8*B_BYTES-1:0] b_read_data
);
    localparam BANK_BITS = $clog2(BANKS);
    localparam ROWS = BYTES / BANKS;
    localparam ROW_BITS = $clog2(ROWS);

    wire [BANK_BITS-1:0] a_first = a_address[BANK_BITS-1:0];
    wire [ROW_BITS-1:0] a_row = a_address[BANK_BITS+:ROW_BITS];
    wire [BANK_BITS-1:0] b_first = b_address[BANK_BITS-1:0];
    wire [ROW_BITS-1:0] b_row = b_address[BANK_BITS+:ROW_BITS];

    // Banks before the first one hold bytes of the next row.
    wire [BANKS-1:0] a_wrapped = ~({BANKS{1'b1}} << a_first);
    wire [BANKS-1:0] b_wrapped = ~({BANKS{1'b1}} << b_first);

    // Byte 0 belongs to bank `first`: rotate by that, as the middle of a doubled vector.
    wire [BANKS-1:0] b_lanes = ~({BANKS{1'b1}} << b_count);
    wire [2*BANKS-1:0] b_enables = {b_lanes, b_lanes} << b_first;
    wire [8*BANKS-1:0] b_wide;
    wire [16*BANKS-1:0] b_rotated = {b_wide, b_wide} << {b_first, 3'b000};

    generate
        if (BANKS == B_BYTES) begin : gen_same
            assign b_wide = b_write_data;
        end else begin : gen_wider
            assign b_wide = {{8 * (BANKS - B_BYTES) {1'b0}}, b_write_data};
        end
    endgenerate

    wire [8*BANKS-1:0] a_banks;
    wire [8*BANKS-1:0] b_banks;

    genvar bank;
    generate
        for (bank = 0; bank < BANKS; bank = bank + 1) begin : gen_bank
            reg [7:0] bytes[0:ROWS-1];
            reg [7:0] a_byte;
            reg [7:0] b_byte;
            wire [ROW_BITS-1:0] a_own = a_row + {{ROW_BITS - 1{1'b0}}, a_wrapped[bank]};
            wire [ROW_BITS-1:0] b_own = b_row + {{ROW_BITS - 1{1'b0}}, b_wrapped[bank]};

            always @(posedge clk) begin
                if (a_read) a_byte <= bytes[a_own];
            end

            always @(posedge clk) begin
                if (b_read) b_byte <= bytes[b_own];
                if (b_write && b_enables[BANKS+bank]) bytes[b_own] <= b_rotated[8*(BANKS+bank)+:8];
            end

            assign a_banks[8*bank+:8] = a_byte;
            assign b_banks[8*bank+:8] = b_byte;
        end
    endgenerate

    reg [BANK_BITS-1:0] a_shown;
    reg [BANK_BITS-1:0] b_shown;

    always @(posedge clk) begin
        if (a_read) a_shown <= a_first;
        if (b_read) b_shown <= b_first;
    end

    wire [16*BANKS-1:0] a_back = {a_banks, a_banks} >> {a_shown, 3'b000};
    wire [16*BANKS-1:0] b_back = {b_banks, b_banks} >> {b_shown, 3'b000};
    assign a_data = a_back[8*BANKS-1:0];
    assign b_read_data = b_back[8*B_BYTES-1:0];

    wire unused = &{1'b0, a_address, b_address, a_back, b_back, b_enables, b_rotated};
endmodule

`default_nettype wire
