// graph.not, of bools.
// RUN: graphc-op-test %s

// case: values
// in: 2xbool=[1 0]
// out: 2xbool=[0 1]
func.func @main(%x: tensor<2xi1> {graph.name = "x"}) -> (tensor<2xi1> {graph.name = "r0"}) {
  %0 = graph.not %x : (tensor<2xi1>) -> tensor<2xi1>
  return %0 : tensor<2xi1>
}

// -----
// case: rank 0
// in: bool=1
// out: bool=0
func.func @main(%x: tensor<i1> {graph.name = "x"}) -> (tensor<i1> {graph.name = "r0"}) {
  %0 = graph.not %x : (tensor<i1>) -> tensor<i1>
  return %0 : tensor<i1>
}
