// The int8 conv2d engine: registers, core, its own memory, and a 2-D DMA port into it. See README.md.
`include "conv2d_engine_registers.vh"
`default_nettype none

module conv2d_engine #(
    parameter LANES = 16,           // bytes of a window that are multiplied per cycle; a power of two >= 16
    parameter PIXELS = 4,           // windows that are multiplied side by side
    parameter WINDOW_BYTES = 4096,  // held of each window; a power of two >= 2 * LANES
    parameter MEMORY_BYTES = 65536, // a power of two
    parameter DMA_BYTES = 8         // per cycle; at most LANES
) (
    input wire clk,
    input wire reset, // synchronous, active high

    // Straps: where the SoC maps the memory for the engine, and how much of it there is, at most MEMORY_BYTES.
    input wire [31:0] memory_base,
    input wire [31:0] memory_bytes,

    // Registers: AXI4-Lite without protection bits and strobes.
    input  wire        s_axi_awvalid,
    output wire        s_axi_awready,
    input  wire [31:0] s_axi_awaddr,
    input  wire        s_axi_wvalid,
    output wire        s_axi_wready,
    input  wire [31:0] s_axi_wdata,
    output wire        s_axi_bvalid,
    input  wire        s_axi_bready,
    output wire [ 1:0] s_axi_bresp,
    input  wire        s_axi_arvalid,
    output wire        s_axi_arready,
    input  wire [31:0] s_axi_araddr,
    output wire        s_axi_rvalid,
    input  wire        s_axi_rready,
    output wire [31:0] s_axi_rdata,
    output wire [ 1:0] s_axi_rresp,

    // A pulse when a command ended, and how many cycles it took.
    output wire        irq,
    output wire [31:0] cycles,

    // The DMA port: a transfer, and two streams.
    input  wire                   dma_start,
    input  wire                   dma_inward,
    input  wire [           31:0] dma_address,
    input  wire [           31:0] dma_row_bytes,
    input  wire [           31:0] dma_rows,
    input  wire [           31:0] dma_stride,
    output wire                   dma_busy,
    output wire                   dma_fault,
    input  wire                   s_axis_tvalid,
    input  wire                   s_axis_terror, // with tvalid: this beat could not be read
    output wire                   s_axis_tready,
    input  wire [8*DMA_BYTES-1:0] s_axis_tdata,
    output wire                   m_axis_tvalid,
    input  wire                   m_axis_tready,
    input  wire                   m_axis_terror, // with tready: this beat could not be written
    output wire [8*DMA_BYTES-1:0] m_axis_tdata,
    output wire [            7:0] m_axis_tcount
);
    wire [32*`TA_CONV2D_ENGINE_REGISTERS-1:0] registers;
    wire start, busy, done;
    wire [31:0] outcome;

    // Bytes that did not come: the next command ends at once, instead of computing with what is there.
    wire dma_refused, dma_into;
    reg missing, unfit;
    always @(posedge clk) begin
        unfit <= start && missing;
        if (start) missing <= 0;
        if (dma_refused && dma_into) missing <= 1;
        if (reset) begin
            unfit   <= 0;
            missing <= 0;
        end
    end

    assign irq = done || unfit;

    conv2d_engine_slave slave (
        .clk(clk),
        .reset(reset),
        .awvalid(s_axi_awvalid),
        .awready(s_axi_awready),
        .awaddr(s_axi_awaddr),
        .wvalid(s_axi_wvalid),
        .wready(s_axi_wready),
        .wdata(s_axi_wdata),
        .bvalid(s_axi_bvalid),
        .bready(s_axi_bready),
        .bresp(s_axi_bresp),
        .arvalid(s_axi_arvalid),
        .arready(s_axi_arready),
        .araddr(s_axi_araddr),
        .rvalid(s_axi_rvalid),
        .rready(s_axi_rready),
        .rdata(s_axi_rdata),
        .rresp(s_axi_rresp),
        .registers(registers),
        .start(start),
        .busy(busy || done || unfit),
        .done(done || unfit),
        .outcome(unfit ? `TA_CONV2D_ENGINE_STATUS_FAULT_TRANSFER : outcome),
        .failed(dma_refused)
    );

    wire core_read, core_write;
    wire [31:0] core_read_at, core_write_at;
    wire [7:0] core_write_data;
    wire [8*LANES-1:0] core_read_data;

    conv2d_engine_core #(.LANES(LANES), .PIXELS(PIXELS), .WINDOW_BYTES(WINDOW_BYTES)) core (
        .clk(clk),
        .reset(reset),
        .start(start && !missing),
        .registers(registers),
        .memory_base(memory_base),
        .memory_bytes(memory_bytes),
        .busy(busy),
        .done(done),
        .outcome(outcome),
        .cycles(cycles),
        .read(core_read),
        .read_at(core_read_at),
        .read_data(core_read_data),
        .write(core_write),
        .write_at(core_write_at),
        .write_data(core_write_data)
    );

    wire dma_read, dma_write;
    wire [31:0] dma_at;
    wire [7:0] dma_count;
    wire [8*DMA_BYTES-1:0] dma_write_data, port_b_data;

    conv2d_engine_dma #(.BEAT(DMA_BYTES)) dma (
        .clk(clk),
        .reset(reset),
        .memory_base(memory_base),
        .memory_bytes(memory_bytes),
        .start(dma_start),
        .inward(dma_inward),
        .address(dma_address),
        .row_bytes(dma_row_bytes),
        .rows(dma_rows),
        .stride(dma_stride),
        .busy(dma_busy),
        .fault(dma_fault),
        .refused(dma_refused),
        .into(dma_into),
        .in_valid(s_axis_tvalid),
        .in_error(s_axis_terror),
        .in_ready(s_axis_tready),
        .in_data(s_axis_tdata),
        .out_valid(m_axis_tvalid),
        .out_ready(m_axis_tready),
        .out_error(m_axis_terror),
        .out_data(m_axis_tdata),
        .out_count(m_axis_tcount),
        .grant(!core_write),
        .read(dma_read),
        .write(dma_write),
        .at(dma_at),
        .count(dma_count),
        .write_data(dma_write_data),
        .read_data(port_b_data)
    );

    wire [8*DMA_BYTES-1:0] core_wide = {{8 * (DMA_BYTES - 1) {1'b0}}, core_write_data};

    conv2d_engine_bram #(.BANKS(LANES), .BYTES(MEMORY_BYTES), .B_BYTES(DMA_BYTES)) memory (
        .clk(clk),
        .a_read(core_read),
        .a_address(core_read_at),
        .a_data(core_read_data),
        .b_read(dma_read),
        .b_write(core_write || dma_write),
        .b_address(core_write ? core_write_at : dma_at),
        .b_count(core_write ? 8'd1 : dma_count),
        .b_write_data(core_write ? core_wide : dma_write_data),
        .b_read_data(port_b_data)
    );
endmodule

`default_nettype wire
