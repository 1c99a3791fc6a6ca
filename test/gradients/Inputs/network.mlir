// Loss and gradients of a small network: labels in one row, tanh between two products.
func.func @main(%x: tensor<4x5xf32> {graph.name = "x"}, %w: tensor<6x5xf32> {graph.name = "w", graph.differentiate}, %v: tensor<3x6xf32> {graph.name = "v", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %l = graph.constant dense<[0, 2, 1, 2]> : tensor<4xi64>
  %0 = graph.matmul %x, %w {transpose_rhs} : (tensor<4x5xf32>, tensor<6x5xf32>) -> tensor<4x6xf32>
  %1 = graph.tanh %0 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %2 = graph.matmul %1, %v {transpose_rhs} : (tensor<4x6xf32>, tensor<3x6xf32>) -> tensor<4x3xf32>
  %3 = graph.cross_entropy %2, %l : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<f32>
  return %3 : tensor<f32>
}
