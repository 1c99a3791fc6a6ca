// graph.select: condition ? a : b.
// RUN: graphc-op-test %s

// case: broadcasts all three
// in: 2x1xbool=[[1][0]]
// in: 3xf32=[2 -0.5 4]
// in: f32=9
// out: 2x3xf32=[[2 -0.5 4][9 9 9]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x1xi1> {graph.name = "x"}, %y: tensor<3xf32> {graph.name = "y"}, %z: tensor<f32> {graph.name = "z"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.select %x, %y, %z : (tensor<2x1xi1>, tensor<3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: i64
// in: 2xbool=[1 0]
// in: 2xi64=[1 2]
// in: 2xi64=[3 4]
// out: 2xi64=[1 4]
func.func @main(%x: tensor<2xi1> {graph.name = "x"}, %y: tensor<2xi64> {graph.name = "y"}, %z: tensor<2xi64> {graph.name = "z"}) -> (tensor<2xi64> {graph.name = "r0"}) {
  %0 = graph.select %x, %y, %z : (tensor<2xi1>, tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// -----
// case: a NaN not chosen does not leak
// in: 2xbool=[1 0]
// in: 2xf32=[1 nan]
// in: 2xf32=[nan 2]
// out: 2xf32=[1 2]
func.func @main(%x: tensor<2xi1> {graph.name = "x"}, %y: tensor<2xf32> {graph.name = "y"}, %z: tensor<2xf32> {graph.name = "z"}) -> (tensor<2xf32> {graph.name = "r0"}) {
  %0 = graph.select %x, %y, %z : (tensor<2xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----
// case: u8, scalar condition
// in: bool=1
// in: 2xu8=[1 2]
// in: 2xu8=[3 4]
// out: 2xu8=[1 2]
func.func @main(%x: tensor<i1> {graph.name = "x"}, %y: tensor<2xui8> {graph.name = "y"}, %z: tensor<2xui8> {graph.name = "z"}) -> (tensor<2xui8> {graph.name = "r0"}) {
  %0 = graph.select %x, %y, %z : (tensor<i1>, tensor<2xui8>, tensor<2xui8>) -> tensor<2xui8>
  return %0 : tensor<2xui8>
}

// -----
// case: does not look at the other arm's NaN
// in: 2xbool=[1 0]
// in: f32=1
// in: f32=nan
// out: 2xf32=[1 nan]
func.func @main(%x: tensor<2xi1> {graph.name = "x"}, %y: tensor<f32> {graph.name = "y"}, %z: tensor<f32> {graph.name = "z"}) -> (tensor<2xf32> {graph.name = "r0"}) {
  %0 = graph.select %x, %y, %z : (tensor<2xi1>, tensor<f32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
