// graph.concat.
// RUN: graphc-op-test %s

// case: axis 1
// in: 2x3xf32=[[0 1 2][3 4 5]]
// in: 2x1xf32=[[0][3]]
// out: 2x4xf32=[[0 1 2 0][3 4 5 3]]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %y: tensor<2x1xf32> {graph.name = "y"}) -> (tensor<2x4xf32> {graph.name = "r0"}) {
  %0 = graph.concat %x, %y axis 1 : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----
// case: three, one empty
// in: 2x3xf32=[[0 1 2][3 4 5]]
// in: 0x3xf32=[]
// in: 2x3xf32=[[0 1 2][3 4 5]]
// out: 4x3xf32=[[0 1 2][3 4 5][0 1 2][3 4 5]]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %y: tensor<0x3xf32> {graph.name = "y"}, %z: tensor<2x3xf32> {graph.name = "z"}) -> (tensor<4x3xf32> {graph.name = "r0"}) {
  %0 = graph.concat %x, %y, %z axis 0 : (tensor<2x3xf32>, tensor<0x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----
// case: bools
// in: 1xbool=[1]
// in: 1xbool=[0]
// out: 2xbool=[1 0]
func.func @main(%x: tensor<1xi1> {graph.name = "x"}, %y: tensor<1xi1> {graph.name = "y"}) -> (tensor<2xi1> {graph.name = "r0"}) {
  %0 = graph.concat %x, %y axis 0 : (tensor<1xi1>, tensor<1xi1>) -> tensor<2xi1>
  return %0 : tensor<2xi1>
}

// -----
// case: symbolic sizes
// in: 2x3xf32=[[0 1 2][3 4 5]]
// in: 2x2xf32=[[0 1][3 4]]
// out: 2x5xf32=[[0 1 2 0 1][3 4 5 3 4]]
func.func @main(%x: tensor<2x?xf32, #graph.dims<[2, n]>> {graph.name = "x"}, %y: tensor<2x?xf32, #graph.dims<[2, m]>> {graph.name = "y"}) -> (tensor<2x?xf32, #graph.dims<[2, n + m]>> {graph.name = "r0"}) {
  %0 = graph.concat %x, %y axis 1 : (tensor<2x?xf32, #graph.dims<[2, n]>>, tensor<2x?xf32, #graph.dims<[2, m]>>) -> tensor<2x?xf32, #graph.dims<[2, n + m]>>
  return %0 : tensor<2x?xf32, #graph.dims<[2, n + m]>>
}

// -----
// case: the same operand twice, f16
// in: 2xf16=[1 2]
// out: 4xf16=[1 2 1 2]
func.func @main(%x: tensor<2xf16> {graph.name = "x"}) -> (tensor<4xf16> {graph.name = "r0"}) {
  %0 = graph.concat %x, %x axis 0 : (tensor<2xf16>, tensor<2xf16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}
