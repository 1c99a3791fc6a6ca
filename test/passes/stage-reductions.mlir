// graphc-stage-reductions: much to little in two stages.
// RUN: graphc-opt %s -split-input-file -graphc-stage-reductions | FileCheck %s

// A bias's gradient: each image by itself, then the images.
// CHECK-LABEL: func.func @bias
// CHECK: %[[P:.*]] = graph.reduce "sum" %arg0 axes [1, 2] : (tensor<256x28x28x32xf32>) -> tensor<256x32xf32>
// CHECK: graph.reduce "sum" %[[P]] axes [0] : (tensor<256x32xf32>) -> tensor<32xf32>
func.func @bias(%g: tensor<256x28x28x32xf32>) -> tensor<32xf32> {
  %0 = graph.reduce "sum" %g axes [0, 1, 2] : (tensor<256x28x28x32xf32>) -> tensor<32xf32>
  return %0 : tensor<32xf32>
}

// -----

// A batch of any size.
// CHECK-LABEL: func.func @symbolic
// CHECK: %[[P:.*]] = graph.reduce "max" %arg0 axes [1] keep
// CHECK: graph.reduce "max" %[[P]] axes [0] keep
func.func @symbolic(%g: tensor<?x784x32xf32, #graph.dims<[n, 784, 32]>>) -> tensor<1x1x32xf32> {
  %0 = graph.reduce "max" %g axes [0, 1] keep : (tensor<?x784x32xf32, #graph.dims<[n, 784, 32]>>) -> tensor<1x1x32xf32>
  return %0 : tensor<1x1x32xf32>
}

// -----

// One axis is cut into blocks.
// CHECK-LABEL: func.func @rows
// CHECK: %[[R:.*]] = graph.reshape %arg0 : (tensor<2048x256xf32>) -> tensor<32x64x256xf32>
// CHECK: %[[P:.*]] = graph.reduce "sum" %[[R]] axes [1] keep : (tensor<32x64x256xf32>) -> tensor<32x1x256xf32>
// CHECK: %[[F:.*]] = graph.reshape %[[P]] : (tensor<32x1x256xf32>) -> tensor<32x256xf32>
// CHECK: graph.reduce "sum" %[[F]] axes [0] keep : (tensor<32x256xf32>) -> tensor<1x256xf32>
func.func @rows(%g: tensor<2048x256xf32>) -> tensor<1x256xf32> {
  %0 = graph.reduce "sum" %g axes [0] keep : (tensor<2048x256xf32>) -> tensor<1x256xf32>
  return %0 : tensor<1x256xf32>
}

// -----

// Left alone: rows that threads share out, little to read, a length without divisors, floats too narrow to stop half way.
// CHECK-LABEL: func.func @alone
// CHECK-NEXT: graph.reduce "sum" %arg0 axes [1]
// CHECK-NEXT: graph.reduce "sum" %arg1 axes [0]
// CHECK-NEXT: graph.reduce "sum" %arg2 axes [0]
// CHECK-NEXT: graph.reduce "sum" %arg3 axes [0, 1]
// CHECK-NEXT: return
func.func @alone(%a: tensor<1024x1024xf32>, %b: tensor<64x64xf32>, %c: tensor<1000003xf32>, %d: tensor<512x512x8xbf16>) -> (tensor<1024xf32>, tensor<64xf32>, tensor<f32>, tensor<8xbf16>) {
  %0 = graph.reduce "sum" %a axes [1] : (tensor<1024x1024xf32>) -> tensor<1024xf32>
  %1 = graph.reduce "sum" %b axes [0] : (tensor<64x64xf32>) -> tensor<64xf32>
  %2 = graph.reduce "sum" %c axes [0] : (tensor<1000003xf32>) -> tensor<f32>
  %3 = graph.reduce "sum" %d axes [0, 1] : (tensor<512x512x8xbf16>) -> tensor<8xbf16>
  return %0, %1, %2, %3 : tensor<1024xf32>, tensor<64xf32>, tensor<f32>, tensor<8xbf16>
}
