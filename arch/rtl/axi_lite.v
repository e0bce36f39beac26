// AXI4-Lite slave for the control side of a kernel: one word of the word port per 32-bit access.
//
// Byte address {region[7:0], offset[21:0], 2'b00}. Regions 0 and up are the word port's (0 live-ins,
// 1 live-outs, 2 + m memory m); region 255 is control:
//   offset 0  write: bit 0 starts the kernel, bit 1 resets it;  read: bit 0 done, 1 stalled, 2 failed
//   offset 1  read: index of the failed assertion
// Writes of less than a whole word are refused (SLVERR). Reads wait while a write is accepted.
module macah_axi_lite (
    input         aclk,
    input         aresetn,
    input  [31:0] s_axi_awaddr,
    input         s_axi_awvalid,
    output        s_axi_awready,
    input  [31:0] s_axi_wdata,
    input  [3:0]  s_axi_wstrb,
    input         s_axi_wvalid,
    output        s_axi_wready,
    output [1:0]  s_axi_bresp,
    output        s_axi_bvalid,
    input         s_axi_bready,
    input  [31:0] s_axi_araddr,
    input         s_axi_arvalid,
    output        s_axi_arready,
    output [31:0] s_axi_rdata,
    output [1:0]  s_axi_rresp,
    output        s_axi_rvalid,
    input         s_axi_rready,
    // to the kernel
    output        rst,
    output        start,
    input         done,
    output        ctl_write,
    output [31:0] ctl_address,
    output [31:0] ctl_wdata,
    input  [31:0] ctl_rdata,
    input         fail,
    input  [31:0] fail_index,
    input         stalled
);
    localparam [7:0] CONTROL = 8'd255;

    reg        bvalid;
    reg        refused;
    reg        rvalid;
    reg [31:0] rdata;

    // A write is taken when both its halves are there and no response is waiting.
    wire write = s_axi_awvalid && s_axi_wvalid && !bvalid;
    wire read = s_axi_arvalid && !rvalid && !write;
    wire whole = s_axi_wstrb == 4'hf;
    wire command = write && whole && s_axi_awaddr[31:24] == CONTROL && s_axi_awaddr[23:2] == 22'd0;
    wire [31:0] address = write ? s_axi_awaddr : s_axi_araddr;
    wire [31:0] status = s_axi_araddr[2] ? fail_index : {29'd0, fail, stalled, done};

    assign s_axi_awready = write;
    assign s_axi_wready = write;
    assign s_axi_bvalid = bvalid;
    assign s_axi_bresp = refused ? 2'b10 : 2'b00;
    assign s_axi_arready = read;
    assign s_axi_rvalid = rvalid;
    assign s_axi_rdata = rdata;
    assign s_axi_rresp = 2'b00;

    assign rst = !aresetn || (command && s_axi_wdata[1]);
    assign start = command && s_axi_wdata[0];
    assign ctl_write = write && whole && s_axi_awaddr[31:24] != CONTROL;
    assign ctl_address = {address[31:24], 2'b00, address[23:2]};
    assign ctl_wdata = s_axi_wdata;

    // The two low bits of a byte address are 0 for whole words.
    // verilator lint_off UNUSED
    wire [1:0] unused = address[1:0];
    // verilator lint_on UNUSED

    always @(posedge aclk)
        if (!aresetn) begin
            bvalid <= 1'b0;
            refused <= 1'b0;
            rvalid <= 1'b0;
            rdata <= 32'd0;
        end else begin
            if (write) begin
                bvalid <= 1'b1;
                refused <= !whole;
            end else if (s_axi_bready)
                bvalid <= 1'b0;
            if (read) begin
                rvalid <= 1'b1;
                rdata <= s_axi_araddr[31:24] == CONTROL ? status : ctl_rdata;
            end else if (s_axi_rready)
                rvalid <= 1'b0;
        end
endmodule
