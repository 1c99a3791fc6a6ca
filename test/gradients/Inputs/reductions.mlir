// Reductions, scans and pools.

func.func @sum(%x: tensor<2x3x4xf64>) -> tensor<3xf64> {
  %0 = graph.reduce "sum" %x axes [0, 2] : (tensor<2x3x4xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}
func.func @sum_keep(%x: tensor<2x3x4xf64>) -> tensor<2x1x4xf64> {
  %0 = graph.reduce "sum" %x axes [1] keep : (tensor<2x3x4xf64>) -> tensor<2x1x4xf64>
  return %0 : tensor<2x1x4xf64>
}
func.func @prod(%x: tensor<2x3x4xf64>) -> tensor<3xf64> {
  %0 = graph.reduce "prod" %x axes [0, 2] : (tensor<2x3x4xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}
func.func @prod_all(%x: tensor<2x3xf64>) -> tensor<1x1xf64> {
  %0 = graph.reduce "prod" %x axes [0, 1] keep : (tensor<2x3xf64>) -> tensor<1x1xf64>
  return %0 : tensor<1x1xf64>
}
// Exact through zeros: one zero, two zeros.
func.func @prod_zeros(%x: tensor<3x4xf64> {test.value = dense<[[1.5, 0.0, 2.0, -1.0], [0.0, 3.0, 0.0, 1.0], [0.5, 2.0, -1.0, 3.0]]> : tensor<3x4xf64>}) -> tensor<3xf64> {
  %0 = graph.reduce "prod" %x axes [1] : (tensor<3x4xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}
func.func @max(%x: tensor<2x3x4xf64>) -> tensor<2x4xf64> {
  %0 = graph.reduce "max" %x axes [1] : (tensor<2x3x4xf64>) -> tensor<2x4xf64>
  return %0 : tensor<2x4xf64>
}
func.func @min(%x: tensor<2x3x4xf64>) -> tensor<1x1x4xf64> {
  %0 = graph.reduce "min" %x axes [0, 1] keep : (tensor<2x3x4xf64>) -> tensor<1x1x4xf64>
  return %0 : tensor<1x1x4xf64>
}
func.func @cumsum(%x: tensor<2x5x2xf64>) -> tensor<2x5x2xf64> {
  %0 = graph.cumulative %x {kind = "sum", axis = 1 : i64} : (tensor<2x5x2xf64>) -> tensor<2x5x2xf64>
  return %0 : tensor<2x5x2xf64>
}
func.func @cumsum_exclusive(%x: tensor<2x5x2xf64>) -> tensor<2x5x2xf64> {
  %0 = graph.cumulative %x {kind = "sum", axis = 1 : i64, exclusive} : (tensor<2x5x2xf64>) -> tensor<2x5x2xf64>
  return %0 : tensor<2x5x2xf64>
}
func.func @cumsum_reverse(%x: tensor<2x5x2xf64>) -> tensor<2x5x2xf64> {
  %0 = graph.cumulative %x {kind = "sum", axis = 1 : i64, reverse} : (tensor<2x5x2xf64>) -> tensor<2x5x2xf64>
  return %0 : tensor<2x5x2xf64>
}
func.func @cumsum_both(%x: tensor<2x5x2xf64>) -> tensor<2x5x2xf64> {
  %0 = graph.cumulative %x {kind = "sum", axis = 1 : i64, exclusive, reverse} : (tensor<2x5x2xf64>) -> tensor<2x5x2xf64>
  return %0 : tensor<2x5x2xf64>
}
func.func @cumprod(%x: tensor<2x5x2xf64>) -> tensor<2x5x2xf64> {
  %0 = graph.cumulative %x {kind = "prod", axis = 1 : i64} : (tensor<2x5x2xf64>) -> tensor<2x5x2xf64>
  return %0 : tensor<2x5x2xf64>
}
func.func @cumprod_exclusive(%x: tensor<2x5x2xf64>) -> tensor<2x5x2xf64> {
  %0 = graph.cumulative %x {kind = "prod", axis = 1 : i64, exclusive} : (tensor<2x5x2xf64>) -> tensor<2x5x2xf64>
  return %0 : tensor<2x5x2xf64>
}
func.func @cumprod_reverse(%x: tensor<2x5x2xf64>) -> tensor<2x5x2xf64> {
  %0 = graph.cumulative %x {kind = "prod", axis = 1 : i64, reverse} : (tensor<2x5x2xf64>) -> tensor<2x5x2xf64>
  return %0 : tensor<2x5x2xf64>
}
func.func @cumprod_both(%x: tensor<2x5x2xf64>) -> tensor<2x5x2xf64> {
  %0 = graph.cumulative %x {kind = "prod", axis = 1 : i64, exclusive, reverse} : (tensor<2x5x2xf64>) -> tensor<2x5x2xf64>
  return %0 : tensor<2x5x2xf64>
}
func.func @cumprod_zeros(%x: tensor<2x4xf64> {test.value = dense<[[1.5, 0.0, 2.0, -1.0], [0.0, 3.0, 0.0, 1.0]]> : tensor<2x4xf64>}) -> tensor<2x4xf64> {
  %0 = graph.cumulative %x {kind = "prod", axis = 1 : i64} : (tensor<2x4xf64>) -> tensor<2x4xf64>
  return %0 : tensor<2x4xf64>
}
func.func @logsumexp(%x: tensor<3x5xf64>) -> tensor<3xf64> {
  %0 = graph.logsumexp %x {axes = array<i64: 1>} : (tensor<3x5xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}
func.func @norm_0_0(%x: tensor<2x3x4xf64>) -> tensor<1x3x1xf64> {
  %0 = graph.norm %x {axes = array<i64: 0, 2>, p = 0.0 : f64, keep} : (tensor<2x3x4xf64>) -> tensor<1x3x1xf64>
  return %0 : tensor<1x3x1xf64>
}
func.func @norm_1_0(%x: tensor<2x3x4xf64>) -> tensor<1x3x1xf64> {
  %0 = graph.norm %x {axes = array<i64: 0, 2>, p = 1.0 : f64, keep} : (tensor<2x3x4xf64>) -> tensor<1x3x1xf64>
  return %0 : tensor<1x3x1xf64>
}
func.func @norm_2_0(%x: tensor<2x3x4xf64>) -> tensor<1x3x1xf64> {
  %0 = graph.norm %x {axes = array<i64: 0, 2>, p = 2.0 : f64, keep} : (tensor<2x3x4xf64>) -> tensor<1x3x1xf64>
  return %0 : tensor<1x3x1xf64>
}
func.func @norm_3_5(%x: tensor<2x3x4xf64>) -> tensor<1x3x1xf64> {
  %0 = graph.norm %x {axes = array<i64: 0, 2>, p = 3.5 : f64, keep} : (tensor<2x3x4xf64>) -> tensor<1x3x1xf64>
  return %0 : tensor<1x3x1xf64>
}
func.func @norm_1_5(%x: tensor<2x3x4xf64>) -> tensor<1x3x1xf64> {
  %0 = graph.norm %x {axes = array<i64: 0, 2>, p = 1.5 : f64, keep} : (tensor<2x3x4xf64>) -> tensor<1x3x1xf64>
  return %0 : tensor<1x3x1xf64>
}
func.func @norm_0x7FF0000000000000(%x: tensor<2x3x4xf64>) -> tensor<1x3x1xf64> {
  %0 = graph.norm %x {axes = array<i64: 0, 2>, p = 0x7FF0000000000000 : f64, keep} : (tensor<2x3x4xf64>) -> tensor<1x3x1xf64>
  return %0 : tensor<1x3x1xf64>
}
func.func @norm_0xFFF0000000000000(%x: tensor<2x3x4xf64>) -> tensor<1x3x1xf64> {
  %0 = graph.norm %x {axes = array<i64: 0, 2>, p = 0xFFF0000000000000 : f64, keep} : (tensor<2x3x4xf64>) -> tensor<1x3x1xf64>
  return %0 : tensor<1x3x1xf64>
}
func.func @std(%x: tensor<3x5xf64>) -> tensor<3xf64> {
  %0 = graph.std %x {axes = array<i64: 1>, correction = 1.0 : f64} : (tensor<3x5xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}
func.func @std_biased(%x: tensor<2x3x4xf64>) -> tensor<1x3x1xf64> {
  %0 = graph.std %x {axes = array<i64: 0, 2>, correction = 0.0 : f64, keep} : (tensor<2x3x4xf64>) -> tensor<1x3x1xf64>
  return %0 : tensor<1x3x1xf64>
}
func.func @max_pool(%x: tensor<2x3x6x5xf64>) -> tensor<2x3x3x5xf64> {
  %0 = graph.max_pool %x {window = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 1, 1>} : (tensor<2x3x6x5xf64>) -> tensor<2x3x3x5xf64>
  return %0 : tensor<2x3x3x5xf64>
}
func.func @max_pool_dilated(%x: tensor<2x3x6x5xf64>) -> tensor<2x3x3x3xf64> {
  %0 = graph.max_pool %x {window = array<i64: 2, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 2, 3>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 0>} : (tensor<2x3x6x5xf64>) -> tensor<2x3x3x3xf64>
  return %0 : tensor<2x3x3x3xf64>
}
func.func @max_pool_last(%x: tensor<2x6x5x3xf64>) -> tensor<2x3x5x3xf64> {
  %0 = graph.max_pool %x {window = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 1, 1>, channels_last} : (tensor<2x6x5x3xf64>) -> tensor<2x3x5x3xf64>
  return %0 : tensor<2x3x5x3xf64>
}
func.func @avg_pool(%x: tensor<2x3x6x5xf64>) -> tensor<2x3x3x5xf64> {
  %0 = graph.avg_pool %x {window = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 1, 1>} : (tensor<2x3x6x5xf64>) -> tensor<2x3x3x5xf64>
  return %0 : tensor<2x3x3x5xf64>
}
func.func @avg_pool_dilated(%x: tensor<2x3x6x5xf64>) -> tensor<2x3x3x3xf64> {
  %0 = graph.avg_pool %x {window = array<i64: 2, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 2, 3>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 0>} : (tensor<2x3x6x5xf64>) -> tensor<2x3x3x3xf64>
  return %0 : tensor<2x3x3x3xf64>
}
func.func @avg_pool_last(%x: tensor<2x6x5x3xf64>) -> tensor<2x3x5x3xf64> {
  %0 = graph.avg_pool %x {window = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 1, 1>, channels_last} : (tensor<2x6x5x3xf64>) -> tensor<2x3x5x3xf64>
  return %0 : tensor<2x3x5x3xf64>
}
func.func @lp_pool(%x: tensor<2x3x6x5xf64>) -> tensor<2x3x3x5xf64> {
  %0 = graph.lp_pool %x {window = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 1, 1>} : (tensor<2x3x6x5xf64>) -> tensor<2x3x3x5xf64>
  return %0 : tensor<2x3x3x5xf64>
}
func.func @lp_pool_dilated(%x: tensor<2x3x6x5xf64>) -> tensor<2x3x3x3xf64> {
  %0 = graph.lp_pool %x {window = array<i64: 2, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 2, 3>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 0>} : (tensor<2x3x6x5xf64>) -> tensor<2x3x3x3xf64>
  return %0 : tensor<2x3x3x3xf64>
}
func.func @lp_pool_last(%x: tensor<2x6x5x3xf64>) -> tensor<2x3x5x3xf64> {
  %0 = graph.lp_pool %x {window = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 1, 1>, channels_last} : (tensor<2x6x5x3xf64>) -> tensor<2x3x5x3xf64>
  return %0 : tensor<2x3x5x3xf64>
}
func.func @avg_pool_padded(%x: tensor<2x3x6x5xf64>) -> tensor<2x3x3x5xf64> {
  %0 = graph.avg_pool %x {window = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 1, 1>, count_pad} : (tensor<2x3x6x5xf64>) -> tensor<2x3x3x5xf64>
  return %0 : tensor<2x3x3x5xf64>
}
func.func @avg_pool_sum(%x: tensor<2x3x6x5xf64>) -> tensor<2x3x3x5xf64> {
  %0 = graph.avg_pool %x {window = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 1, 1>, sum} : (tensor<2x3x6x5xf64>) -> tensor<2x3x3x5xf64>
  return %0 : tensor<2x3x3x5xf64>
}
func.func @lp_pool_3(%x: tensor<2x3x6x5xf64>) -> tensor<2x3x3x5xf64> {
  %0 = graph.lp_pool %x {window = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 1, 1>, p = 3 : i64} : (tensor<2x3x6x5xf64>) -> tensor<2x3x3x5xf64>
  return %0 : tensor<2x3x3x5xf64>
}
func.func @lp_pool_1(%x: tensor<2x3x6x5xf64>) -> tensor<2x3x3x5xf64> {
  %0 = graph.lp_pool %x {window = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 1, 1>, p = 1 : i64} : (tensor<2x3x6x5xf64>) -> tensor<2x3x3x5xf64>
  return %0 : tensor<2x3x3x5xf64>
}
func.func @avg_unpool(%x: tensor<2x3x3x5xf64>) -> tensor<2x3x6x5xf64> {
  %0 = graph.avg_unpool %x {window = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 1, 1>} : (tensor<2x3x3x5xf64>) -> tensor<2x3x6x5xf64>
  return %0 : tensor<2x3x6x5xf64>
}
func.func @avg_unpool_dilated(%x: tensor<2x3x3x3xf64>) -> tensor<2x3x6x5xf64> {
  %0 = graph.avg_unpool %x {window = array<i64: 2, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 2, 3>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 0>, count_pad} : (tensor<2x3x3x3xf64>) -> tensor<2x3x6x5xf64>
  return %0 : tensor<2x3x6x5xf64>
}
func.func @avg_unpool_sum(%x: tensor<2x3x3x5xf64>) -> tensor<2x3x6x5xf64> {
  %0 = graph.avg_unpool %x {window = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 1, 1>, sum} : (tensor<2x3x3x5xf64>) -> tensor<2x3x6x5xf64>
  return %0 : tensor<2x3x6x5xf64>
}
func.func @max_unpool(%x: tensor<2x3x6x5xf64>, %y: tensor<2x3x3x5xf64>) -> tensor<2x3x6x5xf64> {
  %i = graph.max_pool_index %x {window = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 1, 1>} : (tensor<2x3x6x5xf64>) -> tensor<2x3x3x5xi64>
  %0 = graph.max_unpool %y, %i {window = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 1, 1>} : (tensor<2x3x3x5xf64>, tensor<2x3x3x5xi64>) -> tensor<2x3x6x5xf64>
  return %0 : tensor<2x3x6x5xf64>
}
func.func @max_unpool_last(%x: tensor<2x6x5x3xf64>, %y: tensor<2x3x5x3xf64>) -> tensor<2x6x5x3xf64> {
  %i = graph.max_pool_index %x {window = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 1, 1>, channels_last} : (tensor<2x6x5x3xf64>) -> tensor<2x3x5x3xi64>
  %0 = graph.max_unpool %y, %i {window = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 1, 1>, channels_last} : (tensor<2x3x5x3xf64>, tensor<2x3x5x3xi64>) -> tensor<2x6x5x3xf64>
  return %0 : tensor<2x6x5x3xf64>
}
func.func @max_unpool_in_window(%x: tensor<2x3x6x5xf64>, %y: tensor<2x3x3x5xf64>) -> tensor<2x3x6x5xf64> {
  %i = graph.max_pool_index %x {window = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 1, 1>} : (tensor<2x3x6x5xf64>) -> tensor<2x3x3x5xui8>
  %0 = graph.max_unpool %y, %i {window = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 1, 1>} : (tensor<2x3x3x5xf64>, tensor<2x3x3x5xui8>) -> tensor<2x3x6x5xf64>
  return %0 : tensor<2x3x6x5xf64>
}
func.func @max_unpool_in_window_last(%x: tensor<2x6x5x3xf64>, %y: tensor<2x3x5x3xf64>) -> tensor<2x6x5x3xf64> {
  %i = graph.max_pool_index %x {window = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 1, 1>, channels_last} : (tensor<2x6x5x3xf64>) -> tensor<2x3x5x3xui8>
  %0 = graph.max_unpool %y, %i {window = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 1, 1>, channels_last} : (tensor<2x3x5x3xf64>, tensor<2x3x5x3xui8>) -> tensor<2x6x5x3xf64>
  return %0 : tensor<2x6x5x3xf64>
}
