// A compiled model serves several clients at once; the answers do not depend on how many there are.
// RUN: graphc compile %s -o %t.gcx
// RUN: inference_service %t.gcx --clients 1 --requests 12 | FileCheck %s
// RUN: inference_service %t.gcx --clients 1 --requests 12 | tail -1 > %t.one
// RUN: inference_service %t.gcx --clients 3 --requests 12 | tail -1 > %t.three
// RUN: diff %t.one %t.three
// RUN: %exits 1 inference_service %t.nowhere.gcx 2>&1 | FileCheck %s --check-prefix=NOWHERE
// RUN: %exits 2 inference_service 2>&1 | FileCheck %s --check-prefix=USAGE
// CHECK: 12 requests by 1 clients: median {{[0-9.]+}} µs, 99 % within {{[0-9.]+}} µs
// CHECK: answers add up to {{-?[0-9]+\.[0-9][0-9]}}
// NOWHERE: inference_service: error GC
// USAGE: usage: inference_service MODEL.gcx
func.func @main(%x: tensor<?x4xf32, #graph.dims<[n, 4]>> {graph.name = "x"}) -> (tensor<?xf32, #graph.dims<[n]>> {graph.name = "y"}) {
  %e = graph.exp %x : (tensor<?x4xf32, #graph.dims<[n, 4]>>) -> tensor<?x4xf32, #graph.dims<[n, 4]>>
  %s = graph.reduce "sum" %e axes [1] : (tensor<?x4xf32, #graph.dims<[n, 4]>>) -> tensor<?xf32, #graph.dims<[n]>>
  return %s : tensor<?xf32, #graph.dims<[n]>>
}
