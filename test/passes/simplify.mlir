// Literals fold, identities that hold for every value go, chains of moves end as one; nothing else changes.
// RUN: graphc-opt --graphc-simplify --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @literals(
// CHECK-DAG: dense<[5, 1]> : tensor<2xi32>
// CHECK-DAG: dense<0x7FC00000> : tensor<f32>
// CHECK-DAG: dense<1.500000e+00> : tensor<2x3xf16>
// CHECK-DAG: dense<{{\[}}[0, 3], [1, 4], [2, 5]]> : tensor<3x2xi64>
func.func @literals() -> (tensor<2xi32>, tensor<f32>, tensor<2x3xf16>, tensor<3x2xi64>) {
  %a = graph.constant dense<[7, -5]> : tensor<2xi32>
  %b = graph.constant dense<6> : tensor<1xi32>
  %m = graph.mod %a, %b : (tensor<2xi32>, tensor<1xi32>) -> tensor<2xi32>
  %c4 = graph.constant dense<4> : tensor<2xi32>
  %m2 = graph.constant dense<[4, 0]> : tensor<2xi32>
  %s = graph.add %m, %m2 : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  %n = graph.constant dense<-1.0> : tensor<f32>
  %q = graph.sqrt %n : (tensor<f32>) -> tensor<f32>
  %h = graph.constant dense<0.5> : tensor<f16>
  %w = graph.broadcast %h : (tensor<f16>) -> tensor<2x3xf16>
  %one = graph.constant dense<1.0> : tensor<f16>
  %w1 = graph.add %w, %one : (tensor<2x3xf16>, tensor<f16>) -> tensor<2x3xf16>
  %i = graph.constant dense<[0, 1, 2, 3, 4, 5]> : tensor<6xi64>
  %r = graph.reshape %i : (tensor<6xi64>) -> tensor<2x3xi64>
  %t = graph.transpose %r {perm = array<i64: 1, 0>} : (tensor<2x3xi64>) -> tensor<3x2xi64>
  return %s, %q, %w1, %t : tensor<2xi32>, tensor<f32>, tensor<2x3xf16>, tensor<3x2xi64>
}

