// graph.while.
// RUN: graphc-op-test %s

// case: Collatz steps of 6: 6 3 10 5 16 8 4 2 1
// in: i64=6
// out: i64=8
// out: i64=1
func.func @main(%n: tensor<i64> {graph.name = "n"}) -> (tensor<i64> {graph.name = "steps"}, tensor<i64> {graph.name = "last"}) {
  %zero = graph.constant dense<0> : tensor<i64>
  %one = graph.constant dense<1> : tensor<i64>
  %two = graph.constant dense<2> : tensor<i64>
  %three = graph.constant dense<3> : tensor<i64>
  %c = graph.less %one, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %r:3 = graph.while (%c, %zero, %n) {
  ^bb0(%go: tensor<i1>, %steps: tensor<i64>, %v: tensor<i64>):
    %half = graph.div %v, %two : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %twice = graph.mul %half, %two : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %even = graph.equal %twice, %v : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %m = graph.mul %v, %three : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %odd = graph.add %m, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %next = graph.select %even, %half, %odd : (tensor<i1>, tensor<i64>, tensor<i64>) -> tensor<i64>
    %more = graph.less %one, %next : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %count = graph.add %steps, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    graph.yield %more, %count, %next : tensor<i1>, tensor<i64>, tensor<i64>
  } : (tensor<i1>, tensor<i64>, tensor<i64>) -> (tensor<i1>, tensor<i64>, tensor<i64>)
  return %r#1, %r#2 : tensor<i64>, tensor<i64>
}

// -----
// case: a condition that is false at the start gives the operands
// in: bool=0
// in: 2xf32=[1 nan]
// out: 2xf32=[1 nan]
// out: bool=0
func.func @main(%c: tensor<i1> {graph.name = "c"}, %x: tensor<2xf32> {graph.name = "x"}) -> (tensor<2xf32> {graph.name = "y"}, tensor<i1> {graph.name = "d"}) {
  %r:2 = graph.while (%c, %x) {
  ^bb0(%go: tensor<i1>, %v: tensor<2xf32>):
    %w = graph.add %v, %v : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    graph.yield %go, %w : tensor<i1>, tensor<2xf32>
  } : (tensor<i1>, tensor<2xf32>) -> (tensor<i1>, tensor<2xf32>)
  return %r#1, %r#0 : tensor<2xf32>, tensor<i1>
}

// -----
// case: max ends a loop whose condition stays true; two carried values change places
// in: bool=1
// in: 2xf32=[1 2]
// in: 2xf32=[10 20]
// out: 2xf32=[10 20]
// out: 2xf32=[1 2]
// out: bool=1
func.func @main(%c: tensor<i1> {graph.name = "c"}, %x: tensor<2xf32> {graph.name = "x"}, %y: tensor<2xf32> {graph.name = "y"})
    -> (tensor<2xf32> {graph.name = "a"}, tensor<2xf32> {graph.name = "b"}, tensor<i1> {graph.name = "d"}) {
  %r:3 = graph.while (%c, %x, %y) max 3 {
  ^bb0(%go: tensor<i1>, %v: tensor<2xf32>, %w: tensor<2xf32>):
    graph.yield %go, %w, %v : tensor<i1>, tensor<2xf32>, tensor<2xf32>
  } : (tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> (tensor<i1>, tensor<2xf32>, tensor<2xf32>)
  return %r#1, %r#2, %r#0 : tensor<2xf32>, tensor<2xf32>, tensor<i1>
}

// -----
// case: what the body reads from outside stays as it is; a value used before and after its update
// in: 2xf32=[1 2]
// in: 2x2xf32=[[1 1][0 1]]
// out: 1x2xf32=[[1 5]]
// out: 1x2xf32=[[1 4]]
// out: 2x2xf32=[[2 2][0 2]]
func.func @main(%x: tensor<2xf32> {graph.name = "x"}, %m: tensor<2x2xf32> {graph.name = "m"})
    -> (tensor<1x2xf32> {graph.name = "a"}, tensor<1x2xf32> {graph.name = "b"}, tensor<2x2xf32> {graph.name = "c"}) {
  %zero = graph.constant dense<0> : tensor<i64>
  %one = graph.constant dense<1> : tensor<i64>
  %three = graph.constant dense<3> : tensor<i64>
  %true = graph.constant dense<true> : tensor<i1>
  %row = graph.reshape %x : (tensor<2xf32>) -> tensor<1x2xf32>
  %none = graph.constant dense<0.0> : tensor<1x2xf32>
  %r:4 = graph.while (%true, %zero, %row, %none) {
  ^bb0(%go: tensor<i1>, %i: tensor<i64>, %v: tensor<1x2xf32>, %before: tensor<1x2xf32>):
    %w = graph.matmul %v, %m : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
    %j = graph.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %more = graph.less %j, %three : (tensor<i64>, tensor<i64>) -> tensor<i1>
    graph.yield %more, %j, %w, %v : tensor<i1>, tensor<i64>, tensor<1x2xf32>, tensor<1x2xf32>
  } : (tensor<i1>, tensor<i64>, tensor<1x2xf32>, tensor<1x2xf32>) -> (tensor<i1>, tensor<i64>, tensor<1x2xf32>, tensor<1x2xf32>)
  %d = graph.add %m, %m : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %r#2, %r#3, %d : tensor<1x2xf32>, tensor<1x2xf32>, tensor<2x2xf32>
}

// -----
// case: a loop in a loop: n + (n-1) + … + 1 by counting
// in: i64=4
// out: i64=10
func.func @main(%n: tensor<i64> {graph.name = "n"}) -> (tensor<i64> {graph.name = "sum"}) {
  %zero = graph.constant dense<0> : tensor<i64>
  %one = graph.constant dense<1> : tensor<i64>
  %c = graph.less %zero, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %r:3 = graph.while (%c, %n, %zero) {
  ^bb0(%go: tensor<i1>, %i: tensor<i64>, %sum: tensor<i64>):
    %s:3 = graph.while (%go, %i, %sum) {
    ^bb0(%more: tensor<i1>, %j: tensor<i64>, %t: tensor<i64>):
      %u = graph.add %t, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
      %k = graph.sub %j, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
      %left = graph.less %zero, %k : (tensor<i64>, tensor<i64>) -> tensor<i1>
      graph.yield %left, %k, %u : tensor<i1>, tensor<i64>, tensor<i64>
    } : (tensor<i1>, tensor<i64>, tensor<i64>) -> (tensor<i1>, tensor<i64>, tensor<i64>)
    %next = graph.sub %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %again = graph.less %zero, %next : (tensor<i64>, tensor<i64>) -> tensor<i1>
    graph.yield %again, %next, %s#2 : tensor<i1>, tensor<i64>, tensor<i64>
  } : (tensor<i1>, tensor<i64>, tensor<i64>) -> (tensor<i1>, tensor<i64>, tensor<i64>)
  return %r#2 : tensor<i64>
}
