// Layer norm and RMS norm, spelled out, with the scale and the bias that follow.
// RUN: graphc-opt %s --graphc-raise | FileCheck %s

// CHECK-LABEL: @layer_norm
// CHECK-SAME: (%[[X:.*]]: tensor<2x8xf32>, %[[S:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<8xf32>)
// CHECK: graph.layer_norm %[[X]], %[[S]], %[[B]]
// CHECK-SAME: axis = 1
// CHECK-NOT: graph.sqrt
func.func @layer_norm(%x: tensor<2x8xf32>, %scale: tensor<8xf32>, %bias: tensor<8xf32>) -> tensor<2x8xf32> {
  %n = graph.constant dense<8.0> : tensor<f32>
  %two = graph.constant dense<2.0> : tensor<f32>
  %eps = graph.constant dense<1.0e-5> : tensor<f32>
  %s = graph.reduce "sum" %x axes [1] keep : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %mean = graph.div %s, %n : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %d = graph.sub %x, %mean : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %q = graph.pow %d, %two : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %qs = graph.reduce "sum" %q axes [1] keep : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %v = graph.div %qs, %n : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %ve = graph.add %v, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %r = graph.sqrt %ve : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %y = graph.div %d, %r : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %ys = graph.mul %y, %scale : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  %yb = graph.add %ys, %bias : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  return %yb : tensor<2x8xf32>
}

