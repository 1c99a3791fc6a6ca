// graph.constant, a literal.
// RUN: graphc-op-test %s

// case: values
// out: 2x2xf32=[[1 2][3 4.5]]
func.func @main() -> (tensor<2x2xf32> {graph.name = "r0"}) {
  %0 = graph.constant dense<[[1.0, 2.0], [3.0, 4.5]]> : tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// -----
// case: splat
// out: 2xi64=[7 7]
func.func @main() -> (tensor<2xi64> {graph.name = "r0"}) {
  %0 = graph.constant dense<7> : tensor<2xi64>
  return %0 : tensor<2xi64>
}

// -----
// case: bools
// out: 2xbool=[1 0]
func.func @main() -> (tensor<2xi1> {graph.name = "r0"}) {
  %0 = graph.constant dense<[true, false]> : tensor<2xi1>
  return %0 : tensor<2xi1>
}
