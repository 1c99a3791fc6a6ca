// graph.if.
// RUN: graphc-op-test %s

// case: takes the first body when the condition is true
// in: bool=1
// in: 3xf32=[1 -2 nan]
// out: 3xf32=[2 -4 nan]
func.func @main(%c: tensor<i1> {graph.name = "c"}, %x: tensor<3xf32> {graph.name = "x"}) -> (tensor<3xf32> {graph.name = "y"}) {
  %y = graph.if %c {
    %a = graph.add %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    graph.yield %a : tensor<3xf32>
  } else {
    %b = graph.neg %x : (tensor<3xf32>) -> tensor<3xf32>
    graph.yield %b : tensor<3xf32>
  } : (tensor<i1>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----
// case: takes the second body when it is false, and what it gives is used on
// in: bool=0
// in: 3xf32=[1 -2 inf]
// out: 3xf32=[1 4 inf]
func.func @main(%c: tensor<i1> {graph.name = "c"}, %x: tensor<3xf32> {graph.name = "x"}) -> (tensor<3xf32> {graph.name = "y"}) {
  %y = graph.if %c {
    %a = graph.add %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    graph.yield %a : tensor<3xf32>
  } else {
    %b = graph.neg %x : (tensor<3xf32>) -> tensor<3xf32>
    graph.yield %b : tensor<3xf32>
  } : (tensor<i1>) -> tensor<3xf32>
  %z = graph.mul %y, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %z : tensor<3xf32>
}

// -----
// case: yields what it sees around it, twice and in another order; integers and bools; a computed condition
// in: 2xi64=[3 5]
// in: 2xi64=[7 -1]
// out: 2xi64=[7 -1]
// out: 2xi64=[3 5]
// out: 2xi64=[3 5]
// out: 2xbool=[0 1]
func.func @main(%x: tensor<2xi64> {graph.name = "x"}, %y: tensor<2xi64> {graph.name = "y"})
    -> (tensor<2xi64> {graph.name = "a"}, tensor<2xi64> {graph.name = "b"}, tensor<2xi64> {graph.name = "c"}, tensor<2xi1> {graph.name = "d"}) {
  %s = graph.reduce "sum" %x axes [0] : (tensor<2xi64>) -> tensor<i64>
  %t = graph.reduce "sum" %y axes [0] : (tensor<2xi64>) -> tensor<i64>
  %c = graph.less %t, %s : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %r:4 = graph.if %c {
    %l = graph.less %y, %x : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
    graph.yield %y, %x, %x, %l : tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi1>
  } else {
    %e = graph.equal %y, %x : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
    graph.yield %x, %y, %y, %e : tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi1>
  } : (tensor<i1>) -> (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi1>)
  return %r#0, %r#1, %r#2, %r#3 : tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi1>
}

// -----
// case: one if in another; rank 0 and empty
// in: bool=1
// in: bool=0
// in: f64=2.5
// in: 0x2xf64=[]
// out: f64=-2.5
// out: 0x2xf64=[]
func.func @main(%c: tensor<i1> {graph.name = "c"}, %d: tensor<i1> {graph.name = "d"}, %x: tensor<f64> {graph.name = "x"}, %e: tensor<0x2xf64> {graph.name = "e"})
    -> (tensor<f64> {graph.name = "y"}, tensor<0x2xf64> {graph.name = "z"}) {
  %r:2 = graph.if %c {
    %f = graph.neg %e : (tensor<0x2xf64>) -> tensor<0x2xf64>
    %n = graph.if %d {
      graph.yield %x : tensor<f64>
    } else {
      %m = graph.neg %x : (tensor<f64>) -> tensor<f64>
      graph.yield %m : tensor<f64>
    } : (tensor<i1>) -> tensor<f64>
    graph.yield %n, %f : tensor<f64>, tensor<0x2xf64>
  } else {
    graph.yield %x, %e : tensor<f64>, tensor<0x2xf64>
  } : (tensor<i1>) -> (tensor<f64>, tensor<0x2xf64>)
  return %r#0, %r#1 : tensor<f64>, tensor<0x2xf64>
}

// -----
// case: literals, products and reductions in bodies, with symbolic sizes
// in: bool=0
// in: 2x3xf32=[[1 2 3][4 5 6]]
// out: 2x2xf32=[[14 32][32 77]]
func.func @main(%c: tensor<i1> {graph.name = "c"}, %x: tensor<?x3xf32, #graph.dims<[n, 3]>> {graph.name = "x"})
    -> (tensor<?x?xf32, #graph.dims<[n, n]>> {graph.name = "y"}) {
  %y = graph.if %c {
    %two = graph.constant dense<2.0> : tensor<1x1xf32>
    %s = graph.reduce "sum" %x axes [1] keep : (tensor<?x3xf32, #graph.dims<[n, 3]>>) -> tensor<?x1xf32, #graph.dims<[n, 1]>>
    %t = graph.transpose %s {perm = array<i64: 1, 0>} : (tensor<?x1xf32, #graph.dims<[n, 1]>>) -> tensor<1x?xf32, #graph.dims<[1, n]>>
    %u = graph.mul %s, %t : (tensor<?x1xf32, #graph.dims<[n, 1]>>, tensor<1x?xf32, #graph.dims<[1, n]>>) -> tensor<?x?xf32, #graph.dims<[n, n]>>
    %v = graph.mul %u, %two : (tensor<?x?xf32, #graph.dims<[n, n]>>, tensor<1x1xf32>) -> tensor<?x?xf32, #graph.dims<[n, n]>>
    graph.yield %v : tensor<?x?xf32, #graph.dims<[n, n]>>
  } else {
    %m = graph.matmul %x, %x {transpose_rhs} : (tensor<?x3xf32, #graph.dims<[n, 3]>>, tensor<?x3xf32, #graph.dims<[n, 3]>>) -> tensor<?x?xf32, #graph.dims<[n, n]>>
    graph.yield %m : tensor<?x?xf32, #graph.dims<[n, n]>>
  } : (tensor<i1>) -> tensor<?x?xf32, #graph.dims<[n, n]>>
  return %y : tensor<?x?xf32, #graph.dims<[n, n]>>
}
