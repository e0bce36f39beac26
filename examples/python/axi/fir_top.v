// A design of anyone's with an emitted kernel in it: samples arrive unsigned, with their middle at 128.
module fir_top (
    input         aclk,
    input         aresetn,
    input  [7:0]  s_axis_tdata,
    input         s_axis_tvalid,
    output        s_axis_tready,
    output [15:0] m_axis_tdata,
    output        m_axis_tvalid,
    input         m_axis_tready,
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
    input         s_axi_rready
);
    wire [15:0] sample = {s_axis_tdata - 8'd128, 8'd0};

    fir_kernel_axis fir (
        .aclk(aclk), .aresetn(aresetn),
        .s_axis_in_tdata(sample), .s_axis_in_tvalid(s_axis_tvalid), .s_axis_in_tready(s_axis_tready),
        .m_axis_out_tdata(m_axis_tdata), .m_axis_out_tvalid(m_axis_tvalid), .m_axis_out_tready(m_axis_tready),
        .s_axi_awaddr(s_axi_awaddr), .s_axi_awvalid(s_axi_awvalid), .s_axi_awready(s_axi_awready),
        .s_axi_wdata(s_axi_wdata), .s_axi_wstrb(s_axi_wstrb), .s_axi_wvalid(s_axi_wvalid),
        .s_axi_wready(s_axi_wready), .s_axi_bresp(s_axi_bresp), .s_axi_bvalid(s_axi_bvalid),
        .s_axi_bready(s_axi_bready), .s_axi_araddr(s_axi_araddr), .s_axi_arvalid(s_axi_arvalid),
        .s_axi_arready(s_axi_arready), .s_axi_rdata(s_axi_rdata), .s_axi_rresp(s_axi_rresp),
        .s_axi_rvalid(s_axi_rvalid), .s_axi_rready(s_axi_rready)
    );
endmodule
