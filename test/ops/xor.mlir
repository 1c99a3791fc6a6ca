// graph.xor.
// RUN: graphc-op-test %s

// case: bools broadcast
// in: 2x1xbool=[[1][0]]
// in: 2xbool=[1 0]
// out: 2x2xbool=[[0 1][1 0]]
func.func @main(%x: tensor<2x1xi1> {graph.name = "x"}, %y: tensor<2xi1> {graph.name = "y"}) -> (tensor<2x2xi1> {graph.name = "r0"}) {
  %0 = graph.xor %x, %y : (tensor<2x1xi1>, tensor<2xi1>) -> tensor<2x2xi1>
  return %0 : tensor<2x2xi1>
}
