// Every op folds on small literals, by its own element formula; the values are compared with the reference interpreter by
// test/unit/passes. What a machine decides (division by zero, an index out of range) is left to it, and so is what is large.
// RUN: graphc-opt --graphc-simplify --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @float_unary(
// CHECK-NOT: graph.{{[^c]}}
func.func @float_unary() -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %x = graph.constant dense<[0.25, 0.5, 1.5, 2.5]> : tensor<4xf32>
  %0 = graph.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.abs %x : (tensor<4xf32>) -> tensor<4xf32>
  %2 = graph.sign %x : (tensor<4xf32>) -> tensor<4xf32>
  %3 = graph.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %4 = graph.expm1 %x : (tensor<4xf32>) -> tensor<4xf32>
  %5 = graph.log %x : (tensor<4xf32>) -> tensor<4xf32>
  %6 = graph.log1p %x : (tensor<4xf32>) -> tensor<4xf32>
  %7 = graph.sqrt %x : (tensor<4xf32>) -> tensor<4xf32>
  %8 = graph.rsqrt %x : (tensor<4xf32>) -> tensor<4xf32>
  %9 = graph.reciprocal %x : (tensor<4xf32>) -> tensor<4xf32>
  %10 = graph.sin %x : (tensor<4xf32>) -> tensor<4xf32>
  %11 = graph.cos %x : (tensor<4xf32>) -> tensor<4xf32>
  %12 = graph.tan %x : (tensor<4xf32>) -> tensor<4xf32>
  %13 = graph.atan %x : (tensor<4xf32>) -> tensor<4xf32>
  %14 = graph.sinh %x : (tensor<4xf32>) -> tensor<4xf32>
  %15 = graph.cosh %x : (tensor<4xf32>) -> tensor<4xf32>
  %16 = graph.asinh %x : (tensor<4xf32>) -> tensor<4xf32>
  %17 = graph.erf %x : (tensor<4xf32>) -> tensor<4xf32>
  %18 = graph.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
  %19 = graph.ceil %x : (tensor<4xf32>) -> tensor<4xf32>
  %20 = graph.floor %x : (tensor<4xf32>) -> tensor<4xf32>
  %21 = graph.round %x : (tensor<4xf32>) -> tensor<4xf32>
  %22 = graph.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %23 = graph.sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
  %24 = graph.silu %x : (tensor<4xf32>) -> tensor<4xf32>
  %25 = graph.softplus %x : (tensor<4xf32>) -> tensor<4xf32>
  %26 = graph.softsign %x : (tensor<4xf32>) -> tensor<4xf32>
  %27 = graph.mish %x : (tensor<4xf32>) -> tensor<4xf32>
  %28 = graph.hard_swish %x : (tensor<4xf32>) -> tensor<4xf32>
  %29 = graph.leaky_relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %30 = graph.elu %x : (tensor<4xf32>) -> tensor<4xf32>
  %31 = graph.celu %x : (tensor<4xf32>) -> tensor<4xf32>
  %32 = graph.thresholded_relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %33 = graph.selu %x : (tensor<4xf32>) -> tensor<4xf32>
  %34 = graph.hard_sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
  %35 = graph.shrink %x : (tensor<4xf32>) -> tensor<4xf32>
  %36 = graph.gelu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @float_negative(
// CHECK-NOT: graph.{{[^c]}}
func.func @float_negative() -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %x = graph.constant dense<[-2.5, -0.75, -0.0, 0.5]> : tensor<4xf32>
  %0 = graph.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.abs %x : (tensor<4xf32>) -> tensor<4xf32>
  %2 = graph.sign %x : (tensor<4xf32>) -> tensor<4xf32>
  %3 = graph.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %4 = graph.expm1 %x : (tensor<4xf32>) -> tensor<4xf32>
  %5 = graph.sin %x : (tensor<4xf32>) -> tensor<4xf32>
  %6 = graph.cos %x : (tensor<4xf32>) -> tensor<4xf32>
  %7 = graph.atan %x : (tensor<4xf32>) -> tensor<4xf32>
  %8 = graph.erf %x : (tensor<4xf32>) -> tensor<4xf32>
  %9 = graph.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
  %10 = graph.ceil %x : (tensor<4xf32>) -> tensor<4xf32>
  %11 = graph.floor %x : (tensor<4xf32>) -> tensor<4xf32>
  %12 = graph.round %x : (tensor<4xf32>) -> tensor<4xf32>
  %13 = graph.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %14 = graph.sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
  %15 = graph.leaky_relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %16 = graph.elu %x : (tensor<4xf32>) -> tensor<4xf32>
  %17 = graph.hard_swish %x : (tensor<4xf32>) -> tensor<4xf32>
  %18 = graph.gelu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @half_unary(
// CHECK-NOT: graph.{{[^c]}}
func.func @half_unary() -> (tensor<4xf16>, tensor<4xf16>, tensor<4xf16>, tensor<4xf16>, tensor<4xf16>) {
  %x = graph.constant dense<[0.25, 0.5, 1.5, 2.5]> : tensor<4xf16>
  %0 = graph.exp %x : (tensor<4xf16>) -> tensor<4xf16>
  %1 = graph.sqrt %x : (tensor<4xf16>) -> tensor<4xf16>
  %2 = graph.tanh %x : (tensor<4xf16>) -> tensor<4xf16>
  %3 = graph.sigmoid %x : (tensor<4xf16>) -> tensor<4xf16>
  %4 = graph.gelu %x : (tensor<4xf16>) -> tensor<4xf16>
  return %0, %1, %2, %3, %4 : tensor<4xf16>, tensor<4xf16>, tensor<4xf16>, tensor<4xf16>, tensor<4xf16>
}

// CHECK-LABEL: func.func @int_unary(
// CHECK-NOT: graph.{{[^c]}}
func.func @int_unary() -> (tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>) {
  %x = graph.constant dense<[-128, -3, 0, 127]> : tensor<4xi8>
  %0 = graph.neg %x : (tensor<4xi8>) -> tensor<4xi8>
  %1 = graph.abs %x : (tensor<4xi8>) -> tensor<4xi8>
  %2 = graph.sign %x : (tensor<4xi8>) -> tensor<4xi8>
  %3 = graph.bitwise_not %x : (tensor<4xi8>) -> tensor<4xi8>
  return %0, %1, %2, %3 : tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>
}

// CHECK-LABEL: func.func @float_binary(
// CHECK-NOT: graph.{{[^c]}}
func.func @float_binary() -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %x = graph.constant dense<[-2.5, 0.75, 3.0, 5.5]> : tensor<4xf32>
  %y = graph.constant dense<[2.0, -0.5, 2.0, 0.25]> : tensor<4xf32>
  %0 = graph.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.sub %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = graph.mul %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = graph.div %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = graph.pow %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = graph.max %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %6 = graph.min %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %7 = graph.mod %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %8 = graph.rem %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %9 = graph.prelu %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @float_compare(
// CHECK-NOT: graph.{{[^c]}}
func.func @float_compare() -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  %x = graph.constant dense<[1.0, 2.0, 0x7FC00000, -1.0]> : tensor<4xf32>
  %y = graph.constant dense<[1.0, 1.0, 0x7FC00000, 3.0]> : tensor<4xf32>
  %0 = graph.equal %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %1 = graph.not_equal %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %2 = graph.less %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %3 = graph.less_equal %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %4 = graph.greater %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %5 = graph.greater_equal %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %0, %1, %2, %3, %4, %5 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}

// CHECK-LABEL: func.func @int_binary(
// CHECK-NOT: graph.{{[^c]}}
func.func @int_binary() -> (tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>) {
  %x = graph.constant dense<[-7, 100, 127, -128]> : tensor<4xi8>
  %y = graph.constant dense<[3, 100, -2, 5]> : tensor<4xi8>
  %0 = graph.add %x, %y : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  %1 = graph.sub %x, %y : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  %2 = graph.mul %x, %y : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  %3 = graph.div %x, %y : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  %4 = graph.max %x, %y : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  %5 = graph.min %x, %y : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  %6 = graph.mod %x, %y : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  %7 = graph.rem %x, %y : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  %8 = graph.bitwise_and %x, %y : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  %9 = graph.bitwise_or %x, %y : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  %10 = graph.bitwise_xor %x, %y : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10 : tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>
}

// CHECK-LABEL: func.func @unsigned_binary(
// CHECK-NOT: graph.{{[^c]}}
func.func @unsigned_binary() -> (tensor<4xui8>, tensor<4xui8>, tensor<4xui8>, tensor<4xui8>, tensor<4xui8>, tensor<4xui8>, tensor<4xui8>, tensor<4xui8>) {
  %x = graph.constant dense<[7, 200, 255, 0]> : tensor<4xui8>
  %y = graph.constant dense<[3, 100, 2, 5]> : tensor<4xui8>
  %0 = graph.add %x, %y : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  %1 = graph.sub %x, %y : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  %2 = graph.mul %x, %y : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  %3 = graph.div %x, %y : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  %4 = graph.max %x, %y : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  %5 = graph.min %x, %y : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  %6 = graph.mod %x, %y : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  %7 = graph.rem %x, %y : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<4xui8>, tensor<4xui8>, tensor<4xui8>, tensor<4xui8>, tensor<4xui8>, tensor<4xui8>, tensor<4xui8>, tensor<4xui8>
}

// CHECK-LABEL: func.func @int_compare(
// CHECK-NOT: graph.{{[^c]}}
func.func @int_compare() -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  %x = graph.constant dense<[7, 200, 255, 0]> : tensor<4xui8>
  %y = graph.constant dense<[3, 200, 2, 5]> : tensor<4xui8>
  %0 = graph.equal %x, %y : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xi1>
  %1 = graph.not_equal %x, %y : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xi1>
  %2 = graph.less %x, %y : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xi1>
  %3 = graph.less_equal %x, %y : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xi1>
  %4 = graph.greater %x, %y : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xi1>
  %5 = graph.greater_equal %x, %y : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xi1>
  return %0, %1, %2, %3, %4, %5 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}

// CHECK-LABEL: func.func @logic(
// CHECK-NOT: graph.{{[^c]}}
func.func @logic() -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  %x = graph.constant dense<[true, true, false, false]> : tensor<4xi1>
  %y = graph.constant dense<[true, false, true, false]> : tensor<4xi1>
  %0 = graph.and %x, %y : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %1 = graph.or %x, %y : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %2 = graph.xor %x, %y : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return %0, %1, %2 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}

