// graph.cross_entropy.
// RUN: graphc-op-test %s

// case: mean
// in: 4x5xf32=[[-1.9375 0.375 2.6875 -1.0625 1.25][-2.5 -0.1875 2.125 -1.625 0.6875][3.0 -0.75 1.5625 -2.1875 0.125][2.4375 -1.3125 1.0 -2.75 -0.4375]]
// in: 4xi64=[0 2 -100 4]
// out: f32=2.80311465
// tol: 1e-5 1e-6
func.func @main(%x: tensor<4x5xf32> {graph.name = "x"}, %y: tensor<4xi64> {graph.name = "y"}) -> (tensor<f32> {graph.name = "r0"}) {
  %0 = graph.cross_entropy %x, %y {reduction = "mean"} : (tensor<4x5xf32>, tensor<4xi64>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: mean: weights, smoothing, further dims
// in: 2x4x3xf32=[[[-1.9375 0.625 -2.875][-0.3125 2.25 -1.25][1.3125 -2.1875 0.375][2.9375 -0.5625 2.0]][[-1.5 1.0625 -2.4375][0.125 2.6875 -0.8125][1.75 -1.75 0.8125][-2.6875 -0.125 2.4375]]]
// in: 2x3xi64=[[0 2 1][-100 3 3]]
// in: 4xf32=[1.0 0.5 2.0 1.25]
// out: f32=3.30051351
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x4x3xf32> {graph.name = "x"}, %y: tensor<2x3xi64> {graph.name = "y"}, %z: tensor<4xf32> {graph.name = "z"}) -> (tensor<f32> {graph.name = "r0"}) {
  %0 = graph.cross_entropy %x, %y, %z {reduction = "mean", smoothing = 0.1 : f64} : (tensor<2x4x3xf32>, tensor<2x3xi64>, tensor<4xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: sum
// in: 4x5xf32=[[-1.9375 0.375 2.6875 -1.0625 1.25][-2.5 -0.1875 2.125 -1.625 0.6875][3.0 -0.75 1.5625 -2.1875 0.125][2.4375 -1.3125 1.0 -2.75 -0.4375]]
// in: 4xi64=[0 2 -100 4]
// out: f32=8.40934372
// tol: 1e-5 1e-6
func.func @main(%x: tensor<4x5xf32> {graph.name = "x"}, %y: tensor<4xi64> {graph.name = "y"}) -> (tensor<f32> {graph.name = "r0"}) {
  %0 = graph.cross_entropy %x, %y {reduction = "sum"} : (tensor<4x5xf32>, tensor<4xi64>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: sum: weights, smoothing, further dims
// in: 2x4x3xf32=[[[-1.9375 0.625 -2.875][-0.3125 2.25 -1.25][1.3125 -2.1875 0.375][2.9375 -0.5625 2.0]][[-1.5 1.0625 -2.4375][0.125 2.6875 -0.8125][1.75 -1.75 0.8125][-2.6875 -0.125 2.4375]]]
// in: 2x3xi64=[[0 2 1][-100 3 3]]
// in: 4xf32=[1.0 0.5 2.0 1.25]
// out: f32=19.8030815
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x4x3xf32> {graph.name = "x"}, %y: tensor<2x3xi64> {graph.name = "y"}, %z: tensor<4xf32> {graph.name = "z"}) -> (tensor<f32> {graph.name = "r0"}) {
  %0 = graph.cross_entropy %x, %y, %z {reduction = "sum", smoothing = 0.1 : f64} : (tensor<2x4x3xf32>, tensor<2x3xi64>, tensor<4xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: none
// in: 4x5xf32=[[-1.9375 0.375 2.6875 -1.0625 1.25][-2.5 -0.1875 2.125 -1.625 0.6875][3.0 -0.75 1.5625 -2.1875 0.125][2.4375 -1.3125 1.0 -2.75 -0.4375]]
// in: 4xi64=[0 2 -100 4]
// out: 4xf32=[4.93970537 0.314705372 0.0 3.1549325]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<4x5xf32> {graph.name = "x"}, %y: tensor<4xi64> {graph.name = "y"}) -> (tensor<4xf32> {graph.name = "r0"}) {
  %0 = graph.cross_entropy %x, %y {reduction = "none"} : (tensor<4x5xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----
// case: none: weights, smoothing, further dims
// in: 2x4x3xf32=[[[-1.9375 0.625 -2.875][-0.3125 2.25 -1.25][1.3125 -2.1875 0.375][2.9375 -0.5625 2.0]][[-1.5 1.0625 -2.4375][0.125 2.6875 -0.8125][1.75 -1.75 0.8125][-2.6875 -0.125 2.4375]]]
// in: 2x3xi64=[[0 2 1][-100 3 3]]
// in: 4xf32=[1.0 0.5 2.0 1.25]
// out: 2x3xf32=[[4.8531189 8.79467869 1.8301158][0.0 3.8105464 0.514621258]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x4x3xf32> {graph.name = "x"}, %y: tensor<2x3xi64> {graph.name = "y"}, %z: tensor<4xf32> {graph.name = "z"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.cross_entropy %x, %y, %z {reduction = "none", smoothing = 0.1 : f64} : (tensor<2x4x3xf32>, tensor<2x3xi64>, tensor<4xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: smoothing alone
// in: 4x5xf32=[[-1.9375 0.375 2.6875 -1.0625 1.25][-2.5 -0.1875 2.125 -1.625 0.6875][3.0 -0.75 1.5625 -2.1875 0.125][2.4375 -1.3125 1.0 -2.75 -0.4375]]
// in: 4xi64=[0 2 -100 4]
// out: f32=2.80311441
// tol: 1e-5 1e-6
func.func @main(%x: tensor<4x5xf32> {graph.name = "x"}, %y: tensor<4xi64> {graph.name = "y"}) -> (tensor<f32> {graph.name = "r0"}) {
  %0 = graph.cross_entropy %x, %y {smoothing = 0.25 : f64} : (tensor<4x5xf32>, tensor<4xi64>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: another label is ignored
// in: 4x5xf32=[[-1.9375 0.375 2.6875 -1.0625 1.25][-2.5 -0.1875 2.125 -1.625 0.6875][3.0 -0.75 1.5625 -2.1875 0.125][2.4375 -1.3125 1.0 -2.75 -0.4375]]
// in: 4xi64=[0 2 3 4]
// out: f32=2.80311465
// tol: 1e-5 1e-6
func.func @main(%x: tensor<4x5xf32> {graph.name = "x"}, %y: tensor<4xi64> {graph.name = "y"}) -> (tensor<f32> {graph.name = "r0"}) {
  %0 = graph.cross_entropy %x, %y {ignore = 3 : i64} : (tensor<4x5xf32>, tensor<4xi64>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: every label ignored: the mean is NaN
// in: 4x5xf32=[[-1.9375 0.375 2.6875 -1.0625 1.25][-2.5 -0.1875 2.125 -1.625 0.6875][3.0 -0.75 1.5625 -2.1875 0.125][2.4375 -1.3125 1.0 -2.75 -0.4375]]
// in: 4xi64=[-100 -100 -100 -100]
// out: f32=nan
func.func @main(%x: tensor<4x5xf32> {graph.name = "x"}, %y: tensor<4xi64> {graph.name = "y"}) -> (tensor<f32> {graph.name = "r0"}) {
  %0 = graph.cross_entropy %x, %y : (tensor<4x5xf32>, tensor<4xi64>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: every label ignored: the sum is 0
// in: 4x5xf32=[[-1.9375 0.375 2.6875 -1.0625 1.25][-2.5 -0.1875 2.125 -1.625 0.6875][3.0 -0.75 1.5625 -2.1875 0.125][2.4375 -1.3125 1.0 -2.75 -0.4375]]
// in: 4xi64=[-100 -100 -100 -100]
// out: f32=0.0
func.func @main(%x: tensor<4x5xf32> {graph.name = "x"}, %y: tensor<4xi64> {graph.name = "y"}) -> (tensor<f32> {graph.name = "r0"}) {
  %0 = graph.cross_entropy %x, %y {reduction = "sum"} : (tensor<4x5xf32>, tensor<4xi64>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: large logits lose nothing
// in: 1x3xf32=[[10000.5 10000.0 9990.0]]
// in: 1xi64=[1]
// out: f32=0.974094152
// tol: 1e-5 0
func.func @main(%x: tensor<1x3xf32> {graph.name = "x"}, %y: tensor<1xi64> {graph.name = "y"}) -> (tensor<f32> {graph.name = "r0"}) {
  %0 = graph.cross_entropy %x, %y : (tensor<1x3xf32>, tensor<1xi64>) -> tensor<f32>
  return %0 : tensor<f32>
}
