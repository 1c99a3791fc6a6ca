// graph.is_inf.
// RUN: graphc-op-test %s

// case: both signs
// in: 5xf32=[0 -0 inf -inf nan]
// out: 5xbool=[0 0 1 1 0]
func.func @main(%x: tensor<5xf32> {graph.name = "x"}) -> (tensor<5xi1> {graph.name = "r0"}) {
  %0 = graph.is_inf %x : (tensor<5xf32>) -> tensor<5xi1>
  return %0 : tensor<5xi1>
}

// -----
// case: positive only
// in: 5xf32=[0 -0 inf -inf nan]
// out: 5xbool=[0 0 1 0 0]
func.func @main(%x: tensor<5xf32> {graph.name = "x"}) -> (tensor<5xi1> {graph.name = "r0"}) {
  %0 = graph.is_inf %x {detect_negative = false} : (tensor<5xf32>) -> tensor<5xi1>
  return %0 : tensor<5xi1>
}

// -----
// case: negative only
// in: 5xf32=[0 -0 inf -inf nan]
// out: 5xbool=[0 0 0 1 0]
func.func @main(%x: tensor<5xf32> {graph.name = "x"}) -> (tensor<5xi1> {graph.name = "r0"}) {
  %0 = graph.is_inf %x {detect_positive = false} : (tensor<5xf32>) -> tensor<5xi1>
  return %0 : tensor<5xi1>
}
