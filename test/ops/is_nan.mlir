// graph.is_nan.
// RUN: graphc-op-test %s

// case: values
// in: 5xf32=[0 -0 inf -inf nan]
// out: 5xbool=[0 0 0 0 1]
func.func @main(%x: tensor<5xf32> {graph.name = "x"}) -> (tensor<5xi1> {graph.name = "r0"}) {
  %0 = graph.is_nan %x : (tensor<5xf32>) -> tensor<5xi1>
  return %0 : tensor<5xi1>
}

// -----
// case: f16
// in: 5xf16=[0 -0 inf -inf nan]
// out: 5xbool=[0 0 0 0 1]
func.func @main(%x: tensor<5xf16> {graph.name = "x"}) -> (tensor<5xi1> {graph.name = "r0"}) {
  %0 = graph.is_nan %x : (tensor<5xf16>) -> tensor<5xi1>
  return %0 : tensor<5xi1>
}
