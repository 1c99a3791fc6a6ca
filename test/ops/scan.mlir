// graph.scan.
// RUN: graphc-op-test %s

// case: sums so far
// in: 2xf32=[0 10]
// in: 3x2xf32=[[1 2][3 4][nan inf]]
// out: 2xf32=[nan inf]
// out: 3x2xf32=[[1 12][4 16][nan inf]]
func.func @main(%s: tensor<2xf32> {graph.name = "s"}, %xs: tensor<3x2xf32> {graph.name = "xs"})
    -> (tensor<2xf32> {graph.name = "last"}, tensor<3x2xf32> {graph.name = "all"}) {
  %r:2 = graph.scan <[3]> carry(%s) over(%xs) {
  ^bb0(%sum: tensor<2xf32>, %x: tensor<2xf32>):
    %next = graph.add %sum, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    graph.yield %next, %next : tensor<2xf32>, tensor<2xf32>
  } : (tensor<2xf32>, tensor<3x2xf32>) -> (tensor<2xf32>, tensor<3x2xf32>)
  return %r#0, %r#1 : tensor<2xf32>, tensor<3x2xf32>
}

// -----
// case: reverse visits the last slice first and writes slices where it reads them; integers
// in: i64=0
// in: 4xi64=[1 2 3 4]
// out: i64=10
// out: 4xi64=[10 9 7 4]
// out: 4xi64=[9 7 4 0]
func.func @main(%s: tensor<i64> {graph.name = "s"}, %xs: tensor<4xi64> {graph.name = "xs"})
    -> (tensor<i64> {graph.name = "last"}, tensor<4xi64> {graph.name = "all"}, tensor<4xi64> {graph.name = "before"}) {
  %r:3 = graph.scan <[4]> reverse carry(%s) over(%xs) {
  ^bb0(%sum: tensor<i64>, %x: tensor<i64>):
    %next = graph.add %sum, %x : (tensor<i64>, tensor<i64>) -> tensor<i64>
    graph.yield %next, %next, %sum : tensor<i64>, tensor<i64>, tensor<i64>
  } : (tensor<i64>, tensor<4xi64>) -> (tensor<i64>, tensor<4xi64>, tensor<4xi64>)
  return %r#0, %r#1, %r#2 : tensor<i64>, tensor<4xi64>, tensor<4xi64>
}