// CHECK-LABEL: func.func @moves(
// CHECK-NOT: graph.{{[^c]}}
// CHECK-NOT: graph.c{{(oncat|ast|onv)}}
func.func @moves() -> (tensor<4xi32>, tensor<4xf16>, tensor<2x2xf32>, tensor<3x2xf32>, tensor<2x4xf32>, tensor<4x5xf32>, tensor<2xf32>, tensor<1xf32>, tensor<2xi64>, tensor<2x1xf32>, tensor<2x2xf32>, tensor<5xi64>, tensor<2x3xf32>) {
  %f = graph.constant dense<[-1.5, 0.0, 2.75, 100.0]> : tensor<4xf32>
  %m = graph.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %v = graph.constant dense<[[10.0], [20.0]]> : tensor<2x1xf32>
  %i = graph.constant dense<[[2, 0], [1, -1]]> : tensor<2x2xi64>
  %c = graph.constant dense<[[true, false, true], [false, false, true]]> : tensor<2x3xi1>
  %one = graph.constant dense<-1.0> : tensor<f32>
  %0 = graph.cast %f : (tensor<4xf32>) -> tensor<4xi32>
  %1 = graph.cast %f : (tensor<4xf32>) -> tensor<4xf16>
  %2 = graph.slice %m from <[0, 2]> step [1, -2] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  %3 = graph.transpose %m {perm = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %4 = graph.concat %m, %v axis 1 : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %5 = graph.pad %m low [1, 1] {mode = "reflect"} : (tensor<2x3xf32>) -> tensor<4x5xf32>
  %6 = graph.reduce "sum" %m axes [1] : (tensor<2x3xf32>) -> tensor<2xf32>
  %7 = graph.reduce "max" %f axes [0] keep : (tensor<4xf32>) -> tensor<1xf32>
  %8 = graph.arg_reduce "max" %m axis 1 : (tensor<2x3xf32>) -> tensor<2xi64>
  %9 = graph.matmul %m, %3 : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %10 = graph.gather_elements %m, %i {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x2xi64>) -> tensor<2x2xf32>
  %11 = graph.iota 0 {start = 3.0 : f64, step = 2.0 : f64} : tensor<5xi64>
  %12 = graph.select %c, %m, %one : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %13 = graph.slice %9 from <[0, 1]> step [1, 1] : (tensor<2x2xf32>) -> tensor<2x1xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %13, %10, %11, %12 : tensor<4xi32>, tensor<4xf16>, tensor<2x2xf32>, tensor<3x2xf32>, tensor<2x4xf32>, tensor<4x5xf32>, tensor<2xf32>, tensor<1xf32>, tensor<2xi64>, tensor<2x1xf32>, tensor<2x2xf32>, tensor<5xi64>, tensor<2x3xf32>
}

// CHECK-LABEL: func.func @left_to_the_machine(
// CHECK: graph.div
// CHECK: graph.cast
// CHECK: graph.iota
func.func @left_to_the_machine() -> (tensor<2xi32>, tensor<2xi8>, tensor<2000xf32>) {
  %a = graph.constant dense<[5, 6]> : tensor<2xi32>
  %z = graph.constant dense<[0, 2]> : tensor<2xi32>
  %b = graph.constant dense<[300.0, 1.0]> : tensor<2xf32>
  %0 = graph.div %a, %z : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  %1 = graph.cast %b : (tensor<2xf32>) -> tensor<2xi8>
  %2 = graph.iota 0 : tensor<2000xf32>
  return %0, %1, %2 : tensor<2xi32>, tensor<2xi8>, tensor<2000xf32>
}
