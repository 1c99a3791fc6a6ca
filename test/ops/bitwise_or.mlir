// graph.bitwise_or.
// RUN: graphc-op-test %s

// case: i8
// in: 3xi8=[12 -1 127]
// in: 3xi8=[10 85 -128]
// out: 3xi8=[14 -1 -1]
func.func @main(%x: tensor<3xi8> {graph.name = "x"}, %y: tensor<3xi8> {graph.name = "y"}) -> (tensor<3xi8> {graph.name = "r0"}) {
  %0 = graph.bitwise_or %x, %y : (tensor<3xi8>, tensor<3xi8>) -> tensor<3xi8>
  return %0 : tensor<3xi8>
}

// -----
// case: u8
// in: 3xu8=[12 255 127]
// in: 3xu8=[10 85 128]
// out: 3xu8=[14 255 255]
func.func @main(%x: tensor<3xui8> {graph.name = "x"}, %y: tensor<3xui8> {graph.name = "y"}) -> (tensor<3xui8> {graph.name = "r0"}) {
  %0 = graph.bitwise_or %x, %y : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xui8>
  return %0 : tensor<3xui8>
}

// -----
// case: u64
// in: 2xu64=[9223372036854775808 5]
// in: 2xu64=[1 2]
// out: 2xu64=[9223372036854775809 7]
func.func @main(%x: tensor<2xui64> {graph.name = "x"}, %y: tensor<2xui64> {graph.name = "y"}) -> (tensor<2xui64> {graph.name = "r0"}) {
  %0 = graph.bitwise_or %x, %y : (tensor<2xui64>, tensor<2xui64>) -> tensor<2xui64>
  return %0 : tensor<2xui64>
}
