// Mixed precision by op class: products in bf16, softmax in f32, the rest in what its operands are; results keep their types.
// RUN: graphc-opt --graphc-autocast --split-input-file %s | FileCheck %s
// RUN: graphc-opt --graphc-autocast --graphc-autocast --split-input-file %s | FileCheck %s
// RUN: graphc-opt --graphc-autocast=dtype=bf16 --split-input-file %s | FileCheck %s --check-prefix=WHOLE

// The weight and the bias are cast once; the addition follows the product; softmax sees f32; the result stays f32.
// CHECK-LABEL: func.func @classes(
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf32>, %[[M:.*]]: tensor<2x4xf32>)
// CHECK-DAG: %[[XL:.*]] = graph.cast %[[X]] : {{.*}} -> tensor<2x3xbf16>
// CHECK-DAG: %[[WL:.*]] = graph.cast {{.*}} -> tensor<3x4xbf16>
// CHECK-DAG: %[[BL:.*]] = graph.cast {{.*}} -> tensor<4xbf16>
// CHECK: %[[P:.*]] = graph.matmul %[[XL]], %[[WL]] : {{.*}} -> tensor<2x4xbf16>
// CHECK: %[[A:.*]] = graph.add %[[P]], %[[BL]] : {{.*}} -> tensor<2x4xbf16>
// CHECK: %[[AF:.*]] = graph.cast %[[A]] : {{.*}} -> tensor<2x4xf32>
// CHECK: %[[S:.*]] = graph.softmax %[[AF]] {{.*}} -> tensor<2x4xf32>
// CHECK: %[[R:.*]] = graph.add %[[S]], %[[M]] : {{.*}} -> tensor<2x4xf32>
// CHECK: return %[[R]], %[[AF]] : tensor<2x4xf32>, tensor<2x4xf32>
graph.weight @w : tensor<3x4xf32> "w.bin" at 0 bytes 48
graph.weight @b : tensor<4xf32> "w.bin" at 48 bytes 16
func.func @classes(%x: tensor<2x3xf32>, %m: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) attributes {graph.autocast = bf16} {
  %w = graph.get_weight @w : tensor<3x4xf32>
  %b = graph.get_weight @b : tensor<4xf32>
  %p = graph.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %a = graph.add %p, %b : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %s = graph.softmax %a {axis = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %r = graph.add %s, %m : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r, %a : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// A literal that bf16 cannot hold keeps its reader in f32, and attention keeps its mask.
// CHECK-LABEL: func.func @masks(
// CHECK: %[[A:.*]] = graph.attention {{.*}} : (tensor<1x2x4xbf16>, tensor<1x2x4xbf16>, tensor<1x2x4xbf16>, tensor<2x2xf32>) -> tensor<1x2x4xbf16>
// CHECK: graph.select {{.*}} -> tensor<1x2x4xf32>
func.func @masks(%q: tensor<1x2x4xf32>, %mask: tensor<2x2xf32>, %keep: tensor<1x2x4xi1>) -> tensor<1x2x4xf32> attributes {graph.autocast = bf16} {
  %lowest = graph.constant dense<-3.40282347E+38> : tensor<f32>
  %a = graph.attention %q, %q, %q, %mask {scale = 1.0} : (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<2x2xf32>) -> tensor<1x2x4xf32>
  %r = graph.select %keep, %a, %lowest : (tensor<1x2x4xi1>, tensor<1x2x4xf32>, tensor<f32>) -> tensor<1x2x4xf32>
  return %r : tensor<1x2x4xf32>
}

// -----

// Doubles, integers and what weights alone decide are left as they are.
// CHECK-LABEL: func.func @untouched(
// CHECK-NOT: xbf16
// CHECK: return
func.func @untouched(%x: tensor<2x2xf64>, %i: tensor<2x2xi32>) -> (tensor<2x2xf64>, tensor<2x2xi32>, tensor<2xf32>) attributes {graph.autocast = bf16} {
  %c = graph.constant dense<2.0> : tensor<2xf32>
  %p = graph.matmul %x, %x : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
  %q = graph.add %i, %i : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  %r = graph.mul %c, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %p, %q, %r : tensor<2x2xf64>, tensor<2x2xi32>, tensor<2xf32>
}

// -----

// Outside of a region nothing happens; with a dtype for the whole module it does, except where a function says no.
// CHECK-LABEL: func.func @outside(
// CHECK-NOT: xbf16
// CHECK: return
// WHOLE-LABEL: func.func @outside(
// WHOLE: graph.matmul {{.*}} -> tensor<2x2xbf16>
func.func @outside(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %p = graph.matmul %x, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %p : tensor<2x2xf32>
}
// WHOLE-LABEL: func.func @refuses(
// WHOLE: graph.matmul {{.*}} -> tensor<2x2xf32>
func.func @refuses(%x: tensor<2x2xf32>) -> tensor<2x2xf32> attributes {graph.autocast} {
  %p = graph.matmul %x, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %p : tensor<2x2xf32>
}
