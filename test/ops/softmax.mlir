// graph.softmax.
// RUN: graphc-op-test %s

// case: last axis
// in: 2x3xf32=[[-2.5 -1 -0.5][0.25 1 3]]
// out: 2x3xf32=[[0.07769558 0.3482074 0.574097][0.05330595 0.1128487 0.8338454]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.softmax %x {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: first axis
// in: 2x3xf32=[[-2.5 -1 -0.5][0.25 1 3]]
// out: 2x3xf32=[[0.06008665 0.11920292 0.02931223][0.93991333 0.8807971 0.97068775]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.softmax %x {axis = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: large values
// in: 1x3xf32=[[1000 1001 -1000]]
// out: 1x3xf32=[[0.26894143 0.7310586 0]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x3xf32> {graph.name = "x"}) -> (tensor<1x3xf32> {graph.name = "r0"}) {
  %0 = graph.softmax %x {axis = 1 : i64} : (tensor<1x3xf32>) -> tensor<1x3xf32>
  return %0 : tensor<1x3xf32>
}

// -----
// case: all -inf is NaN
// in: 1x2xf32=[[-inf -inf]]
// out: 1x2xf32=[[nan nan]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x2xf32> {graph.name = "x"}) -> (tensor<1x2xf32> {graph.name = "r0"}) {
  %0 = graph.softmax %x {axis = 1 : i64} : (tensor<1x2xf32>) -> tensor<1x2xf32>
  return %0 : tensor<1x2xf32>
}

// -----
// case: masked
// in: 1x3xf32=[[1 -inf 2]]
// out: 1x3xf32=[[0.26894143 0 0.7310586]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<1x3xf32> {graph.name = "x"}) -> (tensor<1x3xf32> {graph.name = "r0"}) {
  %0 = graph.softmax %x {axis = 1 : i64} : (tensor<1x3xf32>) -> tensor<1x3xf32>
  return %0 : tensor<1x3xf32>
}

// -----
// case: f16
// in: 2x3xf16=[[-2.5 -1 -0.5][0.25 1 3]]
// out: 2x3xf16=[[0.0777 0.3481 0.574][0.0533 0.11285 0.834]]
// tol: 1e-3 1e-3
func.func @main(%x: tensor<2x3xf16> {graph.name = "x"}) -> (tensor<2x3xf16> {graph.name = "r0"}) {
  %0 = graph.softmax %x {axis = 1 : i64} : (tensor<2x3xf16>) -> tensor<2x3xf16>
  return %0 : tensor<2x3xf16>
}
