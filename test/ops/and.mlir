// graph.and.
// RUN: graphc-op-test %s

// case: bools broadcast
// in: 2x1xbool=[[1][0]]
// in: 2xbool=[1 0]
// out: 2x2xbool=[[1 0][0 0]]
func.func @main(%x: tensor<2x1xi1> {graph.name = "x"}, %y: tensor<2xi1> {graph.name = "y"}) -> (tensor<2x2xi1> {graph.name = "r0"}) {
  %0 = graph.and %x, %y : (tensor<2x1xi1>, tensor<2xi1>) -> tensor<2x2xi1>
  return %0 : tensor<2x2xi1>
}

// -----
// case: broadcasts
// in: 1x2xbool=[[1 0]]
// in: 2x1xbool=[[1][0]]
// out: 2x2xbool=[[1 0][0 0]]
func.func @main(%x: tensor<1x2xi1> {graph.name = "x"}, %y: tensor<2x1xi1> {graph.name = "y"}) -> (tensor<2x2xi1> {graph.name = "r0"}) {
  %0 = graph.and %x, %y : (tensor<1x2xi1>, tensor<2x1xi1>) -> tensor<2x2xi1>
  return %0 : tensor<2x2xi1>
}

// -----
// case: rank 0 and empty
// in: 0xbool=[]
// in: bool=1
// out: 0xbool=[]
func.func @main(%x: tensor<0xi1> {graph.name = "x"}, %y: tensor<i1> {graph.name = "y"}) -> (tensor<0xi1> {graph.name = "r0"}) {
  %0 = graph.and %x, %y : (tensor<0xi1>, tensor<i1>) -> tensor<0xi1>
  return %0 : tensor<0xi1>
}
