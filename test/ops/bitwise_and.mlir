// graph.bitwise_and.
// RUN: graphc-op-test %s

// case: i8
// in: 3xi8=[12 -1 127]
// in: 3xi8=[10 85 -128]
// out: 3xi8=[8 85 0]
func.func @main(%x: tensor<3xi8> {graph.name = "x"}, %y: tensor<3xi8> {graph.name = "y"}) -> (tensor<3xi8> {graph.name = "r0"}) {
  %0 = graph.bitwise_and %x, %y : (tensor<3xi8>, tensor<3xi8>) -> tensor<3xi8>
  return %0 : tensor<3xi8>
}

// -----
// case: u8
// in: 3xu8=[12 255 127]
// in: 3xu8=[10 85 128]
// out: 3xu8=[8 85 0]
func.func @main(%x: tensor<3xui8> {graph.name = "x"}, %y: tensor<3xui8> {graph.name = "y"}) -> (tensor<3xui8> {graph.name = "r0"}) {
  %0 = graph.bitwise_and %x, %y : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xui8>
  return %0 : tensor<3xui8>
}

// -----
// case: i8 with a scalar
// in: 3xi8=[-1 5 12]
// in: i8=6
// out: 3xi8=[6 4 4]
func.func @main(%x: tensor<3xi8> {graph.name = "x"}, %y: tensor<i8> {graph.name = "y"}) -> (tensor<3xi8> {graph.name = "r0"}) {
  %0 = graph.bitwise_and %x, %y : (tensor<3xi8>, tensor<i8>) -> tensor<3xi8>
  return %0 : tensor<3xi8>
}
