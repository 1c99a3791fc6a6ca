// Convolution networks run channels-last from end to end; what the program's own order needs is transposed once.
// RUN: graphc-opt --graphc-layout --split-input-file %s | FileCheck %s

// A residual block: one transpose in, one out.
// CHECK-LABEL: func.func @residual(
// CHECK: %[[X:.*]] = graph.transpose %arg0 {perm = array<i64: 0, 2, 3, 1>}
// CHECK: %[[A:.*]] = graph.conv %[[X]], %arg1 {channels_last
// CHECK: %[[R:.*]] = graph.relu %[[A]]
// CHECK: %[[B:.*]] = graph.conv %[[R]], %arg1 {channels_last
// CHECK: %[[S:.*]] = graph.add %[[B]], %[[R]]
// CHECK: %[[Y:.*]] = graph.transpose %[[S]] {perm = array<i64: 0, 3, 1, 2>}
// CHECK: return %[[Y]]
func.func @residual(%x: tensor<1x16x8x8xf32>, %w: tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32> {
  %a = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %r = graph.relu %a : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  %b = graph.conv %r, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %s = graph.add %b, %r : (tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  return %s : tensor<1x16x8x8xf32>
}

// -----
// Squeeze and excite: the branch of one value per channel needs no transpose, the bias only other dims.
// CHECK-LABEL: func.func @squeeze_excite(
// CHECK: %[[X:.*]] = graph.transpose %arg0
// CHECK-NOT: graph.transpose
// CHECK: %[[A:.*]] = graph.conv %[[X]], %arg1 {channels_last
// CHECK: %[[B:.*]] = graph.add %[[A]], %{{.*}} : (tensor<?x8x8x16xf32, {{.*}}>, tensor<16xf32>)
// CHECK: %[[M:.*]] = graph.reduce "sum" %[[B]] axes [1, 2] keep
// CHECK: %[[C:.*]] = graph.conv %[[M]], %arg2 {channels_last
// CHECK: %[[G:.*]] = graph.sigmoid %[[C]]
// CHECK: %[[S:.*]] = graph.mul %[[B]], %[[G]]
// CHECK: %[[P:.*]] = graph.reduce "sum" %[[S]] axes [1, 2] :
// CHECK-NEXT: return %[[P]]
func.func @squeeze_excite(%x: tensor<?x16x8x8xf32, #graph.dims<[n, 16, 8, 8]>>, %w: tensor<16x1x3x3xf32>, %v: tensor<16x16x1x1xf32>, %b: tensor<16x1x1xf32>) -> tensor<?x16xf32, #graph.dims<[n, 16]>> {
  %a = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, groups = 16 : i64} : (tensor<?x16x8x8xf32, #graph.dims<[n, 16, 8, 8]>>, tensor<16x1x3x3xf32>) -> tensor<?x16x8x8xf32, #graph.dims<[n, 16, 8, 8]>>
  %ab = graph.add %a, %b : (tensor<?x16x8x8xf32, #graph.dims<[n, 16, 8, 8]>>, tensor<16x1x1xf32>) -> tensor<?x16x8x8xf32, #graph.dims<[n, 16, 8, 8]>>
  %m = graph.reduce "sum" %ab axes [2, 3] keep : (tensor<?x16x8x8xf32, #graph.dims<[n, 16, 8, 8]>>) -> tensor<?x16x1x1xf32, #graph.dims<[n, 16, 1, 1]>>
  %c = graph.conv %m, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<?x16x1x1xf32, #graph.dims<[n, 16, 1, 1]>>, tensor<16x16x1x1xf32>) -> tensor<?x16x1x1xf32, #graph.dims<[n, 16, 1, 1]>>
  %g = graph.sigmoid %c : (tensor<?x16x1x1xf32, #graph.dims<[n, 16, 1, 1]>>) -> tensor<?x16x1x1xf32, #graph.dims<[n, 16, 1, 1]>>
  %s = graph.mul %ab, %g : (tensor<?x16x8x8xf32, #graph.dims<[n, 16, 8, 8]>>, tensor<?x16x1x1xf32, #graph.dims<[n, 16, 1, 1]>>) -> tensor<?x16x8x8xf32, #graph.dims<[n, 16, 8, 8]>>
  %p = graph.reduce "sum" %s axes [2, 3] : (tensor<?x16x8x8xf32, #graph.dims<[n, 16, 8, 8]>>) -> tensor<?x16xf32, #graph.dims<[n, 16]>>
  return %p : tensor<?x16xf32, #graph.dims<[n, 16]>>
}

// -----
// Fire module, then a pool: channels are concatenated along the last dim.
// CHECK-LABEL: func.func @concat(
// CHECK: graph.transpose
// CHECK-NOT: graph.transpose
// CHECK: graph.concat %{{.*}}, %{{.*}} axis 3
// CHECK: %[[P:.*]] = graph.max_pool {{.*}}channels_last
// CHECK: graph.transpose %[[P]]
// CHECK-NOT: graph.transpose
func.func @concat(%x: tensor<1x8x8x8xf32>, %w: tensor<8x8x1x1xf32>) -> tensor<1x16x4x4xf32> {
  %a = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x8x8x8xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x8x8xf32>
  %b = graph.conv %a, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x8x8x8xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x8x8xf32>
  %c = graph.concat %a, %b axis 1 : (tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>) -> tensor<1x16x8x8xf32>
  %p = graph.max_pool %c {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  return %p : tensor<1x16x4x4xf32>
}

// -----
// One input channel is a reshape away; the flattened features keep their order by moving the rows of the weight.
graph.weight @w : tensor<128x10xf32> "m" at 0 bytes 5120
// CHECK-LABEL: func.func @flatten(
// CHECK-DAG: %[[W:.*]] = graph.get_weight @w
// CHECK-DAG: %[[X:.*]] = graph.reshape %arg0 : (tensor<2x1x6x6xf32>) -> tensor<2x6x6x1xf32>
// CHECK: %[[A:.*]] = graph.conv %[[X]], %arg1 {channels_last
// CHECK: %[[F:.*]] = graph.reshape %[[A]] : (tensor<2x4x4x8xf32>) -> tensor<2x128xf32>
// CHECK: %[[R:.*]] = graph.reshape %[[W]] : (tensor<128x10xf32>) -> tensor<8x4x4x10xf32>
// CHECK: %[[T:.*]] = graph.transpose %[[R]] {perm = array<i64: 1, 2, 0, 3>}
// CHECK: %[[V:.*]] = graph.reshape %[[T]] : (tensor<4x4x8x10xf32>) -> tensor<128x10xf32>
// CHECK: graph.matmul %[[F]], %[[V]]
func.func @flatten(%x: tensor<2x1x6x6xf32>, %k: tensor<8x1x3x3xf32>) -> tensor<2x10xf32> {
  %w = graph.get_weight @w : tensor<128x10xf32>
  %a = graph.conv %x, %k {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<2x1x6x6xf32>, tensor<8x1x3x3xf32>) -> tensor<2x8x4x4xf32>
  %f = graph.reshape %a : (tensor<2x8x4x4xf32>) -> tensor<2x128xf32>
  %y = graph.matmul %f, %w : (tensor<2x128xf32>, tensor<128x10xf32>) -> tensor<2x10xf32>
  return %y : tensor<2x10xf32>
}

// -----
// Channel shuffle: the transpose stays one, inside the channels.
// CHECK-LABEL: func.func @shuffle(
// CHECK: graph.transpose %arg0 {perm = array<i64: 0, 2, 3, 1>}
// CHECK: %[[G:.*]] = graph.reshape %{{.*}} : (tensor<1x4x4x6xf32>) -> tensor<1x4x4x2x3xf32>
// CHECK: %[[S:.*]] = graph.transpose %[[G]] {perm = array<i64: 0, 1, 2, 4, 3>}
// CHECK: %[[C:.*]] = graph.reshape %[[S]] : (tensor<1x4x4x3x2xf32>) -> tensor<1x4x4x6xf32>
// CHECK: graph.conv %[[C]]
// CHECK: graph.transpose
// CHECK-NOT: graph.transpose
func.func @shuffle(%x: tensor<1x6x4x4xf32>, %w: tensor<6x3x1x1xf32>) -> tensor<1x6x4x4xf32> {
  %a = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, groups = 2 : i64} : (tensor<1x6x4x4xf32>, tensor<6x3x1x1xf32>) -> tensor<1x6x4x4xf32>
  %g = graph.reshape %a : (tensor<1x6x4x4xf32>) -> tensor<1x2x3x4x4xf32>
  %s = graph.transpose %g {perm = array<i64: 0, 2, 1, 3, 4>} : (tensor<1x2x3x4x4xf32>) -> tensor<1x3x2x4x4xf32>
  %c = graph.reshape %s : (tensor<1x3x2x4x4xf32>) -> tensor<1x6x4x4xf32>
  %b = graph.conv %c, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, groups = 2 : i64} : (tensor<1x6x4x4xf32>, tensor<6x3x1x1xf32>) -> tensor<1x6x4x4xf32>
  return %b : tensor<1x6x4x4xf32>
}

// -----
// Patches of a vision transformer, and images that arrive channels-last: the program's transposes cancel.
// CHECK-LABEL: func.func @patches(
// CHECK-NOT: graph.transpose
// CHECK: %[[C:.*]] = graph.conv %arg0, %arg1 {channels_last
// CHECK: %[[R:.*]] = graph.reshape %[[C]] : (tensor<1x4x4x8xf32>) -> tensor<1x16x8xf32>
// CHECK-NEXT: return %[[R]]
func.func @patches(%x: tensor<1x8x8x3xf32>, %w: tensor<8x3x2x2xf32>) -> tensor<1x16x8xf32> {
  %t = graph.transpose %x {perm = array<i64: 0, 3, 1, 2>} : (tensor<1x8x8x3xf32>) -> tensor<1x3x8x8xf32>
  %c = graph.conv %t, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x3x8x8xf32>, tensor<8x3x2x2xf32>) -> tensor<1x8x4x4xf32>
  %r = graph.reshape %c : (tensor<1x8x4x4xf32>) -> tensor<1x8x16xf32>
  %y = graph.transpose %r {perm = array<i64: 0, 2, 1>} : (tensor<1x8x16xf32>) -> tensor<1x16x8xf32>
  return %y : tensor<1x16x8xf32>
}

// -----
// Axes follow: pad, slice, resize, softmax over channels, argmax, and a 1-D convolution.
// CHECK-LABEL: func.func @axes(
// CHECK: graph.conv %{{.*}} {channels_last
// CHECK: graph.pad %{{.*}} low [0, 1, 2, 0]
// CHECK: graph.slice %{{.*}} from <[0, 1, 0, 2]> step [1, 1, 1, 2]
// CHECK: graph.resize %{{.*}} by [1.000000e+00, 2.000000e+00, 2.000000e+00, 1.000000e+00]
// CHECK: graph.softmax %{{.*}} {axis = 3 : i64}
// CHECK: %[[I:.*]] = graph.arg_reduce "max" %{{.*}} axis 3 :
// CHECK-NEXT: return %[[I]]
func.func @axes(%x: tensor<1x4x8x8xf32>, %w: tensor<8x4x1x1xf32>) -> tensor<1x18x24xi64> {
  %c = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x4x8x8xf32>, tensor<8x4x1x1xf32>) -> tensor<1x8x8x8xf32>
  %p = graph.pad %c low [0, 0, 1, 2] {mode = "reflect"} : (tensor<1x8x8x8xf32>) -> tensor<1x8x10x12xf32>
  %s = graph.slice %p from <[0, 2, 1, 0]> step [1, 2, 1, 1] : (tensor<1x8x10x12xf32>) -> tensor<1x3x9x12xf32>
  %r = graph.resize %s by [1.0, 1.0, 2.0, 2.0] : (tensor<1x3x9x12xf32>) -> tensor<1x3x18x24xf32>
  %m = graph.softmax %r {axis = 1 : i64} : (tensor<1x3x18x24xf32>) -> tensor<1x3x18x24xf32>
  %i = graph.arg_reduce "max" %m axis 1 : (tensor<1x3x18x24xf32>) -> tensor<1x18x24xi64>
  return %i : tensor<1x18x24xi64>
}

// -----
// CHECK-LABEL: func.func @one_dim(
// CHECK: graph.transpose %arg0 {perm = array<i64: 0, 2, 1>}
// CHECK: graph.conv %{{.*}} {channels_last
func.func @one_dim(%x: tensor<1x4x8xf32>, %w: tensor<8x4x3xf32>) -> tensor<1x8x6xf32> {
  %c = graph.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>} : (tensor<1x4x8xf32>, tensor<8x4x3xf32>) -> tensor<1x8x6xf32>
  return %c : tensor<1x8x6xf32>
}

// -----
// A pool along the channels (local response normalisation) pools along the last dim.
// CHECK-LABEL: func.func @along_channels(
// CHECK: graph.transpose %arg0
// CHECK-NOT: graph.transpose
// CHECK: graph.avg_pool %{{.*}} pads_low = array<i64: 0, 0, 2>,{{.*}}window = array<i64: 1, 1, 5>
// CHECK: graph.conv
func.func @along_channels(%x: tensor<1x3x4x4xf32>, %w: tensor<8x3x1x1xf32>, %v: tensor<2x8x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %a = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x3x4x4xf32>, tensor<8x3x1x1xf32>) -> tensor<1x8x4x4xf32>
  %r = graph.reshape %a : (tensor<1x8x4x4xf32>) -> tensor<1x1x8x4x4xf32>
  %p = graph.avg_pool %r {count_pad, window = array<i64: 5, 1, 1>, strides = array<i64: 1, 1, 1>, dilations = array<i64: 1, 1, 1>, pads_low = array<i64: 2, 0, 0>, pads_high = array<i64: 2, 0, 0>} : (tensor<1x1x8x4x4xf32>) -> tensor<1x1x8x4x4xf32>
  %s = graph.reshape %p : (tensor<1x1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  %m = graph.mul %a, %s : (tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  %b = graph.conv %m, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x8x4x4xf32>, tensor<2x8x1x1xf32>) -> tensor<1x2x4x4xf32>
  return %b : tensor<1x2x4x4xf32>
}

// -----
// Depth to space: the program's own transpose starts from channels-last, one transpose in all.
// CHECK-LABEL: func.func @pixel_shuffle(
// CHECK: %[[C:.*]] = graph.conv
// CHECK: %[[R:.*]] = graph.reshape %[[C]] : (tensor<1x3x3x4xf32>) -> tensor<1x1x3x3x2x2xf32>
// CHECK: %[[T:.*]] = graph.transpose %[[R]]
// CHECK-NEXT: %[[Y:.*]] = graph.reshape %[[T]] : {{.*}} -> tensor<1x1x6x6xf32>
// CHECK-NEXT: return %[[Y]]
func.func @pixel_shuffle(%x: tensor<1x1x3x3xf32>, %w: tensor<4x1x1x1xf32>) -> tensor<1x1x6x6xf32> {
  %a = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x1x3x3xf32>, tensor<4x1x1x1xf32>) -> tensor<1x4x3x3xf32>
  %r = graph.reshape %a : (tensor<1x4x3x3xf32>) -> tensor<1x1x2x2x3x3xf32>
  %t = graph.transpose %r {perm = array<i64: 0, 1, 4, 2, 5, 3>} : (tensor<1x1x2x2x3x3xf32>) -> tensor<1x1x3x2x3x2xf32>
  %y = graph.reshape %t : (tensor<1x1x3x2x3x2xf32>) -> tensor<1x1x6x6xf32>
  return %y : tensor<1x1x6x6xf32>
}

// -----
// A reduction whose result holds one dim that is not 1: it lies elsewhere among the ones.
// CHECK-LABEL: func.func @reduced(
// CHECK: %[[C:.*]] = graph.conv
// CHECK: %[[R:.*]] = graph.reduce "sum" %[[C]] axes [2] : (tensor<1x1x5x8xf32>) -> tensor<1x1x8xf32>
// CHECK: graph.reshape %[[R]] : (tensor<1x1x8xf32>) -> tensor<1x8x1xf32>
func.func @reduced(%x: tensor<1x3x1x5xf32>, %w: tensor<8x3x1x1xf32>) -> tensor<1x8x1xf32> {
  %a = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x3x1x5xf32>, tensor<8x3x1x1xf32>) -> tensor<1x8x1x5xf32>
  %r = graph.reduce "sum" %a axes [3] : (tensor<1x8x1x5xf32>) -> tensor<1x8x1xf32>
  return %r : tensor<1x8x1xf32>
}

// -----
// Nothing to do without a convolution: a pool alone, and attention's transposes.
// CHECK-LABEL: func.func @nothing(
// CHECK-NEXT: graph.max_pool %arg0 {dilations
// CHECK-NEXT: graph.transpose %arg1 {perm = array<i64: 0, 2, 1, 3>}
// CHECK-NEXT: graph.relu
// CHECK-NEXT: return
func.func @nothing(%x: tensor<1x4x8x8xf32>, %q: tensor<1x4x8x8xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x8x4x8xf32>) {
  %p = graph.max_pool %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32>
  %t = graph.transpose %q {perm = array<i64: 0, 2, 1, 3>} : (tensor<1x4x8x8xf32>) -> tensor<1x8x4x8xf32>
  %r = graph.relu %t : (tensor<1x8x4x8xf32>) -> tensor<1x8x4x8xf32>
  return %p, %r : tensor<1x4x4x4xf32>, tensor<1x8x4x8xf32>
}

// -----

// A training step of a convolution: gradients move channels last with it, the weight's gradient keeps the order of the weight.
// CHECK-LABEL: func.func @gradients
// CHECK: graph.conv %{{.*}} {channels_last
// CHECK: graph.max_pool_index %{{.*}} {channels_last
// CHECK: graph.max_unpool %{{.*}} {channels_last
// CHECK: graph.conv_weight_grad %{{.*}} {channels_last
// CHECK-SAME: -> tensor<4x3x3x3xf32>
// CHECK: graph.conv_transpose %{{.*}} {channels_last
func.func @gradients(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %g: tensor<2x4x4x4xf32>) -> (tensor<4x3x3x3xf32>, tensor<2x3x8x8xf32>) {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>} : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
  %i = graph.max_pool_index %0 {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xi64>
  %d = graph.max_unpool %g, %i {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>} : (tensor<2x4x4x4xf32>, tensor<2x4x4x4xi64>) -> tensor<2x4x8x8xf32>
  %dw = graph.conv_weight_grad %x, %d {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>} : (tensor<2x3x8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<4x3x3x3xf32>
  %dx = graph.conv_transpose %d, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>} : (tensor<2x4x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x3x8x8xf32>
  return %dw, %dx : tensor<4x3x3x3xf32>, tensor<2x3x8x8xf32>
}
