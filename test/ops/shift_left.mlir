// graph.shift_left.
// RUN: graphc-op-test %s

// case: u8
// in: 3xu8=[1 255 16]
// in: 3xu8=[3 1 4]
// out: 3xu8=[8 254 0]
func.func @main(%x: tensor<3xui8> {graph.name = "x"}, %y: tensor<3xui8> {graph.name = "y"}) -> (tensor<3xui8> {graph.name = "r0"}) {
  %0 = graph.shift_left %x, %y : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xui8>
  return %0 : tensor<3xui8>
}

// -----
// case: u64
// in: 3xu64=[1 255 16]
// in: 3xu64=[3 1 4]
// out: 3xu64=[8 510 256]
func.func @main(%x: tensor<3xui64> {graph.name = "x"}, %y: tensor<3xui64> {graph.name = "y"}) -> (tensor<3xui64> {graph.name = "r0"}) {
  %0 = graph.shift_left %x, %y : (tensor<3xui64>, tensor<3xui64>) -> tensor<3xui64>
  return %0 : tensor<3xui64>
}