// -----
// CHECK-LABEL: func.func @powers(
// CHECK-NEXT: %[[S:.*]] = graph.mul %arg0, %arg0
// CHECK-NEXT: %[[C:.*]] = graph.mul %[[S]], %arg0
// CHECK-NEXT: %[[R:.*]] = graph.sqrt %[[S]]
// CHECK-NEXT: return %[[S]], %[[C]], %[[R]]
func.func @powers(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %two = graph.constant dense<2.0> : tensor<f32>
  %three = graph.constant dense<3.0> : tensor<1xf32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %a = graph.pow %x, %two : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = graph.pow %x, %three : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  %c = graph.pow %a, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----
// What IEEE does not promise stays: x + 0, x * 0, x - x, pow(x, 0.5) of any x.
// CHECK-LABEL: func.func @stays(
// CHECK: graph.add %arg0
// CHECK: graph.mul %arg0
// CHECK: graph.sub %arg0, %arg0
// CHECK: graph.pow %arg0
func.func @stays(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %a = graph.add %x, %zero : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = graph.mul %x, %zero : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c = graph.sub %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = graph.pow %x, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %a, %b, %c, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----
// CHECK-LABEL: func.func @identities(
// CHECK-DAG: %[[Q:.*]] = graph.constant dense<2.500000e-01> : tensor<f32>
// CHECK: %[[D:.*]] = graph.mul %arg0, %[[Q]]
// CHECK: %[[C:.*]] = graph.clamp %arg0 {alpha = 0.000000e+00 : f64, beta = 6.000000e+00 : f64}
// CHECK: %[[B:.*]] = graph.broadcast %arg1
// CHECK: return %arg0, %[[D]], %[[C]], %[[B]]
func.func @identities(%x: tensor<4xf32>, %y: tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %one = graph.constant dense<1.0> : tensor<4xf32>
  %zero = graph.constant dense<0.0> : tensor<f32>
  %minus = graph.constant dense<-0.0> : tensor<f32>
  %four = graph.constant dense<4.0> : tensor<f32>
  %six = graph.constant dense<6.0> : tensor<f32>
  %yes = graph.constant dense<true> : tensor<4xi1>
  %a = graph.mul %one, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = graph.sub %a, %zero : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c = graph.add %minus, %b : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %n = graph.neg %c : (tensor<4xf32>) -> tensor<4xf32>
  %p = graph.neg %n : (tensor<4xf32>) -> tensor<4xf32>
  %d = graph.div %x, %four : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %m = graph.max %zero, %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %l = graph.min %m, %six : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %s = graph.select %yes, %y, %x : (tensor<4xi1>, tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %p, %d, %l, %s : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----
// Casts: through a wider type is direct; through a narrower one, or where saturation becomes wrapping, stays.
// CHECK-LABEL: func.func @casts(
// CHECK-NEXT: graph.cast %arg0 : (tensor<4xf16>) -> tensor<4xf64>
// CHECK-NEXT: %[[N:.*]] = graph.cast %arg1 : (tensor<4xf32>) -> tensor<4xf16>
// CHECK-NEXT: graph.cast %[[N]]
// CHECK-NEXT: %[[I:.*]] = graph.cast %arg2 : (tensor<4xi32>) -> tensor<4xf64>
// CHECK-NEXT: graph.cast %[[I]] : (tensor<4xf64>) -> tensor<4xi8>
func.func @casts(%h: tensor<4xf16>, %f: tensor<4xf32>, %i: tensor<4xi32>) -> (tensor<4xf64>, tensor<4xf32>, tensor<4xi8>) {
  %a = graph.cast %h : (tensor<4xf16>) -> tensor<4xf32>
  %b = graph.cast %a : (tensor<4xf32>) -> tensor<4xf64>
  %c = graph.cast %f : (tensor<4xf32>) -> tensor<4xf16>
  %d = graph.cast %c : (tensor<4xf16>) -> tensor<4xf32>
  %e = graph.cast %i : (tensor<4xi32>) -> tensor<4xf64>
  %g = graph.cast %e : (tensor<4xf64>) -> tensor<4xi8>
  return %b, %d, %g : tensor<4xf64>, tensor<4xf32>, tensor<4xi8>
}

// -----
// CHECK-LABEL: func.func @slices(
// CHECK-NEXT: graph.slice %arg0 from <[3, 1]> step [2, 2] : (tensor<8x8xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: graph.slice %arg0 from <[2, 0]> step [1, 1] : (tensor<8x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: return %{{.*}}, %{{.*}}, %arg1
func.func @slices(%x: tensor<8x8xf32>, %y: tensor<2x8xf32>) -> (tensor<2x2xf32>, tensor<4x8xf32>, tensor<2x8xf32>) {
  %a = graph.slice %x from <[1, 3]> step [1, -1] : (tensor<8x8xf32>) -> tensor<6x3xf32>
  %b = graph.slice %a from <[2, 2]> step [2, -2] : (tensor<6x3xf32>) -> tensor<2x2xf32>
  %c = graph.slice %x from <[2, 0]> step [1, 1] : (tensor<8x8xf32>) -> tensor<3x8xf32>
  %d = graph.slice %x from <[5, 0]> step [1, 1] : (tensor<8x8xf32>) -> tensor<1x8xf32>
  %e = graph.concat %c, %d axis 0 : (tensor<3x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  %f = graph.concat %x, %y axis 0 : (tensor<8x8xf32>, tensor<2x8xf32>) -> tensor<10x8xf32>
  %g = graph.slice %f from <[8, 0]> step [1, 1] : (tensor<10x8xf32>) -> tensor<2x8xf32>
  return %b, %e, %g : tensor<2x2xf32>, tensor<4x8xf32>, tensor<2x8xf32>
}

// -----
// Consumers repeat operands themselves and read transposed ones.
// CHECK-LABEL: func.func @broadcasts(
// CHECK-NEXT: graph.add %arg0, %arg1 : (tensor<2x4xf32>, tensor<4xf32>)
// CHECK-NEXT: graph.matmul %arg2, %arg3 {transpose_rhs} : (tensor<3x2x4xf32>, tensor<1x5x4xf32>)
func.func @broadcasts(%x: tensor<2x4xf32>, %y: tensor<4xf32>, %q: tensor<3x2x4xf32>, %k: tensor<1x5x4xf32>) -> (tensor<2x4xf32>, tensor<3x2x5xf32>) {
  %b = graph.broadcast %y : (tensor<4xf32>) -> tensor<2x4xf32>
  %s = graph.add %x, %b : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %w = graph.broadcast %k : (tensor<1x5x4xf32>) -> tensor<3x5x4xf32>
  %t = graph.transpose %w {perm = array<i64: 0, 2, 1>} : (tensor<3x5x4xf32>) -> tensor<3x4x5xf32>
  %m = graph.matmul %q, %t : (tensor<3x2x4xf32>, tensor<3x4x5xf32>) -> tensor<3x2x5xf32>
  return %s, %m : tensor<2x4xf32>, tensor<3x2x5xf32>
}

// -----
// Constant indices in sequence: a slice, negative ones counted from the end; a scalar drops its dim; others stay.
// CHECK-LABEL: func.func @gathers(
// CHECK-NEXT: %[[I:.*]] = graph.constant
// CHECK-NEXT: graph.slice %arg0 from <[2, 0]> step [1, 1] : (tensor<5x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %[[L:.*]] = graph.slice %arg0 from <[0, 3]> step [1, 1] : (tensor<5x4xf32>) -> tensor<5x1xf32>
// CHECK-NEXT: graph.reshape %[[L]] : (tensor<5x1xf32>) -> tensor<5xf32>
// CHECK-NEXT: graph.gather %arg0, %[[I]]
func.func @gathers(%x: tensor<5x4xf32>) -> (tensor<3x4xf32>, tensor<5xf32>, tensor<3x4xf32>) {
  %i = graph.constant dense<[2, -2, 4]> : tensor<3xi64>
  %j = graph.constant dense<-1> : tensor<i64>
  %k = graph.constant dense<[0, 2, 1]> : tensor<3xi64>
  %a = graph.gather %x, %i : (tensor<5x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  %b = graph.gather %x, %j {axis = 1 : i64} : (tensor<5x4xf32>, tensor<i64>) -> tensor<5xf32>
  %c = graph.gather %x, %k : (tensor<5x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  return %a, %b, %c : tensor<3x4xf32>, tensor<5xf32>, tensor<3x4xf32>
}

// -----
// A scatter of consecutive rows is a concat; of all rows, the updates; of a box, concats around it.
// CHECK-LABEL: func.func @scatters(
// CHECK-DAG: %[[A:.*]] = graph.slice %arg0 from <[0, 0]> step [1, 1] : (tensor<6x4xf32>) -> tensor<2x4xf32>
// CHECK-DAG: %[[B:.*]] = graph.slice %arg0 from <[4, 0]> step [1, 1] : (tensor<6x4xf32>) -> tensor<2x4xf32>
// CHECK: %[[C:.*]] = graph.concat %[[A]], %arg1, %[[B]] axis 0
// CHECK: graph.reshape %arg2 : (tensor<4xf32>) -> tensor<2x2xf32>
// CHECK: graph.concat %{{.*}} axis 1 : {{.*}} -> tensor<2x4xf32>
// CHECK: graph.concat %{{.*}} axis 0 : {{.*}} -> tensor<6x4xf32>
// CHECK: return %[[C]], %arg0,
func.func @scatters(%x: tensor<6x4xf32>, %u: tensor<2x4xf32>, %v: tensor<4xf32>, %z: tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>) {
  %i = graph.constant dense<[[2], [3]]> : tensor<2x1xi64>
  %a = graph.scatter_nd %x, %i, %u {reduction = "none"} : (tensor<6x4xf32>, tensor<2x1xi64>, tensor<2x4xf32>) -> tensor<6x4xf32>
  %j = graph.constant dense<[[0], [1], [2], [3], [4], [5]]> : tensor<6x1xi64>
  %b = graph.scatter_nd %z, %j, %x {reduction = "none"} : (tensor<6x4xf32>, tensor<6x1xi64>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %k = graph.constant dense<[[1, 1], [1, 2], [2, 1], [2, 2]]> : tensor<4x2xi64>
  %c = graph.scatter_nd %x, %k, %v {reduction = "none"} : (tensor<6x4xf32>, tensor<4x2xi64>, tensor<4xf32>) -> tensor<6x4xf32>
  return %a, %b, %c : tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>
}

// -----
// A symbol with one possible value is that value.
// CHECK-LABEL: func.func @sizes(
// CHECK-SAME: tensor<4x?xf32, #graph.dims<[4, m]>>
// CHECK-SAME: symbols = {m = {hi = 8 : i64, lo = 1 : i64}}
func.func @sizes(%x: tensor<?x?xf32, #graph.dims<[n, m]>>) -> tensor<?x?xf32, #graph.dims<[n, m]>> attributes {symbols = {m = {lo = 1 : i64, hi = 8 : i64}, n = {lo = 4 : i64, hi = 4 : i64}}} {
  %r = graph.relu %x : (tensor<?x?xf32, #graph.dims<[n, m]>>) -> tensor<?x?xf32, #graph.dims<[n, m]>>
  return %r : tensor<?x?xf32, #graph.dims<[n, m]>>
}
