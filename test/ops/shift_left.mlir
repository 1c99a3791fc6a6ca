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

// -----
// case: i32, by the width or more gives 0
// in: 3xi32=[1 -1 3]
// in: 3xi32=[31 32 1]
// out: 3xi32=[-2147483648 0 6]
func.func @main(%x: tensor<3xi32> {graph.name = "x"}, %y: tensor<3xi32> {graph.name = "y"}) -> (tensor<3xi32> {graph.name = "r0"}) {
  %0 = graph.shift_left %x, %y : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  return %0 : tensor<3xi32>
}
