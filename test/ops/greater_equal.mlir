// graph.greater_equal.
// RUN: graphc-op-test %s

// case: floats, NaN and -0
// in: 5xf32=[1 2 nan inf -0]
// in: 5xf32=[1 3 nan inf 0]
// out: 5xbool=[1 0 0 1 1]
func.func @main(%x: tensor<5xf32> {graph.name = "x"}, %y: tensor<5xf32> {graph.name = "y"}) -> (tensor<5xi1> {graph.name = "r0"}) {
  %0 = graph.greater_equal %x, %y : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  return %0 : tensor<5xi1>
}

// -----
// case: i64
// in: 3xi64=[1 -5 3]
// in: 3xi64=[1 2 -4]
// out: 3xbool=[1 0 1]
func.func @main(%x: tensor<3xi64> {graph.name = "x"}, %y: tensor<3xi64> {graph.name = "y"}) -> (tensor<3xi1> {graph.name = "r0"}) {
  %0 = graph.greater_equal %x, %y : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
  return %0 : tensor<3xi1>
}

// -----
// case: u8 is unsigned
// in: 2xu8=[200 5]
// in: 2xu8=[100 5]
// out: 2xbool=[1 1]
func.func @main(%x: tensor<2xui8> {graph.name = "x"}, %y: tensor<2xui8> {graph.name = "y"}) -> (tensor<2xi1> {graph.name = "r0"}) {
  %0 = graph.greater_equal %x, %y : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xi1>
  return %0 : tensor<2xi1>
}

// -----
// case: broadcast
// in: 2x3xf32=[[-2.5 -1 -0.5][0.25 1 3]]
// in: 1xf32=[1]
// out: 2x3xbool=[[0 0 0][0 1 1]]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %y: tensor<1xf32> {graph.name = "y"}) -> (tensor<2x3xi1> {graph.name = "r0"}) {
  %0 = graph.greater_equal %x, %y : (tensor<2x3xf32>, tensor<1xf32>) -> tensor<2x3xi1>
  return %0 : tensor<2x3xi1>
}
