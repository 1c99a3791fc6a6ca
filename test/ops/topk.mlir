// graph.topk.
// RUN: graphc-op-test %s

// case: largest
// in: 2x4xf32=[[3 1 4 1][5 9 2 6]]
// out: 2x2xf32=[[4 3][9 6]]
// out: 2x2xi64=[[2 0][1 3]]
func.func @main(%x: tensor<2x4xf32> {graph.name = "x"}) -> (tensor<2x2xf32> {graph.name = "r0"}, tensor<2x2xi64> {graph.name = "r1"}) {
  %0:2 = graph.topk %x {axis = 1 : i64, largest = true, sorted = true} : (tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xi64>)
  return %0#0, %0#1 : tensor<2x2xf32>, tensor<2x2xi64>
}

// -----
// case: smallest, first of equals
// in: 2x4xf32=[[3 1 4 1][5 9 2 6]]
// out: 2x2xf32=[[1 1][2 5]]
// out: 2x2xi64=[[1 3][2 0]]
func.func @main(%x: tensor<2x4xf32> {graph.name = "x"}) -> (tensor<2x2xf32> {graph.name = "r0"}, tensor<2x2xi64> {graph.name = "r1"}) {
  %0:2 = graph.topk %x {axis = 1 : i64, largest = false, sorted = true} : (tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xi64>)
  return %0#0, %0#1 : tensor<2x2xf32>, tensor<2x2xi64>
}

// -----
// case: axis 0, i64
// in: 2x2xi64=[[1 8][7 2]]
// out: 1x2xi64=[[7 8]]
// out: 1x2xi64=[[1 0]]
func.func @main(%x: tensor<2x2xi64> {graph.name = "x"}) -> (tensor<1x2xi64> {graph.name = "r0"}, tensor<1x2xi64> {graph.name = "r1"}) {
  %0:2 = graph.topk %x {axis = 0 : i64, largest = true, sorted = true} : (tensor<2x2xi64>) -> (tensor<1x2xi64>, tensor<1x2xi64>)
  return %0#0, %0#1 : tensor<1x2xi64>, tensor<1x2xi64>
}

// -----
// case: NaN-free ties keep their order, smallest
// in: 1x4xf32=[[2 1 1 2]]
// out: 1x3xf32=[[1 1 2]]
// out: 1x3xi64=[[1 2 0]]
func.func @main(%x: tensor<1x4xf32> {graph.name = "x"}) -> (tensor<1x3xf32> {graph.name = "r0"}, tensor<1x3xi64> {graph.name = "r1"}) {
  %0:2 = graph.topk %x {axis = 1 : i64, largest = false, sorted = true} : (tensor<1x4xf32>) -> (tensor<1x3xf32>, tensor<1x3xi64>)
  return %0#0, %0#1 : tensor<1x3xf32>, tensor<1x3xi64>
}

// -----
// case: u8
// in: 3xu8=[3 250 7]
// out: 2xu8=[250 7]
// out: 2xi64=[1 2]
func.func @main(%x: tensor<3xui8> {graph.name = "x"}) -> (tensor<2xui8> {graph.name = "r0"}, tensor<2xi64> {graph.name = "r1"}) {
  %0:2 = graph.topk %x {axis = 0 : i64, largest = true, sorted = true} : (tensor<3xui8>) -> (tensor<2xui8>, tensor<2xi64>)
  return %0#0, %0#1 : tensor<2xui8>, tensor<2xi64>
}
