// graph.size: sizes as an i64 vector.
// RUN: graphc-op-test %s

// case: constants
// out: 2xi64=[2 3]
func.func @main() -> (tensor<2xi64> {graph.name = "r0"}) {
  %0 = graph.size <[2, 3]> : tensor<2xi64>
  return %0 : tensor<2xi64>
}