// Flax: variance as E[x²] - E[x]², bounded by 0; the scale multiplied into 1/sqrt first.
// CHECK-LABEL: @flax
// CHECK-SAME: (%[[X:.*]]: tensor<?x8xf32{{.*}}>, %[[S:.*]]: tensor<1x8xf32>, %[[B:.*]]: tensor<1x8xf32>)
// CHECK: graph.layer_norm %[[X]], %[[S]], %[[B]]
// CHECK-NOT: graph.sqrt
func.func @flax(%x: tensor<?x8xf32, #graph.dims<[n, 8]>>, %scale: tensor<1x8xf32>, %bias: tensor<1x8xf32>) -> tensor<?x8xf32, #graph.dims<[n, 8]>> {
  %inv = graph.constant dense<0.125> : tensor<f32>
  %zero = graph.constant dense<0.0> : tensor<f32>
  %eps = graph.constant dense<1.0e-6> : tensor<f32>
  %s = graph.reduce "sum" %x axes [1] : (tensor<?x8xf32, #graph.dims<[n, 8]>>) -> tensor<?xf32, #graph.dims<[n]>>
  %mean = graph.mul %s, %inv : (tensor<?xf32, #graph.dims<[n]>>, tensor<f32>) -> tensor<?xf32, #graph.dims<[n]>>
  %q = graph.mul %x, %x : (tensor<?x8xf32, #graph.dims<[n, 8]>>, tensor<?x8xf32, #graph.dims<[n, 8]>>) -> tensor<?x8xf32, #graph.dims<[n, 8]>>
  %qs = graph.reduce "sum" %q axes [1] : (tensor<?x8xf32, #graph.dims<[n, 8]>>) -> tensor<?xf32, #graph.dims<[n]>>
  %qm = graph.mul %qs, %inv : (tensor<?xf32, #graph.dims<[n]>>, tensor<f32>) -> tensor<?xf32, #graph.dims<[n]>>
  %mm = graph.mul %mean, %mean : (tensor<?xf32, #graph.dims<[n]>>, tensor<?xf32, #graph.dims<[n]>>) -> tensor<?xf32, #graph.dims<[n]>>
  %v0 = graph.sub %qm, %mm : (tensor<?xf32, #graph.dims<[n]>>, tensor<?xf32, #graph.dims<[n]>>) -> tensor<?xf32, #graph.dims<[n]>>
  %v1 = graph.max %zero, %v0 : (tensor<f32>, tensor<?xf32, #graph.dims<[n]>>) -> tensor<?xf32, #graph.dims<[n]>>
  %v = graph.reshape %v1 : (tensor<?xf32, #graph.dims<[n]>>) -> tensor<?x1xf32, #graph.dims<[n, 1]>>
  %ve = graph.add %v, %eps : (tensor<?x1xf32, #graph.dims<[n, 1]>>, tensor<f32>) -> tensor<?x1xf32, #graph.dims<[n, 1]>>
  %r = graph.sqrt %ve : (tensor<?x1xf32, #graph.dims<[n, 1]>>) -> tensor<?x1xf32, #graph.dims<[n, 1]>>
  %i = graph.reciprocal %r : (tensor<?x1xf32, #graph.dims<[n, 1]>>) -> tensor<?x1xf32, #graph.dims<[n, 1]>>
  %f = graph.mul %i, %scale : (tensor<?x1xf32, #graph.dims<[n, 1]>>, tensor<1x8xf32>) -> tensor<?x8xf32, #graph.dims<[n, 8]>>
  %m = graph.reshape %mean : (tensor<?xf32, #graph.dims<[n]>>) -> tensor<?x1xf32, #graph.dims<[n, 1]>>
  %d = graph.sub %x, %m : (tensor<?x8xf32, #graph.dims<[n, 8]>>, tensor<?x1xf32, #graph.dims<[n, 1]>>) -> tensor<?x8xf32, #graph.dims<[n, 8]>>
  %y = graph.mul %d, %f : (tensor<?x8xf32, #graph.dims<[n, 8]>>, tensor<?x8xf32, #graph.dims<[n, 8]>>) -> tensor<?x8xf32, #graph.dims<[n, 8]>>
  %yb = graph.add %y, %bias : (tensor<?x8xf32, #graph.dims<[n, 8]>>, tensor<1x8xf32>) -> tensor<?x8xf32, #graph.dims<[n, 8]>>
  return %yb : tensor<?x8xf32, #graph.dims<[n, 8]>>
}

// CHECK-LABEL: @rms_norm
// CHECK-SAME: (%[[X:.*]]: tensor<2x8xf32>, %[[S:.*]]: tensor<8xf32>)
// CHECK: graph.rms_norm %[[X]], %[[S]]
// CHECK-NOT: graph.sqrt
func.func @rms_norm(%x: tensor<2x8xf32>, %scale: tensor<8xf32>) -> tensor<2x8xf32> {
  %n = graph.constant dense<8.0> : tensor<f32>
  %eps = graph.constant dense<1.0e-6> : tensor<f32>
  %q = graph.mul %x, %x : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %qs = graph.reduce "sum" %q axes [1] keep : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %v = graph.div %qs, %n : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %ve = graph.add %v, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %r = graph.sqrt %ve : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %i = graph.reciprocal %r : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %y = graph.mul %x, %i : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %ys = graph.mul %scale, %y : (tensor<8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %ys : tensor<2x8xf32>
}

// An unbiased variance divides by n - 1: not a layer norm.
// CHECK-LABEL: @unbiased
// CHECK-NOT: _norm
// CHECK: graph.sqrt
func.func @unbiased(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %n = graph.constant dense<8.0> : tensor<f32>
  %n1 = graph.constant dense<7.0> : tensor<f32>
  %eps = graph.constant dense<1.0e-5> : tensor<f32>
  %s = graph.reduce "sum" %x axes [1] keep : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %mean = graph.div %s, %n : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %d = graph.sub %x, %mean : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %q = graph.mul %d, %d : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %qs = graph.reduce "sum" %q axes [1] keep : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %v = graph.div %qs, %n1 : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %ve = graph.add %v, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %r = graph.sqrt %ve : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %y = graph.div %d, %r : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// Normalised over the first dim: a layer norm's axes are the last ones.
// CHECK-LABEL: @leading_axis
// CHECK-NOT: _norm
// CHECK: graph.sqrt
func.func @leading_axis(%x: tensor<8x2xf32>) -> tensor<8x2xf32> {
  %n = graph.constant dense<8.0> : tensor<f32>
  %eps = graph.constant dense<1.0e-6> : tensor<f32>
  %q = graph.mul %x, %x : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  %qs = graph.reduce "sum" %q axes [0] keep : (tensor<8x2xf32>) -> tensor<1x2xf32>
  %v = graph.div %qs, %n : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xf32>
  %ve = graph.add %v, %eps : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xf32>
  %r = graph.sqrt %ve : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %y = graph.div %x, %r : (tensor<8x2xf32>, tensor<1x2xf32>) -> tensor<8x2xf32>
  return %y : tensor<8x2xf32>
}
