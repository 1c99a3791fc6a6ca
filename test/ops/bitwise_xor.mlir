// graph.bitwise_xor.
// RUN: graphc-op-test %s

// case: i8
// in: 3xi8=[12 -1 127]
// in: 3xi8=[10 85 -128]
// out: 3xi8=[6 -86 -1]
func.func @main(%x: tensor<3xi8> {graph.name = "x"}, %y: tensor<3xi8> {graph.name = "y"}) -> (tensor<3xi8> {graph.name = "r0"}) {
  %0 = graph.bitwise_xor %x, %y : (tensor<3xi8>, tensor<3xi8>) -> tensor<3xi8>
  return %0 : tensor<3xi8>
}

// -----
// case: u8
// in: 3xu8=[12 255 127]
// in: 3xu8=[10 85 128]
// out: 3xu8=[6 170 255]
func.func @main(%x: tensor<3xui8> {graph.name = "x"}, %y: tensor<3xui8> {graph.name = "y"}) -> (tensor<3xui8> {graph.name = "r0"}) {
  %0 = graph.bitwise_xor %x, %y : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xui8>
  return %0 : tensor<3xui8>
}

// -----
// case: i16
// in: 2xi16=[-1 255]
// in: 2xi16=[1 15]
// out: 2xi16=[-2 240]
func.func @main(%x: tensor<2xi16> {graph.name = "x"}, %y: tensor<2xi16> {graph.name = "y"}) -> (tensor<2xi16> {graph.name = "r0"}) {
  %0 = graph.bitwise_xor %x, %y : (tensor<2xi16>, tensor<2xi16>) -> tensor<2xi16>
  return %0 : tensor<2xi16>
}
