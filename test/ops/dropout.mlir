// graph.dropout.
// RUN: graphc-op-test %s

// case: drops where the uniform number is below p, scales the rest
// in: 3x5xf32=[[-0.484375 0.09375 0.671875 -0.265625 0.3125][-0.625 -0.046875 0.53125 -0.40625 0.171875][0.75 -0.1875 0.390625 -0.546875 0.03125]]
// in: i64=7
// in: i64=3
// out: 3x5xf32=[[0.0 0.0 0.0 0.0 0.0][-1.04166663 -0.078125 0.885416627 0.0 0.0][1.25 -0.3125 0.651041627 -0.911458313 0.0]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<3x5xf32> {graph.name = "x"}, %y: tensor<i64> {graph.name = "y"}, %z: tensor<i64> {graph.name = "z"}) -> (tensor<3x5xf32> {graph.name = "r0"}) {
  %0 = graph.dropout %x, %y, %z {p = 0.4 : f64} : (tensor<3x5xf32>, tensor<i64>, tensor<i64>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// -----
// case: p = 0 keeps everything
// in: 3x5xf32=[[-0.484375 0.09375 0.671875 -0.265625 0.3125][-0.625 -0.046875 0.53125 -0.40625 0.171875][0.75 -0.1875 0.390625 -0.546875 0.03125]]
// in: i64=7
// in: i64=3
// out: 3x5xf32=[[-0.484375 0.09375 0.671875 -0.265625 0.3125][-0.625 -0.046875 0.53125 -0.40625 0.171875][0.75 -0.1875 0.390625 -0.546875 0.03125]]
func.func @main(%x: tensor<3x5xf32> {graph.name = "x"}, %y: tensor<i64> {graph.name = "y"}, %z: tensor<i64> {graph.name = "z"}) -> (tensor<3x5xf32> {graph.name = "r0"}) {
  %0 = graph.dropout %x, %y, %z {p = 0.0 : f64} : (tensor<3x5xf32>, tensor<i64>, tensor<i64>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// -----
// case: p = 1 drops everything
// in: 3x5xf32=[[-0.484375 0.09375 0.671875 -0.265625 0.3125][-0.625 -0.046875 0.53125 -0.40625 0.171875][0.75 -0.1875 0.390625 -0.546875 0.03125]]
// in: i64=7
// in: i64=3
// out: 3x5xf32=[[0.0 0.0 0.0 0.0 0.0][0.0 0.0 0.0 0.0 0.0][0.0 0.0 0.0 0.0 0.0]]
func.func @main(%x: tensor<3x5xf32> {graph.name = "x"}, %y: tensor<i64> {graph.name = "y"}, %z: tensor<i64> {graph.name = "z"}) -> (tensor<3x5xf32> {graph.name = "r0"}) {
  %0 = graph.dropout %x, %y, %z {p = 1.0 : f64} : (tensor<3x5xf32>, tensor<i64>, tensor<i64>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
