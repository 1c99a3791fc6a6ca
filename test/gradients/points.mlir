// Gradients at kinks, ties, zeros and infinities: exact values, on every device.
// RUN: graphc-op-test %s

// case: relu at 0 and -0
// in: 4xf32=[0.0 -0.0 1.0 -1.0]
// out: f32=1.0
// out: 4xf32=[0.0 0.0 1.0 0.0]
func.func @main(%x: tensor<4xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: abs at 0
// in: 3xf32=[0.0 -0.0 -2.0]
// out: f32=2.0
// out: 3xf32=[0.0 0.0 -1.0]
func.func @main(%x: tensor<3xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.abs %x : (tensor<3xf32>) -> tensor<3xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<3xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: clamp at its bounds
// in: 4xf32=[-1.0 1.0 0.0 3.0]
// out: f32=1.0
// out: 4xf32=[0.0 0.0 1.0 0.0]
func.func @main(%x: tensor<4xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.clamp %x {alpha = -1.0 : f64, beta = 1.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: clamp below alone
// in: 4xf32=[0.0 1.0 -1.0 inf]
// out: f32=inf
// out: 4xf32=[0.0 1.0 0.0 1.0]
func.func @main(%x: tensor<4xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.clamp %x {alpha = 0.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: hard_sigmoid at its edges
// in: 3xf32=[-3.0 3.0 9.0]
// out: f32=2.0
// out: 3xf32=[0.0 0.0 0.0]
func.func @main(%x: tensor<3xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.hard_sigmoid %x {alpha = 0.16666666666666666 : f64, beta = 0.5 : f64} : (tensor<3xf32>) -> tensor<3xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<3xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: hard_swish at -3 and 3
// in: 4xf32=[-3.0 3.0 0.0 4.0]
// out: f32=7.0
// out: 4xf32=[0.0 1.0 0.5 1.0]
func.func @main(%x: tensor<4xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.hard_swish %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: elu at 0
// in: 2xf32=[0.0 1.0]
// out: f32=1.0
// out: 2xf32=[1.0 1.0]
func.func @main(%x: tensor<2xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.elu %x {alpha = 1.0 : f64} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<2xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: celu at 0
// in: 2xf32=[0.0 1.0]
// out: f32=1.0
// out: 2xf32=[1.0 1.0]
func.func @main(%x: tensor<2xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.celu %x {alpha = 0.5 : f64} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<2xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: selu at 0
// in: 1xf32=[0.0]
// out: f32=0.0
// out: 1xf32=[1.75809932]
// tol: 1e-6 0
func.func @main(%x: tensor<1xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.selu %x : (tensor<1xf32>) -> tensor<1xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<1xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: leaky_relu at 0
// in: 2xf32=[0.0 1.0]
// out: f32=1.0
// out: 2xf32=[0.25 1.0]
func.func @main(%x: tensor<2xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.leaky_relu %x {alpha = 0.25 : f64} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<2xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: thresholded_relu at its threshold
// in: 2xf32=[1.0 2.0]
// out: f32=2.0
// out: 2xf32=[0.0 1.0]
func.func @main(%x: tensor<2xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.thresholded_relu %x {alpha = 1.0 : f64} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<2xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: shrink at its edges
// in: 3xf32=[-0.5 0.5 2.0]
// out: f32=1.5
// out: 3xf32=[0.0 0.0 1.0]
func.func @main(%x: tensor<3xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.shrink %x {alpha = 0.5 : f64, beta = 0.5 : f64} : (tensor<3xf32>) -> tensor<3xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<3xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: softplus at 0 and far out
// in: 3xf32=[0.0 100.0 -800.0]
// out: f32=100.693146
// out: 3xf32=[0.5 1.0 0.0]
// tol: 1e-6 0
func.func @main(%x: tensor<3xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.softplus %x : (tensor<3xf32>) -> tensor<3xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<3xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: softsign at 0
// in: 1xf32=[0.0]
// out: f32=0.0
// out: 1xf32=[1.0]
func.func @main(%x: tensor<1xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.softsign %x : (tensor<1xf32>) -> tensor<1xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<1xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: sign, round, floor have derivative 0: sign
// in: 3xf32=[0.0 2.0 -3.0]
// out: f32=0.0
// out: 3xf32=[0.0 0.0 0.0]
func.func @main(%x: tensor<3xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.sign %x : (tensor<3xf32>) -> tensor<3xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<3xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: round
// in: 2xf32=[0.5 1.20000005]
// out: f32=1.0
// out: 2xf32=[0.0 0.0]
func.func @main(%x: tensor<2xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.round %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<2xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: sqrt at 0
// in: 2xf32=[0.0 4.0]
// out: f32=2.0
// out: 2xf32=[inf 0.25]
func.func @main(%x: tensor<2xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.sqrt %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<2xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: rsqrt at 0
// in: 2xf32=[0.0 4.0]
// out: f32=inf
// out: 2xf32=[-inf -0.0625]
// tol: 1e-6 0
func.func @main(%x: tensor<2xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.rsqrt %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<2xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: log at 0
// in: 2xf32=[0.0 1.0]
// out: f32=-inf
// out: 2xf32=[inf 1.0]
func.func @main(%x: tensor<2xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.log %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<2xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: gelu, silu, mish far out: gelu
// in: 3xf32=[0.0 50.0 -50.0]
// out: f32=50.0
// out: 3xf32=[0.5 1.0 0.0]
// tol: 1e-6 1e-7
func.func @main(%x: tensor<3xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.gelu %x : (tensor<3xf32>) -> tensor<3xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<3xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: silu
// in: 3xf32=[0.0 800.0 -800.0]
// out: f32=800.0
// out: 3xf32=[0.5 1.0 -0.0]
// tol: 1e-6 0
func.func @main(%x: tensor<3xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.silu %x : (tensor<3xf32>) -> tensor<3xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<3xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: mish
// in: 3xf32=[0.0 50.0 -50.0]
// out: f32=50.0
// out: 3xf32=[0.600000024 1.0 -9.45087454e-21]
// tol: 1e-5 1e-19
func.func @main(%x: tensor<3xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.mish %x : (tensor<3xf32>) -> tensor<3xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<3xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: tanh and sigmoid saturate: tanh
// in: 2xf32=[100.0 -100.0]
// out: f32=0.0
// out: 2xf32=[0.0 0.0]
func.func @main(%x: tensor<2xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.tanh %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<2xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: sigmoid
// in: 2xf32=[800.0 -800.0]
// out: f32=1.0
// out: 2xf32=[0.0 0.0]
func.func @main(%x: tensor<2xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.sigmoid %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<2xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: 2-norm of 0
// in: 2xf32=[0.0 0.0]
// out: f32=0.0
// out: 2xf32=[0.0 0.0]
func.func @main(%x: tensor<2xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.norm %x {axes = array<i64: 0>, p = 2.0 : f64} : (tensor<2xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: 1-norm at 0
// in: 3xf32=[0.0 1.0 -2.0]
// out: f32=3.0
// out: 3xf32=[0.0 1.0 -1.0]
func.func @main(%x: tensor<3xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.norm %x {axes = array<i64: 0>, p = 1.0 : f64} : (tensor<3xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: 3-norm of 0
// in: 2xf32=[0.0 0.0]
// out: f32=0.0
// out: 2xf32=[0.0 0.0]
func.func @main(%x: tensor<2xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.norm %x {axes = array<i64: 0>, p = 3.0 : f64} : (tensor<2xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: 1.5-norm beside 0
// in: 2xf32=[0.0 1.0]
// out: f32=1.0
// out: 2xf32=[0.0 1.0]
// tol: 1e-6 0
func.func @main(%x: tensor<2xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.norm %x {axes = array<i64: 0>, p = 1.5 : f64} : (tensor<2xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: infinity norm: ties share
// in: 3xf32=[2.0 -2.0 1.0]
// out: f32=2.0
// out: 3xf32=[0.5 -0.5 0.0]
func.func @main(%x: tensor<3xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.norm %x {axes = array<i64: 0>, p = 0x7FF0000000000000 : f64} : (tensor<3xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: deviation of equal values
// in: 3xf32=[2.0 2.0 2.0]
// out: f32=0.0
// out: 3xf32=[0.0 0.0 0.0]
func.func @main(%x: tensor<3xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.std %x {axes = array<i64: 0>, correction = 1.0 : f64} : (tensor<3xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: max: ties share
// in: 3xf32=[2.0 2.0 1.0]
// out: f32=2.0
// out: 3xf32=[0.5 0.5 0.0]
func.func @main(%x: tensor<3xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.reduce "max" %x axes [0] : (tensor<3xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: min: ties share
// in: 5xf32=[2.0 1.0 1.0 1.0 1.0]
// out: f32=1.0
// out: 5xf32=[0.0 0.25 0.25 0.25 0.25]
func.func @main(%x: tensor<5xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.reduce "min" %x axes [0] : (tensor<5xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: product through one zero
// in: 3xf32=[0.0 2.0 3.0]
// out: f32=0.0
// out: 3xf32=[6.0 0.0 0.0]
func.func @main(%x: tensor<3xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.reduce "prod" %x axes [0] : (tensor<3xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: product through two zeros
// in: 3xf32=[0.0 0.0 3.0]
// out: f32=0.0
// out: 3xf32=[0.0 0.0 0.0]
func.func @main(%x: tensor<3xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.reduce "prod" %x axes [0] : (tensor<3xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: logsumexp over nothing but -inf
// in: 2xf32=[-inf -inf]
// out: f32=-inf
// out: 2xf32=[nan nan]
func.func @main(%x: tensor<2xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.logsumexp %x {axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: softmax over nothing but -inf
// in: 2xf32=[-inf -inf]
// out: f32=nan
// out: 2xf32=[nan nan]
func.func @main(%x: tensor<2xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.softmax %x {axis = 0 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<2xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: maximum: a tie is halved
// in: 3xf32=[1.0 2.0 0.0]
// in: 3xf32=[1.0 1.0 3.0]
// out: f32=6.0
// out: 3xf32=[0.5 1.0 0.0]
// out: 3xf32=[0.5 0.0 1.0]
// tol: 1e-6 0
func.func @main(%x: tensor<3xf32> {graph.name = "x", graph.differentiate}, %y: tensor<3xf32> {graph.name = "y", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.max %x, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<3xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: minimum: a tie is halved
// in: 3xf32=[1.0 2.0 0.0]
// in: 3xf32=[1.0 1.0 3.0]
// out: f32=2.0
// out: 3xf32=[0.5 0.0 1.0]
// out: 3xf32=[0.5 1.0 0.0]
// tol: 1e-6 0
func.func @main(%x: tensor<3xf32> {graph.name = "x", graph.differentiate}, %y: tensor<3xf32> {graph.name = "y", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.min %x, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<3xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: powers of 0: x^0, x^.5, x^1, x^2, x^3 at 2
// in: 5xf32=[0.0 0.0 0.0 0.0 2.0]
// in: 5xf32=[0.0 0.5 1.0 2.0 3.0]
// out: f32=9.0
// out: 5xf32=[0.0 inf 1.0 0.0 12.0]
// out: 5xf32=[0.0 0.0 0.0 0.0 5.54517746]
// tol: 1e-6 0
func.func @main(%x: tensor<5xf32> {graph.name = "x", graph.differentiate}, %y: tensor<5xf32> {graph.name = "y", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.pow %x, %y : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<5xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: prelu at 0
// in: 3xf32=[0.0 1.0 -2.0]
// in: 3xf32=[0.25 0.25 0.25]
// out: f32=0.5
// out: 3xf32=[0.25 1.0 0.25]
// out: 3xf32=[0.0 0.0 -2.0]
// tol: 1e-6 0
func.func @main(%x: tensor<3xf32> {graph.name = "x", graph.differentiate}, %y: tensor<3xf32> {graph.name = "y", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.prelu %x, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<3xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: max_pool: the first of equals takes all
// in: 1x1x4xf32=[[[2 2 1 1]]]
// out: f32=3
// out: 1x1x4xf32=[[[1 0 1 0]]]
func.func @main(%x: tensor<1x1x4xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.max_pool %x {window = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>} : (tensor<1x1x4xf32>) -> tensor<1x1x2xf32>
  %1 = graph.reduce "sum" %0 axes [0, 1, 2] : (tensor<1x1x2xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: max along a dim, through its index: the first
// in: 3xf32=[1 2 2]
// out: f32=2
// out: 3xf32=[0 1 0]
func.func @main(%x: tensor<3xf32> {graph.name = "x", graph.differentiate}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %i = graph.arg_reduce "max" %x axis 0 keep : (tensor<3xf32>) -> tensor<1xi64>
  %0 = graph.gather_elements %x, %i : (tensor<3xf32>, tensor<1xi64>) -> tensor<1xf32>
  %1 = graph.reshape %0 : (tensor<1xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: an embedding's padding row gets nothing, repeated rows add up
// in: 4x2xf32=[[1 2][3 4][5 6][7 8]]
// in: 5xi64=[1 2 1 2 0]
// out: f32=39
// out: 4x2xf32=[[1 1][2 2][0 0][0 0]]
func.func @main(%x: tensor<4x2xf32> {graph.name = "x", graph.differentiate}, %i: tensor<5xi64> {graph.name = "i"}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.embedding %x, %i {padding = 2 : i64} : (tensor<4x2xf32>, tensor<5xi64>) -> tensor<5x2xf32>
  %1 = graph.reduce "sum" %0 axes [0, 1] : (tensor<5x2xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----
// case: every label ignored: the mean is NaN, the gradient 0
// in: 1x2xf32=[[1 2]]
// in: 1xi64=[-100]
// out: f32=nan
// out: 1x2xf32=[[0 0]]
func.func @main(%x: tensor<1x2xf32> {graph.name = "x", graph.differentiate}, %l: tensor<1xi64> {graph.name = "l"}) -> (tensor<f32> {graph.name = "loss"}) attributes {graph.gradient_of = 0 : i64} {
  %0 = graph.cross_entropy %x, %l : (tensor<1x2xf32>, tensor<1xi64>) -> tensor<f32>
  return %0 : tensor<f32>
}
