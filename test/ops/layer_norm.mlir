// graph.layer_norm.
// RUN: graphc-op-test %s

// case: last axis
// in: 2x3xf32=[[-2.5 -1 -0.5][0.25 1 3]]
// in: 3xf32=[1 2 0.5]
// in: 3xf32=[0 1 -1]
// out: 2x3xf32=[[-1.3728034 1.7844591 -0.50971305][-1.0051377 0.2820445 -0.3179423]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %y: tensor<3xf32> {graph.name = "y"}, %z: tensor<3xf32> {graph.name = "z"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.layer_norm %x, %y, %z {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: no bias
// in: 2x3xf32=[[-2.5 -1 -0.5][0.25 1 3]]
// in: 3xf32=[1 2 0.5]
// out: 2x3xf32=[[-1.3728034 0.7844591 0.49028695][-1.0051377 -0.71795547 0.68205774]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %y: tensor<3xf32> {graph.name = "y"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.layer_norm %x, %y {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: large mean does not cancel
// in: 2x3xf32=[[997.5 999 999.5][1000.25 1001 1003]]
// in: 3xf32=[1 2 0.5]
// in: 3xf32=[0 1 -1]
// out: 2x3xf32=[[-1.3728034 1.7844591 -0.50971305][-1.0051377 0.2820445 -0.3179423]]
// tol: 1e-3 1e-3
func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %y: tensor<3xf32> {graph.name = "y"}, %z: tensor<3xf32> {graph.name = "z"}) -> (tensor<2x3xf32> {graph.name = "r0"}) {
  %0 = graph.layer_norm %x, %y, %z {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----
// case: f16 computed in f32
// in: 2x8xf16=[[0.5 1.5898 1.0996 -1.0996 -0.7998 1.4902 -1.9805 1.2803][1.1904 -0.13 -0.79004 -0.89014 -0.97998 -0.21997 0.020004 0.20996]]
// in: 8xf16=[1.9805 1.1699 0.48999 1.96 -1.1396 -1.3604 0.44995 -1.8203]
// in: 8xf16=[-1.8604 0.059998 -0.14001 1.6699 0.52002 0.059998 -0.010002 -1.0098]
// out: 2x8xf16=[[-1.4883 1.2773 0.18176 -0.41431 1.4648 -1.249 -0.79834 -2.4629][2.248 0.18005 -0.57275 -0.35352 1.8496 0.10315 0.13696 -2.1211]]
// tol: 1e-3 1e-3
func.func @main(%x: tensor<2x8xf16> {graph.name = "x"}, %y: tensor<8xf16> {graph.name = "y"}, %z: tensor<8xf16> {graph.name = "z"}) -> (tensor<2x8xf16> {graph.name = "r0"}) {
  %0 = graph.layer_norm %x, %y, %z {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x8xf16>, tensor<8xf16>, tensor<8xf16>) -> tensor<2x8xf16>
  return %0 : tensor<2x8xf16>
}

// -----
// case: bf16 computed in f32
// in: 2x8xbf16=[[-1.9531 -1.2266 0.76953 -1.2031 -0.51953 -1.9922 1.3203 -1.3828][-0.92969 1.5234 0.040039 1.3906 0.55859 0.96875 -1.6328 0.16016]]
// in: 8xbf16=[0.030029 1.4922 -0.55078 0.39062 -1.7578 -0.44922 -0.71094 -1.3984]
// in: 8xbf16=[1.2734 -0.48047 1.9062 0.35938 0.41992 0.55078 0.71094 -1.3984]
// out: 2x8xbf16=[[1.2422 -1.0703 1.1641 0.21289 0.029785 1.0312 -0.58984 -0.65234][1.2422 1.3438 2.0312 0.78906 -0.088867 0.24219 2.0156 -1.2656]]
// tol: 8e-3 8e-3
func.func @main(%x: tensor<2x8xbf16> {graph.name = "x"}, %y: tensor<8xbf16> {graph.name = "y"}, %z: tensor<8xbf16> {graph.name = "z"}) -> (tensor<2x8xbf16> {graph.name = "r0"}) {
  %0 = graph.layer_norm %x, %y, %z {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x8xbf16>, tensor<8xbf16>, tensor<8xbf16>) -> tensor<2x8xbf16>
  return %0 : tensor<2x8xbf16>
}

// -----
// case: two axes
// in: 2x3x4xf32=[[[-0.23999999 -1.04 -0.38999999 -1.61][1.87 -1.14 0.69 -0.80000001][1.5 0.64999998 -1.47 1.38]][[1.78 1.62 0.28 -1.42][-1.23 1.71 0.20999999 -1.28][1.54 0.56999999 0.28 -0.49000001]]]
// in: 3x4xf32=[[-0.36000001 -1.04 -1.85 1.5][-0.13 0.19 -0.70999998 1.01][-1.9 -0.50999999 -1.88 -1.51]]
// in: 3x4xf32=[[1.87 0.63 -0.28999999 0.090000004][1.49 -0.62 0.36000001 0.73000002][-0.57999998 0.079999998 1.0599999 1.64]]
// out: 2x3x4xf32=[[[1.9283038 1.5076257 0.24615635 -1.904604][1.2772423 -0.79653096 -0.087848224 0.084310919][-3.0903027 -0.22430494 3.3355532 -0.20057619]][[1.4073976 -0.56217396 -0.26193789 -2.1430509][1.6621215 -0.38737699 0.41384894 -0.6510244][-2.6262591 -0.040461235 1.0885171 2.6707139]]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3x4xf32> {graph.name = "x"}, %y: tensor<3x4xf32> {graph.name = "y"}, %z: tensor<3x4xf32> {graph.name = "z"}) -> (tensor<2x3x4xf32> {graph.name = "r0"}) {
  %0 = graph.layer_norm %x, %y, %z {axis = 1 : i64, epsilon = 1.0e-3 : f64} : (tensor<2x3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// -----
// case: symbolic rows and columns
// in: 3x5xf32=[[-1.4 1.73 -1.98 1.01 1.24][-1.45 -0.31999999 1.26 -1.9400001 0.50999999][1.17 0.050000001 0.89999998 -1.09 -1.21]]
// in: 5xf32=[-0.55000001 -1.28 -0.62 1.79 0.28999999]
// out: 3x5xf32=[[0.55465162 -1.367256 0.86382347 1.0569563 0.21549143][0.49142963 -0.073230699 -0.85965264 -2.3373237 0.21910305][-0.67506987 -0.11203333 -0.59061742 -1.9201375 -0.34650123]]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<?x?xf32, #graph.dims<[n, m]>> {graph.name = "x"}, %y: tensor<?xf32, #graph.dims<[m]>> {graph.name = "y"}) -> (tensor<?x?xf32, #graph.dims<[n, m]>> {graph.name = "r0"}) {
  %0 = graph.layer_norm %x, %y {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<?x?xf32, #graph.dims<[n, m]>>, tensor<?xf32, #graph.dims<[m]>>) -> tensor<?x?xf32, #graph.dims<[n, m]>>
  return %0 : tensor<?x?xf32, #graph.dims<[n, m]>>
}
