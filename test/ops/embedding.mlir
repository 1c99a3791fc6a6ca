// graph.embedding.
// RUN: graphc-op-test %s

// case: rows
// in: 4x3xf32=[[-0.484375 0.09375 0.671875][-0.265625 0.3125 -0.625][-0.046875 0.53125 -0.40625][0.171875 0.75 -0.1875]]
// in: 2x2xi64=[[0 3][2 2]]
// out: 2x2x3xf32=[[[-0.484375 0.09375 0.671875][0.171875 0.75 -0.1875]][[-0.046875 0.53125 -0.40625][-0.046875 0.53125 -0.40625]]]
func.func @main(%x: tensor<4x3xf32> {graph.name = "x"}, %y: tensor<2x2xi64> {graph.name = "y"}) -> (tensor<2x2x3xf32> {graph.name = "r0"}) {
  %0 = graph.embedding %x, %y {padding = 2 : i64} : (tensor<4x3xf32>, tensor<2x2xi64>) -> tensor<2x2x3xf32>
  return %0 : tensor<2x2x3xf32>
}

// -----
// case: empty
// in: 4x3xf32=[[-0.484375 0.09375 0.671875][-0.265625 0.3125 -0.625][-0.046875 0.53125 -0.40625][0.171875 0.75 -0.1875]]
// in: 0xi64=[]
// out: 0x3xf32=[]
func.func @main(%x: tensor<4x3xf32> {graph.name = "x"}, %y: tensor<0xi64> {graph.name = "y"}) -> (tensor<0x3xf32> {graph.name = "r0"}) {
  %0 = graph.embedding %x, %y : (tensor<4x3xf32>, tensor<0xi64>) -> tensor<0x3xf32>
  return %0 : tensor<0x3xf32>
}
