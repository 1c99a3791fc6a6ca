// graph.arg_reduce: index of the extreme.
// RUN: graphc-op-test %s

// case: max, first of equals
// in: 2x3xf32=[[1 3 3][2 2 0]]
// out: 2xi64=[1 0]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<2xi64> {graph.name = "r0"}) {
  %0 = graph.arg_reduce "max" %x axis 1 : (tensor<2x3xf32>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// -----
// case: max, last of equals
// in: 2x3xf32=[[1 3 3][2 2 0]]
// out: 2xi64=[2 1]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<2xi64> {graph.name = "r0"}) {
  %0 = graph.arg_reduce "max" %x axis 1 last : (tensor<2x3xf32>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// -----
// case: min, kept
// in: 2x2xf32=[[1 3][-1 5]]
// out: 1x2xi64=[[1 0]]
func.func @main(%x: tensor<2x2xf32> {graph.name = "x"}) -> (tensor<1x2xi64> {graph.name = "r0"}) {
  %0 = graph.arg_reduce "min" %x axis 0 keep : (tensor<2x2xf32>) -> tensor<1x2xi64>
  return %0 : tensor<1x2xi64>
}

// -----
// case: NaN counts as the extreme
// in: 3xf32=[1 nan 3]
// out: i64=1
func.func @main(%x: tensor<3xf32> {graph.name = "x"}) -> (tensor<i64> {graph.name = "r0"}) {
  %0 = graph.arg_reduce "max" %x axis 0 : (tensor<3xf32>) -> tensor<i64>
  return %0 : tensor<i64>
}

// -----
// case: i64
// in: 3xi64=[4 9 2]
// out: i64=2
func.func @main(%x: tensor<3xi64> {graph.name = "x"}) -> (tensor<i64> {graph.name = "r0"}) {
  %0 = graph.arg_reduce "min" %x axis 0 : (tensor<3xi64>) -> tensor<i64>
  return %0 : tensor<i64>
}
