// Self-checking test bench: random layers against plain loops, faults, the register port and the DMA port.
//
// Runs under Verilator and Icarus; ends with a line `PASS` or `FAIL`. +layers=N sets how many random layers,
// +seed=N the random numbers. The memory is small and the line buffers smaller than many windows, so that
// windows in chunks are covered too.
`timescale 1ns / 1ps
`include "conv2d_engine_registers.vh"

// A program, not hardware: integers of any width, inputs driven from an initial block.
/* verilator lint_off WIDTH */
/* verilator lint_off INITIALDLY */
/* verilator lint_off BLKSEQ */
module conv2d_engine_tb;
    parameter LANES = 16;
    parameter PIXELS = 4;
    parameter WINDOW_BYTES = 64;
    localparam MEMORY = 4096;
    localparam [31:0] BASE = 32'h4000_0000;
    localparam [31:0] BYTES = MEMORY - 64; // less than there is: the strap counts

    reg clk = 0;
    reg reset = 1;
    always #5 clk = !clk;

    reg awvalid = 0, wvalid = 0, bready = 0, arvalid = 0, rready = 0;
    reg [31:0] awaddr = 0, wdata = 0, araddr = 0;
    wire awready, wready, bvalid, arready, rvalid;
    wire [1:0] bresp, rresp;
    wire [31:0] rdata, cycles;
    wire irq;
    reg dma_start = 0, dma_inward = 0;
    reg [31:0] dma_address = 0, dma_row_bytes = 0, dma_rows = 0, dma_stride = 0;
    wire dma_busy, dma_fault;
    reg in_valid = 0, out_ready = 0, in_error = 0, out_error = 0;
    wire in_ready, out_valid;
    reg [63:0] in_data = 0;
    wire [63:0] out_data;
    wire [7:0] out_count;

    conv2d_engine #(
        .LANES(LANES), .PIXELS(PIXELS), .WINDOW_BYTES(WINDOW_BYTES), .MEMORY_BYTES(MEMORY), .DMA_BYTES(8)
    ) dut (
        .clk(clk), .reset(reset), .memory_base(BASE), .memory_bytes(BYTES),
        .s_axi_awvalid(awvalid), .s_axi_awready(awready), .s_axi_awaddr(awaddr),
        .s_axi_wvalid(wvalid), .s_axi_wready(wready), .s_axi_wdata(wdata),
        .s_axi_bvalid(bvalid), .s_axi_bready(bready), .s_axi_bresp(bresp),
        .s_axi_arvalid(arvalid), .s_axi_arready(arready), .s_axi_araddr(araddr),
        .s_axi_rvalid(rvalid), .s_axi_rready(rready), .s_axi_rdata(rdata), .s_axi_rresp(rresp),
        .irq(irq), .cycles(cycles),
        .dma_start(dma_start), .dma_inward(dma_inward), .dma_address(dma_address),
        .dma_row_bytes(dma_row_bytes), .dma_rows(dma_rows), .dma_stride(dma_stride),
        .dma_busy(dma_busy), .dma_fault(dma_fault),
        .s_axis_tvalid(in_valid), .s_axis_tready(in_ready), .s_axis_tdata(in_data),
        .s_axis_terror(in_error), .m_axis_terror(out_error),
        .m_axis_tvalid(out_valid), .m_axis_tready(out_ready), .m_axis_tdata(out_data),
        .m_axis_tcount(out_count)
    );

    integer errors = 0;
    integer commands = 0;
    integer interrupts = 0;
    integer seen = 0; // of them, by somebody who may be looking away
    reg masked = 0;
    always @(negedge clk) if (irq) interrupts = interrupts + 1;
    always @(negedge clk) if (irq && !masked) seen = seen + 1;

    integer seed = 1;
    integer layers = 24;
    reg [7:0] image[0:MEMORY-1];  // what is moved into the memory, then what it must hold
    reg [7:0] result[0:MEMORY-1]; // what was read back
    reg [31:0] word[0:`TA_CONV2D_ENGINE_REGISTERS-1];
    reg [31:0] value, answer;

    task check(input ok, input [31:0] where);
        if (!ok) begin
            errors = errors + 1;
            if (errors < 20) $display("check %0d failed at %0t", where, $time);
        end
    endtask

    // The same random numbers in every simulator: xorshift.
    reg [31:0] chance;
    function [31:0] any(input unused);
        begin
            chance = chance ^ (chance << 13);
            chance = chance ^ (chance >> 17);
            chance = chance ^ (chance << 5);
            any = chance;
        end
    endfunction

    function [31:0] below(input [31:0] limit);
        below = any(0) % limit;
    endfunction

    // Registers. Inputs change at the falling edge, so that no simulator sees a race.
    task write(input [31:0] address, input [31:0] data);
        begin
            @(negedge clk);
            awvalid <= 1;
            wvalid  <= 1;
            awaddr  <= address;
            wdata   <= data;
            #1 while (!awready || !wready) @(negedge clk) #1;
            @(negedge clk);
            awvalid <= 0;
            wvalid  <= 0;
            check(bvalid, 1);
            answer = {30'd0, bresp};
            bready <= 1;
            @(negedge clk);
            bready <= 0;
        end
    endtask

    task read(input [31:0] address);
        begin
            @(negedge clk);
            arvalid <= 1;
            araddr  <= address;
            #1 while (!arready) @(negedge clk) #1;
            @(negedge clk);
            arvalid <= 0;
            check(rvalid, 2);
            value  = rdata;
            answer = {30'd0, rresp};
            rready <= 1;
            @(negedge clk);
            rready <= 0;
        end
    endtask

    // 2-D transfers between `image` or `result`, packed from `at`, and the memory, with gaps on the stream.
    integer beat, left, packed_at;
    reg [63:0] next_beat;

    task begin_dma(input inward, input [31:0] address, input [31:0] row_bytes, input [31:0] rows,
                   input [31:0] stride);
        begin
            @(negedge clk);
            dma_inward    <= inward;
            dma_address   <= address;
            dma_row_bytes <= row_bytes;
            dma_rows      <= rows;
            dma_stride    <= stride;
            dma_start     <= 1;
            @(negedge clk);
            dma_start <= 0;
        end
    endtask

    task dma_in(input integer at, input [31:0] address, input [31:0] row_bytes, input [31:0] rows,
                input [31:0] stride);
        begin
            packed_at = at;
            left      = row_bytes;
            begin_dma(1, address, row_bytes, rows, stride);
            while (dma_busy) begin
                for (beat = 0; beat < 8; beat = beat + 1)
                    next_beat[8*beat+:8] = packed_at + beat < MEMORY ? image[packed_at+beat] : 8'd0;
                in_data <= next_beat;
                in_valid <= below(4) != 0;
                #1;
                if (in_valid && in_ready) begin
                    packed_at = packed_at + (left < 8 ? left : 8);
                    left = left > 8 ? left - 8 : row_bytes;
                end
                @(negedge clk);
            end
            in_valid <= 0;
        end
    endtask

    task dma_out(input integer at, input [31:0] address, input [31:0] row_bytes, input [31:0] rows,
                 input [31:0] stride);
        begin
            packed_at = at;
            begin_dma(0, address, row_bytes, rows, stride);
            while (dma_busy) begin
                out_ready <= below(4) != 0;
                #1;
                if (out_valid && out_ready)
                    for (beat = 0; beat < out_count; beat = beat + 1) begin
                        result[packed_at] = out_data[8*beat+:8];
                        packed_at = packed_at + 1;
                    end
                @(negedge clk);
            end
            out_ready <= 0;
        end
    endtask

    // The reference: one output value, by the definitions.
    function [7:0] rounded(input signed [31:0] sum, input signed [31:0] multiplier, input integer shift);
        reg signed [63:0] wide, product;
        reg signed [31:0] low, high, zero;
        begin
            wide = sum;
            if (word[`TA_CONV2D_ENGINE_ROUNDING/4] == `TA_CONV2D_ENGINE_ROUNDING_TFLITE) begin
                if (shift > 0) wide = wide <<< shift;
                if (wide > 64'sd2147483647) wide = 64'sd2147483647;
                if (wide < -64'sd2147483648) wide = -64'sd2147483648;
                product = (wide * multiplier + 64'sd1073741824) >>> 31;
                if (shift < 0)
                    product = (product + (64'sd1 <<< (-shift - 1)) - (product < 0 ? 64'sd1 : 64'sd0)) >>> (-shift);
            end else if (word[`TA_CONV2D_ENGINE_ROUNDING/4] == `TA_CONV2D_ENGINE_ROUNDING_ONNX) begin
                product = wide * multiplier;
                if (shift > 0) begin
                    wide = product - ((product >>> shift) <<< shift); // the rest
                    product = product >>> shift;
                    if (wide > (64'sd1 <<< (shift - 1)) || (wide == (64'sd1 <<< (shift - 1)) && product[0]))
                        product = product + 1;
                end
            end else product = (wide * multiplier + (64'sd1 <<< (30 - shift))) >>> (31 - shift);
            zero = word[`TA_CONV2D_ENGINE_OUTPUT_ZERO_POINT/4];
            low = word[`TA_CONV2D_ENGINE_CLAMP_MIN/4];
            high = word[`TA_CONV2D_ENGINE_CLAMP_MAX/4];
            product = product + zero;
            rounded = product > high ? high[7:0] : product < low ? low[7:0] : product[7:0];
        end
    endfunction

    integer in_h, in_w, in_c, out_h, out_w, out_c, k_h, k_w, s_h, s_w, p_h, p_w, zero_in;
    integer input_at, weights_at, parameters_at, output_at, total;
    integer y, x, o, ky, kx, c, iy, ix;
    reg signed [31:0] sum;
    reg signed [7:0] a, b;

    function [31:0] image_word(input integer at);
        image_word = {image[at+3], image[at+2], image[at+1], image[at]};
    endfunction

    task expect_layer;
        for (y = 0; y < out_h; y = y + 1)
        for (x = 0; x < out_w; x = x + 1)
        for (o = 0; o < out_c; o = o + 1) begin
            sum = image_word(parameters_at + 12 * o);
            for (ky = 0; ky < k_h; ky = ky + 1)
            for (kx = 0; kx < k_w; kx = kx + 1)
            for (c = 0; c < in_c; c = c + 1) begin
                iy = y * s_h - p_h + ky;
                ix = x * s_w - p_w + kx;
                if (iy >= 0 && iy < in_h && ix >= 0 && ix < in_w) begin
                    a   = image[input_at+(iy*in_w+ix)*in_c+c];
                    b   = image[weights_at+((o*k_h+ky)*k_w+kx)*in_c+c];
                    sum = sum + (a - zero_in) * b;
                end
            end
            image[output_at+(y*out_w+x)*out_c+o] =
                rounded(sum, image_word(parameters_at + 12 * o + 4), image_word(parameters_at + 12 * o + 8));
        end
    endtask

    // A random layer that fits, its operands at any byte.
    task random_layer;
        integer each;
        begin
            total = MEMORY;
            while (total > BYTES - 16) begin
                in_h  = 1 + below(8);
                in_w  = 1 + below(9);
                in_c  = number % 3 == 0 ? 16 + below(25) : 1 + below(6); // every third: windows in chunks
                out_h = 1 + below(5);
                out_w = 1 + below(9);
                out_c = 1 + below(12);
                k_h   = number % 3 == 0 ? 2 + below(2) : 1 + below(4);
                k_w   = 2 + below(3);
                input_at      = below(20);
                weights_at    = input_at + in_h * in_w * in_c + below(8);
                parameters_at = weights_at + k_h * k_w * in_c * out_c + below(8);
                output_at     = parameters_at + 12 * out_c + below(8);
                total         = output_at + out_h * out_w * out_c;
            end
            s_h = 1 + below(3);
            s_w = 1 + below(3);
            p_h = below(k_h);
            p_w = below(k_w);
            word[`TA_CONV2D_ENGINE_ROUNDING / 4] = below(3);
            for (each = 0; each < MEMORY; each = each + 1) image[each] = below(256);
            for (each = 0; each < out_c; each = each + 1) random_parameters(parameters_at + 12 * each);
            set_words;
        end
    endtask

    task random_parameters(input integer at);
        reg [31:0] bias, multiplier, shift;
        begin
            bias       = below(4) == 0 ? any(0) : below(20000) - 10000;
            multiplier = 32'h4000_0000 + below(32'h4000_0000);
            shift      = below(8) == 0 ? below(62) - 31 : below(12) - 12;
            if (word[`TA_CONV2D_ENGINE_ROUNDING / 4] == `TA_CONV2D_ENGINE_ROUNDING_ONNX) begin
                multiplier = 32'h80_0000 + below(32'h80_0000);
                shift      = below(8) == 0 ? below(63) : 24 + below(10);
            end
            put_word(at, bias);
            put_word(at + 4, multiplier);
            put_word(at + 8, shift);
        end
    endtask

    // One pixel at the zero point: the sums are the biases -8 to 7, halved or quartered. Every kind of tie.
    task tie_layer(input [31:0] rounding);
        integer each;
        begin
            in_h = 1; in_w = 1; in_c = 1; out_h = 1; out_w = 1; out_c = 16; k_h = 1; k_w = 1;
            s_h = 1; s_w = 1; p_h = 0; p_w = 0;
            input_at      = 0;
            weights_at    = 1;
            parameters_at = 17;
            output_at     = 209;
            set_words;
            word[`TA_CONV2D_ENGINE_ROUNDING / 4] = rounding;
            word[`TA_CONV2D_ENGINE_OUTPUT_ZERO_POINT / 4] = 5;
            image[0] = zero_in;
            for (each = 0; each < 16; each = each + 1) begin
                put_word(parameters_at + 12 * each, each - 8);
                put_word(parameters_at + 12 * each + 4,
                         rounding == `TA_CONV2D_ENGINE_ROUNDING_ONNX ? 32'h80_0000 : 32'h4000_0000);
                put_word(parameters_at + 12 * each + 8,
                         rounding == `TA_CONV2D_ENGINE_ROUNDING_ONNX ? 24 + each / 4 % 2 : -(each / 4 % 2));
            end
            fill;
            start_command;
            expect_layer;
            end_command(`TA_CONV2D_ENGINE_STATUS_DONE);
            drain;
            compare(90 + rounding);
        end
    endtask

    task put_word(input integer at, input [31:0] data);
        {image[at+3], image[at+2], image[at+1], image[at]} = data;
    endtask

    task set_words;
        begin
            word[`TA_CONV2D_ENGINE_INPUT / 4] = BASE + input_at;
            word[`TA_CONV2D_ENGINE_WEIGHTS / 4] = BASE + weights_at;
            word[`TA_CONV2D_ENGINE_PARAMETERS / 4] = BASE + parameters_at;
            word[`TA_CONV2D_ENGINE_OUTPUT / 4] = BASE + output_at;
            word[`TA_CONV2D_ENGINE_IN_HEIGHT / 4] = in_h;
            word[`TA_CONV2D_ENGINE_IN_WIDTH / 4] = in_w;
            word[`TA_CONV2D_ENGINE_IN_CHANNELS / 4] = in_c;
            word[`TA_CONV2D_ENGINE_OUT_HEIGHT / 4] = out_h;
            word[`TA_CONV2D_ENGINE_OUT_WIDTH / 4] = out_w;
            word[`TA_CONV2D_ENGINE_OUT_CHANNELS / 4] = out_c;
            word[`TA_CONV2D_ENGINE_KERNEL_HEIGHT / 4] = k_h;
            word[`TA_CONV2D_ENGINE_KERNEL_WIDTH / 4] = k_w;
            word[`TA_CONV2D_ENGINE_STRIDE_HEIGHT / 4] = s_h;
            word[`TA_CONV2D_ENGINE_STRIDE_WIDTH / 4] = s_w;
            word[`TA_CONV2D_ENGINE_PAD_TOP / 4] = p_h;
            word[`TA_CONV2D_ENGINE_PAD_LEFT / 4] = p_w;
            zero_in = below(256) - 128;
            word[`TA_CONV2D_ENGINE_INPUT_ZERO_POINT / 4] = zero_in;
            word[`TA_CONV2D_ENGINE_OUTPUT_ZERO_POINT / 4] = below(256) - 128;
            word[`TA_CONV2D_ENGINE_CLAMP_MIN / 4] = below(3) == 0 ? -20 : -128;
            word[`TA_CONV2D_ENGINE_CLAMP_MAX / 4] = below(3) == 0 ? 90 : 127;
        end
    endtask

    task start_command;
        integer each;
        begin
            write(`TA_CONV2D_ENGINE_STATUS, 0);
            for (each = 2; each < `TA_CONV2D_ENGINE_REGISTERS; each = each + 1) write(4 * each, word[each]);
            read(`TA_CONV2D_ENGINE_STATUS);
            check(value == `TA_CONV2D_ENGINE_STATUS_NONE, 10);
            write(`TA_CONV2D_ENGINE_START, 1);
            check(answer == 0, 11);
        end
    endtask

    task end_command(input [31:0] wanted);
        begin
            value = 1;
            while (value != 0) read(`TA_CONV2D_ENGINE_START);
            read(`TA_CONV2D_ENGINE_STATUS);
            check(value == wanted, 12);
            check(cycles != 0, 13);
            commands = commands + 1;
            check(interrupts == commands, 14);
        end
    endtask

    task compare(input [31:0] where);
        integer each;
        for (each = 0; each < BYTES; each = each + 1) check(result[each] === image[each], where);
    endtask

    // The whole memory, in rows of 64 bytes.
    task fill;
        dma_in(0, BASE, 64, BYTES / 64, 64);
    endtask

    task drain;
        dma_out(0, BASE, 64, BYTES / 64, 64);
    endtask

    task fault(input [31:0] offset, input [31:0] bad, input [31:0] wanted);
        reg [31:0] kept;
        begin
            kept = word[offset/4];
            word[offset/4] = bad;
            start_command;
            end_command(wanted);
            word[offset/4] = kept;
        end
    endtask

    task pulse_reset;
        begin
            @(negedge clk) reset <= 1;
            @(negedge clk) reset <= 0;
        end
    endtask

    // The layer that `word` and `image` describe computes what it should.
    task works_again(input [31:0] where);
        begin
            fill;
            start_command;
            expect_layer;
            end_command(`TA_CONV2D_ENGINE_STATUS_DONE);
            drain;
            compare(where);
        end
    endtask

    // Beats that the other side calls bad, and a side that never answers. Nothing of a bad beat is written, and a
    // command after bytes that did not come is not executed.
    task faulty_transfers;
        begin
            random_layer;
            fill;
            begin_dma(1, BASE + BYTES - 16, 8, 2, 8);
            in_valid <= 1;
            in_data  <= 64'h1122_3344_5566_7788;
            @(negedge clk);
            in_error <= 1; // the second beat
            in_data  <= 64'h99aa_bbcc_ddee_ff00;
            @(negedge clk);
            in_error <= 0;
            in_valid <= 0;
            check(!dma_busy && dma_fault, 80);
            put_word(BYTES - 16, 32'h5566_7788);
            put_word(BYTES - 12, 32'h1122_3344);
            @(negedge clk);
            read(`TA_CONV2D_ENGINE_STATUS);
            check(value == `TA_CONV2D_ENGINE_STATUS_FAULT_TRANSFER, 81);
            drain; // outward, so that it does not mend what is missing
            check(!dma_fault, 82);
            compare(83);
            start_command;
            end_command(`TA_CONV2D_ENGINE_STATUS_FAULT_TRANSFER);
            drain;
            compare(84);
            works_again(85);

            begin_dma(0, BASE, 64, 2, 64);
            out_ready <= 1;
            repeat (3) @(negedge clk);
            out_error <= 1;
            @(negedge clk);
            out_error <= 0;
            out_ready <= 0;
            check(!dma_busy && dma_fault && !out_valid, 86);
            @(negedge clk);
            read(`TA_CONV2D_ENGINE_STATUS);
            check(value == `TA_CONV2D_ENGINE_STATUS_FAULT_TRANSFER, 87);
            works_again(88);

            // Nothing comes: the port waits, commands run meanwhile; a reset gives it back.
            fill;
            begin_dma(1, BASE + BYTES - 64, 64, 1, 64);
            start_command;
            expect_layer;
            end_command(`TA_CONV2D_ENGINE_STATUS_DONE);
            repeat (1000) @(negedge clk);
            check(dma_busy && !dma_fault, 89);
            pulse_reset;
            check(!dma_busy, 90);
            drain;
            compare(91);
            begin_dma(0, BASE, 64, 1, 64); // and nobody takes
            repeat (1000) @(negedge clk);
            check(dma_busy && out_valid, 92);
            pulse_reset;
            check(!dma_busy && !out_valid, 93);
            works_again(94);
        end
    endtask

    integer number;
    initial begin
        if (!$value$plusargs("layers=%d", layers)) layers = 24;
        if (!$value$plusargs("seed=%d", seed)) seed = 1;
        chance = seed * 32'h9e37_79b9;
        repeat (3) @(negedge clk);
        reset <= 0;

        // Registers: none behind the last, none between; a write to none has no effect.
        write(4 * `TA_CONV2D_ENGINE_REGISTERS, 1);
        check(answer == 2, 20);
        read(4 * `TA_CONV2D_ENGINE_REGISTERS);
        check(answer == 2, 21);
        write(`TA_CONV2D_ENGINE_IN_HEIGHT, 77);
        read(`TA_CONV2D_ENGINE_IN_HEIGHT);
        check(answer == 0 && value == 77, 22);
        write(`TA_CONV2D_ENGINE_IN_HEIGHT + 1, 78);
        check(answer == 2, 23);
        write(`TA_CONV2D_ENGINE_START, 2); // only 1 starts
        read(`TA_CONV2D_ENGINE_START);
        check(value == 0, 24);

        // 2-D transfers at any byte, and back.
        for (number = 0; number < MEMORY; number = number + 1) image[number] = below(256);
        fill;
        drain;
        compare(30);
        check(!dma_fault, 31);
        dma_out(0, BASE + 3, 13, 5, 29);
        for (number = 0; number < 65; number = number + 1)
            check(result[number] === image[3+29*(number/13)+number%13], 32);
        dma_in(100, BASE + 1001, 3, 4, 5);
        for (number = 11; number >= 0; number = number - 1)
            image[1001+5*(number/3)+number%3] = image[100+number];
        drain;
        compare(33);
        dma_in(0, BASE + BYTES - 8, 8, 2, 8); // the second row is outside
        check(dma_fault, 34);
        for (number = 0; number < 8; number = number + 1) image[BYTES-8+number] = image[number];
        drain;
        check(!dma_fault, 35);
        compare(36);

        for (number = 0; number < 3; number = number + 1) tie_layer(number);

        for (number = 0; number < layers; number = number + 1) begin
            random_layer;
            fill;
            start_command;
            write(`TA_CONV2D_ENGINE_IN_HEIGHT, 0); // refused: it runs
            check(answer == 2, 40);
            expect_layer;
            // Beside the command: other bytes come in meanwhile, and stay.
            image[BYTES-2] = 8'h5a;
            image[BYTES-1] = 8'ha5;
            dma_in(BYTES - 2, BASE + BYTES - 2, 2, 1, 2);
            end_command(`TA_CONV2D_ENGINE_STATUS_DONE);
            drain;
            compare(100 + number);
        end

        // Faults: the first in this order counts, and nothing is written.
        fault(`TA_CONV2D_ENGINE_IN_HEIGHT, 0, `TA_CONV2D_ENGINE_STATUS_FAULT_GEOMETRY);
        fault(`TA_CONV2D_ENGINE_STRIDE_WIDTH, 32'h1_0000, `TA_CONV2D_ENGINE_STATUS_FAULT_GEOMETRY);
        fault(`TA_CONV2D_ENGINE_PAD_TOP, k_h, `TA_CONV2D_ENGINE_STATUS_FAULT_GEOMETRY);
        fault(`TA_CONV2D_ENGINE_IN_HEIGHT, 32'hffff, `TA_CONV2D_ENGINE_STATUS_FAULT_ADDRESS);
        fault(`TA_CONV2D_ENGINE_INPUT, BASE - 1, `TA_CONV2D_ENGINE_STATUS_FAULT_ADDRESS);
        fault(`TA_CONV2D_ENGINE_OUTPUT, BASE + BYTES, `TA_CONV2D_ENGINE_STATUS_FAULT_ADDRESS);
        fault(`TA_CONV2D_ENGINE_OUTPUT, BASE + BYTES + 1, `TA_CONV2D_ENGINE_STATUS_FAULT_ADDRESS);
        fault(`TA_CONV2D_ENGINE_PARAMETERS, BASE + BYTES - 1, `TA_CONV2D_ENGINE_STATUS_FAULT_ADDRESS);
        fault(`TA_CONV2D_ENGINE_ROUNDING, 3, `TA_CONV2D_ENGINE_STATUS_FAULT_ARITHMETIC);
        fault(`TA_CONV2D_ENGINE_INPUT_ZERO_POINT, 128, `TA_CONV2D_ENGINE_STATUS_FAULT_ARITHMETIC);
        fault(`TA_CONV2D_ENGINE_CLAMP_MAX, word[`TA_CONV2D_ENGINE_CLAMP_MIN / 4] - 1,
              `TA_CONV2D_ENGINE_STATUS_FAULT_ARITHMETIC);
        fill;
        put_word(parameters_at + 12 * (out_c - 1) + 4, 32'h8000_0000); // the last multiplier
        fill;
        start_command;
        end_command(`TA_CONV2D_ENGINE_STATUS_FAULT_ARITHMETIC);
        drain;
        compare(50);

        faulty_transfers;

        // Reset in the middle: nothing runs, nothing is remembered.
        fill;
        start_command;
        pulse_reset;
        read(`TA_CONV2D_ENGINE_START);
        check(value == 0, 60);
        read(`TA_CONV2D_ENGINE_STATUS);
        check(value == `TA_CONV2D_ENGINE_STATUS_NONE, 61);
        read(`TA_CONV2D_ENGINE_IN_HEIGHT);
        check(value == 0, 62);
        repeat (4000) @(negedge clk);
        check(interrupts == commands, 63);
        works_again(64);

        // An interrupt that nobody takes: the registers tell the end all the same.
        masked = 1;
        fill;
        start_command;
        expect_layer;
        end_command(`TA_CONV2D_ENGINE_STATUS_DONE);
        drain;
        compare(70);
        check(seen == interrupts - 1, 71);
        masked = 0;

        $display("%0d layers, %0d errors: %s", layers, errors, errors == 0 ? "PASS" : "FAIL");
        $finish;
    end
endmodule
/* verilator lint_on BLKSEQ */
/* verilator lint_on INITIALDLY */
/* verilator lint_on WIDTH */
