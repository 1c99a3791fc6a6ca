// Products and convolutions.

func.func @matmul(%x: tensor<3x4xf64>, %y: tensor<4x5xf64>) -> tensor<3x5xf64> {
  %0 = graph.matmul %x, %y : (tensor<3x4xf64>, tensor<4x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @matmul_tl(%x: tensor<4x3xf64>, %y: tensor<4x5xf64>) -> tensor<3x5xf64> {
  %0 = graph.matmul %x, %y {transpose_lhs} : (tensor<4x3xf64>, tensor<4x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @matmul_tr(%x: tensor<3x4xf64>, %y: tensor<5x4xf64>) -> tensor<3x5xf64> {
  %0 = graph.matmul %x, %y {transpose_rhs} : (tensor<3x4xf64>, tensor<5x4xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @matmul_tt(%x: tensor<4x3xf64>, %y: tensor<5x4xf64>) -> tensor<3x5xf64> {
  %0 = graph.matmul %x, %y {transpose_lhs, transpose_rhs} : (tensor<4x3xf64>, tensor<5x4xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @matmul_batch(%x: tensor<2x1x3x4xf64>, %y: tensor<5x4x2xf64>) -> tensor<2x5x3x2xf64> {
  %0 = graph.matmul %x, %y : (tensor<2x1x3x4xf64>, tensor<5x4x2xf64>) -> tensor<2x5x3x2xf64>
  return %0 : tensor<2x5x3x2xf64>
}
func.func @matmul_shared(%x: tensor<2x6x3x4xf64>, %y: tensor<4x5xf64>) -> tensor<2x6x3x5xf64> {
  %0 = graph.matmul %x, %y : (tensor<2x6x3x4xf64>, tensor<4x5xf64>) -> tensor<2x6x3x5xf64>
  return %0 : tensor<2x6x3x5xf64>
}
func.func @matmul_shared_t(%x: tensor<2x3x4xf64>, %y: tensor<5x4xf64>) -> tensor<2x3x5xf64> {
  %0 = graph.matmul %x, %y {transpose_rhs} : (tensor<2x3x4xf64>, tensor<5x4xf64>) -> tensor<2x3x5xf64>
  return %0 : tensor<2x3x5xf64>
}
func.func @matmul_left(%x: tensor<3x4xf64>, %y: tensor<2x5x4xf64>) -> tensor<2x3x5xf64> {
  %0 = graph.matmul %x, %y {transpose_rhs} : (tensor<3x4xf64>, tensor<2x5x4xf64>) -> tensor<2x3x5xf64>
  return %0 : tensor<2x3x5xf64>
}
func.func @matmul_shared_tl(%x: tensor<2x4x3xf64>, %y: tensor<4x5xf64>) -> tensor<2x3x5xf64> {
  %0 = graph.matmul %x, %y {transpose_lhs} : (tensor<2x4x3xf64>, tensor<4x5xf64>) -> tensor<2x3x5xf64>
  return %0 : tensor<2x3x5xf64>
}
func.func @conv(%x: tensor<2x3x7x6xf64>, %w: tensor<4x3x3x2xf64>) -> tensor<2x4x4x5xf64> {
  %0 = graph.conv %x, %w {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x3x7x6xf64>, tensor<4x3x3x2xf64>) -> tensor<2x4x4x5xf64>
  return %0 : tensor<2x4x4x5xf64>
}
func.func @conv_dropped_row(%x: tensor<1x2x8x5xf64>, %w: tensor<3x2x3x3xf64>) -> tensor<1x3x3x3xf64> {
  %0 = graph.conv %x, %w {strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x2x8x5xf64>, tensor<3x2x3x3xf64>) -> tensor<1x3x3x3xf64>
  return %0 : tensor<1x3x3x3xf64>
}
func.func @conv_groups(%x: tensor<2x4x5x4xf64>, %w: tensor<6x2x3x2xf64>) -> tensor<2x6x3x4xf64> {
  %0 = graph.conv %x, %w {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x4x5x4xf64>, tensor<6x2x3x2xf64>) -> tensor<2x6x3x4xf64>
  return %0 : tensor<2x6x3x4xf64>
}
func.func @conv_depthwise(%x: tensor<2x3x5x4xf64>, %w: tensor<6x1x3x3xf64>) -> tensor<2x6x5x4xf64> {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, groups = 3 : i64} : (tensor<2x3x5x4xf64>, tensor<6x1x3x3xf64>) -> tensor<2x6x5x4xf64>
  return %0 : tensor<2x6x5x4xf64>
}
func.func @conv_1d(%x: tensor<2x3x9xf64>, %w: tensor<4x3x3xf64>) -> tensor<2x4x5xf64> {
  %0 = graph.conv %x, %w {strides = array<i64: 2>, dilations = array<i64: 1>, pads_low = array<i64: 1>, pads_high = array<i64: 1>, groups = 1 : i64} : (tensor<2x3x9xf64>, tensor<4x3x3xf64>) -> tensor<2x4x5xf64>
  return %0 : tensor<2x4x5xf64>
}
func.func @conv_3d(%x: tensor<1x2x3x4x3xf64>, %w: tensor<3x2x2x2x2xf64>) -> tensor<1x3x4x5x4xf64> {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1, 1>, dilations = array<i64: 1, 1, 1>, pads_low = array<i64: 1, 1, 1>, pads_high = array<i64: 1, 1, 1>, groups = 1 : i64} : (tensor<1x2x3x4x3xf64>, tensor<3x2x2x2x2xf64>) -> tensor<1x3x4x5x4xf64>
  return %0 : tensor<1x3x4x5x4xf64>
}
func.func @conv_last(%x: tensor<2x7x6x3xf64>, %w: tensor<4x3x3x2xf64>) -> tensor<2x4x5x4xf64> {
  %0 = graph.conv %x, %w {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 1, 1>, groups = 1 : i64, channels_last} : (tensor<2x7x6x3xf64>, tensor<4x3x3x2xf64>) -> tensor<2x4x5x4xf64>
  return %0 : tensor<2x4x5x4xf64>
}
func.func @conv_transpose(%x: tensor<2x4x4x3xf64>, %w: tensor<4x3x3x3xf64>) -> tensor<2x3x8x6xf64> {
  %0 = graph.conv_transpose %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x4x4x3xf64>, tensor<4x3x3x3xf64>) -> tensor<2x3x8x6xf64>
  return %0 : tensor<2x3x8x6xf64>
}
func.func @conv_transpose_groups(%x: tensor<2x4x4x3xf64>, %w: tensor<4x3x3x2xf64>) -> tensor<2x6x9x4xf64> {
  %0 = graph.conv_transpose %x, %w {strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, groups = 2 : i64} : (tensor<2x4x4x3xf64>, tensor<4x3x3x2xf64>) -> tensor<2x6x9x4xf64>
  return %0 : tensor<2x6x9x4xf64>
}
func.func @conv_weight_grad(%x: tensor<2x3x7x6xf64>, %w: tensor<2x4x4x5xf64>) -> tensor<4x3x3x2xf64> {
  %0 = graph.conv_weight_grad %x, %w {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x3x7x6xf64>, tensor<2x4x4x5xf64>) -> tensor<4x3x3x2xf64>
  return %0 : tensor<4x3x3x2xf64>
}
func.func @conv_weight_grad_groups(%x: tensor<2x4x5x4xf64>, %w: tensor<2x6x3x4xf64>) -> tensor<6x2x3x2xf64> {
  %0 = graph.conv_weight_grad %x, %w {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x4x5x4xf64>, tensor<2x6x3x4xf64>) -> tensor<6x2x3x2xf64>
  return %0 : tensor<6x2x3x2xf64>
}