// -----
// case: a symbolic number of iterations; several scanned operands; nothing carried
// in: 2x2xf32=[[1 2][3 4]]
// in: 2xf32=[10 100]
// out: 2x2xf32=[[10 20][300 400]]
func.func @main(%xs: tensor<?x2xf32, #graph.dims<[n, 2]>> {graph.name = "xs"}, %ks: tensor<?xf32, #graph.dims<[n]>> {graph.name = "ks"})
    -> (tensor<?x2xf32, #graph.dims<[n, 2]>> {graph.name = "ys"}) {
  %r = graph.scan <[n]> carry() over(%xs, %ks) {
  ^bb0(%x: tensor<2xf32>, %k: tensor<f32>):
    %y = graph.mul %x, %k : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
    graph.yield %y : tensor<2xf32>
  } : (tensor<?x2xf32, #graph.dims<[n, 2]>>, tensor<?xf32, #graph.dims<[n]>>) -> (tensor<?x2xf32, #graph.dims<[n, 2]>>)
  return %r : tensor<?x2xf32, #graph.dims<[n, 2]>>
}

// -----
// case: no iteration gives the operands and empty stacks
// in: 2xf32=[1 2]
// in: 0x2xf32=[]
// out: 2xf32=[1 2]
// out: 0x2xf32=[]
func.func @main(%s: tensor<2xf32> {graph.name = "s"}, %xs: tensor<?x2xf32, #graph.dims<[n, 2]>> {graph.name = "xs"})
    -> (tensor<2xf32> {graph.name = "last"}, tensor<?x2xf32, #graph.dims<[n, 2]>> {graph.name = "all"}) {
  %r:2 = graph.scan <[n]> carry(%s) over(%xs) {
  ^bb0(%sum: tensor<2xf32>, %x: tensor<2xf32>):
    %next = graph.add %sum, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    graph.yield %next, %next : tensor<2xf32>, tensor<2xf32>
  } : (tensor<2xf32>, tensor<?x2xf32, #graph.dims<[n, 2]>>) -> (tensor<2xf32>, tensor<?x2xf32, #graph.dims<[n, 2]>>)
  return %r#0, %r#1 : tensor<2xf32>, tensor<?x2xf32, #graph.dims<[n, 2]>>
}

// -----
// case: Fibonacci: carried values change places; slices that come from outside
// in: 5xi64=[0 0 0 0 1]
// out: 5xi64=[0 1 1 2 4]
// out: i64=9
// out: i64=5
// out: 5xi64=[7 7 7 7 7]
func.func @main(%xs: tensor<5xi64> {graph.name = "xs"})
    -> (tensor<5xi64> {graph.name = "all"}, tensor<i64> {graph.name = "b"}, tensor<i64> {graph.name = "a"}, tensor<5xi64> {graph.name = "seven"}) {
  %zero = graph.constant dense<0> : tensor<i64>
  %one = graph.constant dense<1> : tensor<i64>
  %seven = graph.constant dense<7> : tensor<i64>
  %r:4 = graph.scan <[5]> carry(%zero, %one) over(%xs) {
  ^bb0(%a: tensor<i64>, %b: tensor<i64>, %x: tensor<i64>):
    %ax = graph.add %a, %x : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %next = graph.add %ax, %b : (tensor<i64>, tensor<i64>) -> tensor<i64>
    graph.yield %b, %next, %ax, %seven : tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>
  } : (tensor<i64>, tensor<i64>, tensor<5xi64>) -> (tensor<i64>, tensor<i64>, tensor<5xi64>, tensor<5xi64>)
  return %r#2, %r#1, %r#0, %r#3 : tensor<5xi64>, tensor<i64>, tensor<i64>, tensor<5xi64>
}

// -----
// case: a recurrent layer: products, a weight from outside, tanh
// in: 2x1x2xf32=[[[1 0]][[0 1]]]
// in: 1x2xf32=[[0 0]]
// in: 2x2xf32=[[0.5 0][0 0.5]]
// out: 2x1x2xf32=[[[0.76159416 0]][[0.36339948 0.76159416]]]
// tol: 1e-6 1e-6
func.func @main(%xs: tensor<2x1x2xf32> {graph.name = "xs"}, %h: tensor<1x2xf32> {graph.name = "h"}, %w: tensor<2x2xf32> {graph.name = "w"})
    -> (tensor<2x1x2xf32> {graph.name = "hs"}) {
  %r:2 = graph.scan <[2]> carry(%h) over(%xs) {
  ^bb0(%hidden: tensor<1x2xf32>, %x: tensor<1x2xf32>):
    %p = graph.matmul %hidden, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
    %s = graph.add %p, %x : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    %t = graph.tanh %s : (tensor<1x2xf32>) -> tensor<1x2xf32>
    graph.yield %t, %t : tensor<1x2xf32>, tensor<1x2xf32>
  } : (tensor<1x2xf32>, tensor<2x1x2xf32>) -> (tensor<1x2xf32>, tensor<2x1x2xf32>)
  return %r#1 : tensor<2x1x2xf32>
}

// -----
// case: a scan in a scan: sums over both dims
// in: 2x3xf32=[[1 2 3][4 5 6]]
// out: f32=21
// out: 2x3xf32=[[1 3 6][10 15 21]]
func.func @main(%xs: tensor<2x3xf32> {graph.name = "xs"}) -> (tensor<f32> {graph.name = "sum"}, tensor<2x3xf32> {graph.name = "all"}) {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %r:2 = graph.scan <[2]> carry(%zero) over(%xs) {
  ^bb0(%sum: tensor<f32>, %row: tensor<3xf32>):
    %s:2 = graph.scan <[3]> carry(%sum) over(%row) {
    ^bb0(%t: tensor<f32>, %x: tensor<f32>):
      %u = graph.add %t, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
      graph.yield %u, %u : tensor<f32>, tensor<f32>
    } : (tensor<f32>, tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>)
    graph.yield %s#0, %s#1 : tensor<f32>, tensor<3xf32>
  } : (tensor<f32>, tensor<2x3xf32>) -> (tensor<f32>, tensor<2x3xf32>)
  return %r#0, %r#1 : tensor<f32>, tensor<2x3xf32>
}
