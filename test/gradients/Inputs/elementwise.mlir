// Elementwise ops. Ranges keep away from kinks, where differences mean nothing (test/gradients/points.mlir has those).

func.func @neg(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %0 = graph.neg %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @abs(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %0 = graph.abs %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @exp(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %0 = graph.exp %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @expm1(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %0 = graph.expm1 %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @sin(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %0 = graph.sin %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @cos(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %0 = graph.cos %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @tan(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %0 = graph.tan %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @atan(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %0 = graph.atan %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @sinh(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %0 = graph.sinh %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @cosh(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %0 = graph.cosh %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @asinh(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %0 = graph.asinh %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @erf(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %0 = graph.erf %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @tanh(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %0 = graph.tanh %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @relu(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %0 = graph.relu %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @sigmoid(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %0 = graph.sigmoid %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @silu(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %0 = graph.silu %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @softplus(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %0 = graph.softplus %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @softsign(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %0 = graph.softsign %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @mish(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %0 = graph.mish %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @leaky_relu(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %0 = graph.leaky_relu %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @elu(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %0 = graph.elu %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @celu(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %0 = graph.celu %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @swish(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %0 = graph.swish %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @selu(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %0 = graph.selu %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @sign(%x: tensor<3x5xf64> {test.range = array<f64: -3.2, 3.3>}) -> tensor<3x5xf64> {
  %0 = graph.sign %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @ceil(%x: tensor<3x5xf64> {test.range = array<f64: -3.2, 3.3>}) -> tensor<3x5xf64> {
  %0 = graph.ceil %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @floor(%x: tensor<3x5xf64> {test.range = array<f64: -3.2, 3.3>}) -> tensor<3x5xf64> {
  %0 = graph.floor %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @round(%x: tensor<3x5xf64> {test.range = array<f64: -3.2, 3.3>}) -> tensor<3x5xf64> {
  %0 = graph.round %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @log(%x: tensor<3x5xf64> {test.range = array<f64: 0.3, 2.0>}) -> tensor<3x5xf64> {
  %0 = graph.log %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @sqrt(%x: tensor<3x5xf64> {test.range = array<f64: 0.3, 2.0>}) -> tensor<3x5xf64> {
  %0 = graph.sqrt %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @rsqrt(%x: tensor<3x5xf64> {test.range = array<f64: 0.3, 2.0>}) -> tensor<3x5xf64> {
  %0 = graph.rsqrt %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @reciprocal(%x: tensor<3x5xf64> {test.range = array<f64: 0.3, 2.0>}) -> tensor<3x5xf64> {
  %0 = graph.reciprocal %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @log1p(%x: tensor<3x5xf64> {test.range = array<f64: -0.8, 0.8>}) -> tensor<3x5xf64> {
  %0 = graph.log1p %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @asin(%x: tensor<3x5xf64> {test.range = array<f64: -0.8, 0.8>}) -> tensor<3x5xf64> {
  %0 = graph.asin %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @acos(%x: tensor<3x5xf64> {test.range = array<f64: -0.8, 0.8>}) -> tensor<3x5xf64> {
  %0 = graph.acos %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @atanh(%x: tensor<3x5xf64> {test.range = array<f64: -0.8, 0.8>}) -> tensor<3x5xf64> {
  %0 = graph.atanh %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @acosh(%x: tensor<3x5xf64> {test.range = array<f64: 1.2, 3.0>}) -> tensor<3x5xf64> {
  %0 = graph.acosh %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @hard_swish(%x: tensor<3x5xf64> {test.range = array<f64: -5.0, 5.0>}) -> tensor<3x5xf64> {
  %0 = graph.hard_swish %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @hard_sigmoid(%x: tensor<3x5xf64> {test.range = array<f64: -4.0, 4.0>}) -> tensor<3x5xf64> {
  %0 = graph.hard_sigmoid %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @thresholded_relu(%x: tensor<3x5xf64> {test.range = array<f64: -3.0, 3.0>}) -> tensor<3x5xf64> {
  %0 = graph.thresholded_relu %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @shrink(%x: tensor<3x5xf64> {test.range = array<f64: -2.0, 2.0>}) -> tensor<3x5xf64> {
  %0 = graph.shrink %x {alpha = 0.25 : f64, beta = 0.5 : f64} : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @clamp(%x: tensor<3x5xf64> {test.range = array<f64: -2.0, 2.0>}) -> tensor<3x5xf64> {
  %0 = graph.clamp %x {alpha = -0.7 : f64, beta = 0.9 : f64} : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @clamp_above(%x: tensor<3x5xf64> {test.range = array<f64: -2.0, 2.0>}) -> tensor<3x5xf64> {
  %0 = graph.clamp %x {beta = 0.9 : f64} : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @gelu(%x: tensor<3x5xf64> {test.range = array<f64: -3.0, 3.0>}) -> tensor<3x5xf64> {
  %0 = graph.gelu %x : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @gelu_tanh(%x: tensor<3x5xf64> {test.range = array<f64: -3.0, 3.0>}) -> tensor<3x5xf64> {
  %0 = graph.gelu %x {tanh} : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @swish_alpha(%x: tensor<3x5xf64> {test.range = array<f64: -3.0, 3.0>}) -> tensor<3x5xf64> {
  %0 = graph.swish %x {alpha = 1.7 : f64} : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @elu_alpha(%x: tensor<3x5xf64> {test.range = array<f64: -3.0, 3.0>}) -> tensor<3x5xf64> {
  %0 = graph.elu %x {alpha = 1.5 : f64} : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @celu_alpha(%x: tensor<3x5xf64> {test.range = array<f64: -3.0, 3.0>}) -> tensor<3x5xf64> {
  %0 = graph.celu %x {alpha = 0.5 : f64} : (tensor<3x5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @add(%x: tensor<3x1x4xf64> {test.range = array<f64: -1.0, 1.0>}, %y: tensor<5x1xf64> {test.range = array<f64: -1.0, 1.0>}) -> tensor<3x5x4xf64> {
  %0 = graph.add %x, %y : (tensor<3x1x4xf64>, tensor<5x1xf64>) -> tensor<3x5x4xf64>
  return %0 : tensor<3x5x4xf64>
}
func.func @sub(%x: tensor<3x1x4xf64> {test.range = array<f64: -1.0, 1.0>}, %y: tensor<5x1xf64> {test.range = array<f64: -1.0, 1.0>}) -> tensor<3x5x4xf64> {
  %0 = graph.sub %x, %y : (tensor<3x1x4xf64>, tensor<5x1xf64>) -> tensor<3x5x4xf64>
  return %0 : tensor<3x5x4xf64>
}
func.func @mul(%x: tensor<3x1x4xf64> {test.range = array<f64: -1.0, 1.0>}, %y: tensor<5x1xf64> {test.range = array<f64: -1.0, 1.0>}) -> tensor<3x5x4xf64> {
  %0 = graph.mul %x, %y : (tensor<3x1x4xf64>, tensor<5x1xf64>) -> tensor<3x5x4xf64>
  return %0 : tensor<3x5x4xf64>
}
func.func @max(%x: tensor<3x1x4xf64> {test.range = array<f64: -1.0, 1.0>}, %y: tensor<5x1xf64> {test.range = array<f64: -1.0, 1.0>}) -> tensor<3x5x4xf64> {
  %0 = graph.max %x, %y : (tensor<3x1x4xf64>, tensor<5x1xf64>) -> tensor<3x5x4xf64>
  return %0 : tensor<3x5x4xf64>
}
func.func @min(%x: tensor<3x1x4xf64> {test.range = array<f64: -1.0, 1.0>}, %y: tensor<5x1xf64> {test.range = array<f64: -1.0, 1.0>}) -> tensor<3x5x4xf64> {
  %0 = graph.min %x, %y : (tensor<3x1x4xf64>, tensor<5x1xf64>) -> tensor<3x5x4xf64>
  return %0 : tensor<3x5x4xf64>
}
func.func @prelu(%x: tensor<3x1x4xf64> {test.range = array<f64: -1.0, 1.0>}, %y: tensor<5x1xf64> {test.range = array<f64: -1.0, 1.0>}) -> tensor<3x5x4xf64> {
  %0 = graph.prelu %x, %y : (tensor<3x1x4xf64>, tensor<5x1xf64>) -> tensor<3x5x4xf64>
  return %0 : tensor<3x5x4xf64>
}
func.func @div(%x: tensor<3x1x4xf64> {test.range = array<f64: -1.0, 1.0>}, %y: tensor<5x1xf64> {test.range = array<f64: 0.5, 2.0>}) -> tensor<3x5x4xf64> {
  %0 = graph.div %x, %y : (tensor<3x1x4xf64>, tensor<5x1xf64>) -> tensor<3x5x4xf64>
  return %0 : tensor<3x5x4xf64>
}
func.func @pow(%x: tensor<3x1x4xf64> {test.range = array<f64: 0.2, 2.0>}, %y: tensor<5x1xf64> {test.range = array<f64: -2.0, 2.0>}) -> tensor<3x5x4xf64> {
  %0 = graph.pow %x, %y : (tensor<3x1x4xf64>, tensor<5x1xf64>) -> tensor<3x5x4xf64>
  return %0 : tensor<3x5x4xf64>
}
func.func @mod(%x: tensor<3x1x4xf64> {test.range = array<f64: -5.0, 5.0>}, %y: tensor<5x1xf64> {test.range = array<f64: 1.1, 2.0>}) -> tensor<3x5x4xf64> {
  %0 = graph.mod %x, %y : (tensor<3x1x4xf64>, tensor<5x1xf64>) -> tensor<3x5x4xf64>
  return %0 : tensor<3x5x4xf64>
}
func.func @rem(%x: tensor<3x1x4xf64> {test.range = array<f64: -5.0, 5.0>}, %y: tensor<5x1xf64> {test.range = array<f64: 1.1, 2.0>}) -> tensor<3x5x4xf64> {
  %0 = graph.rem %x, %y : (tensor<3x1x4xf64>, tensor<5x1xf64>) -> tensor<3x5x4xf64>
  return %0 : tensor<3x5x4xf64>
}
// The same value twice.
func.func @square(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = graph.mul %x, %x : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}
func.func @select(%c: tensor<3x1xi1> {test.value = dense<[[true], [false], [true]]> : tensor<3x1xi1>}, %x: tensor<4xf64>, %y: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %0 = graph.select %c, %x, %y : (tensor<3x1xi1>, tensor<4xf64>, tensor<3x4xf64>) -> tensor<3x4xf64>
  return %0 : tensor<3x4xf64>
}
func.func @cast(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = graph.cast %x : (tensor<3xf64>) -> tensor<3xf64>
  %1 = graph.mul %0, %x : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %1 : tensor<3xf64>
}
func.func @symbolic(%x: tensor<?x4xf64, #graph.dims<[n, 4]>> {test.shape = array<i64: 3, 4>}, %y: tensor<?x1xf64, #graph.dims<[n, 1]>> {test.shape = array<i64: 3, 1>}) -> tensor<?x4xf64, #graph.dims<[n, 4]>> {
  %0 = graph.mul %x, %y : (tensor<?x4xf64, #graph.dims<[n, 4]>>, tensor<?x1xf64, #graph.dims<[n, 1]>>) -> tensor<?x4xf64, #graph.dims<[n, 4]>>
  %1 = graph.tanh %0 : (tensor<?x4xf64, #graph.dims<[n, 4]>>) -> tensor<?x4xf64, #graph.dims<[n, 4]>>
  return %1 : tensor<?x4xf64, #graph.dims<[n, 4]>>
}
