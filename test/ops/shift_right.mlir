// graph.shift_right.
// RUN: graphc-op-test %s

// case: u8
// in: 3xu8=[1 255 16]
// in: 3xu8=[3 1 4]
// out: 3xu8=[0 127 1]
func.func @main(%x: tensor<3xui8> {graph.name = "x"}, %y: tensor<3xui8> {graph.name = "y"}) -> (tensor<3xui8> {graph.name = "r0"}) {
  %0 = graph.shift_right %x, %y : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xui8>
  return %0 : tensor<3xui8>
}

// -----
// case: u64
// in: 3xu64=[1 255 16]
// in: 3xu64=[3 1 4]
// out: 3xu64=[0 127 1]
func.func @main(%x: tensor<3xui64> {graph.name = "x"}, %y: tensor<3xui64> {graph.name = "y"}) -> (tensor<3xui64> {graph.name = "r0"}) {
  %0 = graph.shift_right %x, %y : (tensor<3xui64>, tensor<3xui64>) -> tensor<3xui64>
  return %0 : tensor<3xui64>
}

// -----
// case: signed keeps the sign
// in: 3xi64=[-8 8 -1]
// in: 3xi64=[1 2 70]
// out: 3xi64=[-4 2 -1]
func.func @main(%x: tensor<3xi64> {graph.name = "x"}, %y: tensor<3xi64> {graph.name = "y"}) -> (tensor<3xi64> {graph.name = "r0"}) {
  %0 = graph.shift_right %x, %y : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  return %0 : tensor<3xi64>
}
