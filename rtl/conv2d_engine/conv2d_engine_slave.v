// The register file behind an AXI4-Lite slave port: one access at a time in each direction, whole words.
//
// What the registers are is written in conv2d_engine_registers.vh. Writing 1 to START begins a command;
// START then reads 1, and until the command ended every write is refused with SLVERR. Writing 0 to STATUS
// forgets how the last command ended. An address without a register answers SLVERR.
`include "conv2d_engine_registers.vh"
`default_nettype none

module conv2d_engine_slave (
    input  wire        clk,
    input  wire        reset,
    input  wire        awvalid,
    output wire        awready,
    input  wire [31:0] awaddr,
    input  wire        wvalid,
    output wire        wready,
    input  wire [31:0] wdata,
    output reg         bvalid,
    input  wire        bready,
    output reg  [ 1:0] bresp,
    input  wire        arvalid,
    output wire        arready,
    input  wire [31:0] araddr,
    output reg         rvalid,
    input  wire        rready,
    output reg  [31:0] rdata,
    output reg  [ 1:0] rresp,

    output wire [32*`TA_CONV2D_ENGINE_REGISTERS-1:0] registers,
    output reg start,
    input wire busy,
    input wire done,
    input wire [31:0] outcome,
    input wire failed // a transfer did; told unless a command runs, whose end is told then
);
    localparam COUNT = `TA_CONV2D_ENGINE_REGISTERS;
    localparam [1:0] OKAY = 2'b00;
    localparam [1:0] SLVERR = 2'b10;

    reg  [31:0] file       [0:COUNT-1];
    reg  [31:0] status;

    wire        running = busy || start;
    wire        write = awvalid && wvalid && !bvalid;
    wire        read = arvalid && !rvalid;
    wire        write_known = awaddr[1:0] == 0 && awaddr < 4 * COUNT;
    wire        read_known = araddr[1:0] == 0 && araddr < 4 * COUNT;
    wire [ 4:0] write_number = awaddr[6:2];
    wire [ 4:0] read_number = araddr[6:2];

    assign awready = write;
    assign wready  = write;
    assign arready = read;

    genvar number;
    generate
        for (number = 0; number < COUNT; number = number + 1) begin : gen_register
            assign registers[32*number+:32] = file[number];
        end
    endgenerate

    integer each;
    always @(posedge clk) begin
        start <= 0;
        if (bready) bvalid <= 0;
        if (rready) rvalid <= 0;
        if (done) status <= outcome;
        if (failed && !running) status <= `TA_CONV2D_ENGINE_STATUS_FAULT_TRANSFER;
        if (write) begin
            bvalid <= 1;
            bresp  <= write_known && !running ? OKAY : SLVERR;
            if (write_known && !running) begin
                file[write_number] <= wdata;
                start <= awaddr == `TA_CONV2D_ENGINE_START && wdata == 1;
                if (awaddr == `TA_CONV2D_ENGINE_STATUS && wdata == 0) status <= `TA_CONV2D_ENGINE_STATUS_NONE;
            end
        end
        if (read) begin
            rvalid <= 1;
            rresp  <= read_known ? OKAY : SLVERR;
            rdata  <= 0;
            if (read_known) rdata <= file[read_number];
            if (araddr == `TA_CONV2D_ENGINE_START) rdata <= {31'd0, running};
            if (araddr == `TA_CONV2D_ENGINE_STATUS) rdata <= status;
        end
        if (reset) begin
            start  <= 0;
            bvalid <= 0;
            rvalid <= 0;
            status <= `TA_CONV2D_ENGINE_STATUS_NONE;
            for (each = 0; each < COUNT; each = each + 1) file[each] <= 0;
        end
    end

    wire unused = &{1'b0, awaddr, araddr};
endmodule

`default_nettype wire
