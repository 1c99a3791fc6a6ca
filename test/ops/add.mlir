// graph.add, elementwise with broadcasting.
// RUN: graphc-op-test %s

// case: broadcasts at the right
// in: 2x3xf32=[[-2.5 -1 -0.5][0.25 1 3]]
// in: 3xf32=[2 -0.5 4]
// out: 2x3xf32=[[-0.5 -1.5 3.5][2.25 0.5 7]]
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %y: tensor<3xf32> {graph.name = "y"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.add %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: both broadcast
// in: 2x1xf32=[[-2.5][0.25]]
// in: 3xf32=[2 -0.5 4]
// out: 2x3xf32=[[-0.5 -3 1.5][2.25 -0.25 4.25]]
func.func @main(%x: tensor<2x1xf32> {graph.name = "x"}, %y: tensor<3xf32> {graph.name = "y"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.add %x, %y : (tensor<2x1xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: rank 0
// in: f32=-2.5
// in: f32=2
// out: f32=-0.5
func.func @main(%x: tensor<f32> {graph.name = "x"}, %y: tensor<f32> {graph.name = "y"}) -> (tensor<f32> {graph.name = "r0"}) {
  %0 = graph.add %x, %y : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----
// case: empty
// in: 0x2xf32=[]
// in: 1x2xf32=[[0 0]]
// out: 0x2xf32=[]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<0x2xf32> {graph.name = "x"}, %y: tensor<1x2xf32> {graph.name = "y"}) -> (tensor<0x2xf32> {graph.name = "r0"}) {
  %0 = graph.add %x, %y : (tensor<0x2xf32>, tensor<1x2xf32>) -> tensor<0x2xf32>
  return %0 : tensor<0x2xf32>
}

// -----
// case: zeros, infinities, NaN
// in: 5x4xf32=[[0 0 0 0][-0 -0 -0 -0][inf inf inf inf][-inf -inf -inf -inf][nan nan nan nan]]
// in: 5x4xf32=[[1 -0 inf nan][1 -0 inf nan][1 -0 inf nan][1 -0 inf nan][1 -0 inf nan]]
// out: 5x4xf32=[[1 0 inf nan][1 -0 inf nan][inf inf inf nan][-inf -inf nan nan][nan nan nan nan]]
func.func @main(%x: tensor<5x4xf32> {graph.name = "x"}, %y: tensor<5x4xf32> {graph.name = "y"}) -> (tensor<5x4xf32> {graph.name = "r0"}) {
  %0 = graph.add %x, %y : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  return %0 : tensor<5x4xf32>
}

// -----
// case: f16
// in: 2x3xf16=[[-2.5 -1 -0.5][0.25 1 3]]
// in: 3xf16=[2 -0.5 4]
// out: 2x3xf16=[[-0.5 -1.5 3.5][2.25 0.5 7]]
func.func @main(%x: tensor<2x3xf16> {graph.name = "x"}, %y: tensor<3xf16> {graph.name = "y"}) -> (tensor<2x3xf16> {graph.name = "r0"}) {
  %0 = graph.add %x, %y : (tensor<2x3xf16>, tensor<3xf16>) -> tensor<2x3xf16>
  return %0 : tensor<2x3xf16>
}

// -----
// case: bf16
// in: 2x3xbf16=[[-2.5 -1 -0.5][0.25 1 3]]
// in: 3xbf16=[2 -0.5 4]
// out: 2x3xbf16=[[-0.5 -1.5 3.5][2.25 0.5 7]]
// tol: 8e-3 1e-3
func.func @main(%x: tensor<2x3xbf16> {graph.name = "x"}, %y: tensor<3xbf16> {graph.name = "y"}) -> (tensor<2x3xbf16> {graph.name = "r0"}) {
  %0 = graph.add %x, %y : (tensor<2x3xbf16>, tensor<3xbf16>) -> tensor<2x3xbf16>
  return %0 : tensor<2x3xbf16>
}

// -----
// case: i8 wraps
// in: 4xi8=[7 -7 100 -128]
// in: 4xi8=[2 2 -3 5]
// out: 4xi8=[9 -5 97 -123]
func.func @main(%x: tensor<4xi8> {graph.name = "x"}, %y: tensor<4xi8> {graph.name = "y"}) -> (tensor<4xi8> {graph.name = "r0"}) {
  %0 = graph.add %x, %y : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  return %0 : tensor<4xi8>
}

// -----
// case: u8
// in: 3xu8=[7 200 255]
// in: 3xu8=[2 100 3]
// out: 3xu8=[9 44 2]
func.func @main(%x: tensor<3xui8> {graph.name = "x"}, %y: tensor<3xui8> {graph.name = "y"}) -> (tensor<3xui8> {graph.name = "r0"}) {
  %0 = graph.add %x, %y : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xui8>
  return %0 : tensor<3xui8>
}

// -----
// case: i64
// in: 2x1xi64=[[7][-9]]
// in: 2xi64=[2 -4]
// out: 2x2xi64=[[9 3][-7 -13]]
func.func @main(%x: tensor<2x1xi64> {graph.name = "x"}, %y: tensor<2xi64> {graph.name = "y"}) -> (tensor<2x2xi64> {graph.name = "r0"}) {
  %0 = graph.add %x, %y : (tensor<2x1xi64>, tensor<2xi64>) -> tensor<2x2xi64>
  return %0 : tensor<2x2xi64>
}

// -----
// case: i32
// in: 2x1xi32=[[7][-9]]
// in: 2xi32=[2 -4]
// out: 2x2xi32=[[9 3][-7 -13]]
func.func @main(%x: tensor<2x1xi32> {graph.name = "x"}, %y: tensor<2xi32> {graph.name = "y"}) -> (tensor<2x2xi32> {graph.name = "r0"}) {
  %0 = graph.add %x, %y : (tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x2xi32>
  return %0 : tensor<2x2xi32>
}

// -----
// case: bools: true and true is true
// in: 4xbool=[0 0 1 1]
// in: 4xbool=[0 1 0 1]
// out: 4xbool=[0 1 1 1]
func.func @main(%x: tensor<4xi1> {graph.name = "x"}, %y: tensor<4xi1> {graph.name = "y"}) -> (tensor<4xi1> {graph.name = "r0"}) {
  %0 = graph.add %x, %y : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}
