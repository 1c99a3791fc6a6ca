// graph.stop_gradient.
// RUN: graphc-op-test %s

// case: values pass
// in: 4xf32=[1.5 -0.0 inf nan]
// out: 4xf32=[1.5 -0.0 inf nan]
func.func @main(%x: tensor<4xf32> {graph.name = "x"}) -> (tensor<4xf32> {graph.name = "r0"}) {
  %0 = graph.stop_gradient %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----
// case: integers, rank 0
// in: i64=7
// out: i64=7
func.func @main(%x: tensor<i64> {graph.name = "x"}) -> (tensor<i64> {graph.name = "r0"}) {
  %0 = graph.stop_gradient %x : (tensor<i64>) -> tensor<i64>
  return %0 : tensor<i64>
}
