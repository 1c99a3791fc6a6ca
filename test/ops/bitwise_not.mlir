// graph.bitwise_not.
// RUN: graphc-op-test %s

// case: i8
// in: 4xi8=[0 1 -1 127]
// out: 4xi8=[-1 -2 0 -128]
func.func @main(%x: tensor<4xi8> {graph.name = "x"}) -> (tensor<4xi8> {graph.name = "r0"}) {
  %0 = graph.bitwise_not %x : (tensor<4xi8>) -> tensor<4xi8>
  return %0 : tensor<4xi8>
}

// -----
// case: u8
// in: 3xu8=[0 1 255]
// out: 3xu8=[255 254 0]
func.func @main(%x: tensor<3xui8> {graph.name = "x"}) -> (tensor<3xui8> {graph.name = "r0"}) {
  %0 = graph.bitwise_not %x : (tensor<3xui8>) -> tensor<3xui8>
  return %0 : tensor<3xui8>
}

// -----
// case: u16
// in: 3xu16=[0 65535 5]
// out: 3xu16=[65535 0 65530]
func.func @main(%x: tensor<3xui16> {graph.name = "x"}) -> (tensor<3xui16> {graph.name = "r0"}) {
  %0 = graph.bitwise_not %x : (tensor<3xui16>) -> tensor<3xui16>
  return %0 : tensor<3xui16>
}
