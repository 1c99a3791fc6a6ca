// graph.random: numbers drawn by Philox 4x32-10.
// RUN: graphc-op-test %s

// case: bits: the known answer for key 0 and counter 0
// in: i64=0
// in: i64=0
// out: 8xu32=[1713891541 3781805453 3159862348 2600524760 4175744164 1555169499 2980410603 159317863]
func.func @main(%x: tensor<i64> {graph.name = "x"}, %y: tensor<i64> {graph.name = "y"}) -> (tensor<8xui32> {graph.name = "r0"}) {
  %0 = graph.random "bits" %x, %y : (tensor<i64>, tensor<i64>) -> tensor<8xui32>
  return %0 : tensor<8xui32>
}

// -----
// case: bits of a large key and offset, more than one row
// in: i64=2999170649027065890
// in: i64=-8817193942522041720
// out: 2x5xu32=[[3869023281 3047413602 3878928321 874150012 4129802041][303238561 342392037 3307309021 3868084785 3254090775]]
func.func @main(%x: tensor<i64> {graph.name = "x"}, %y: tensor<i64> {graph.name = "y"}) -> (tensor<2x5xui32> {graph.name = "r0"}) {
  %0 = graph.random "bits" %x, %y : (tensor<i64>, tensor<i64>) -> tensor<2x5xui32>
  return %0 : tensor<2x5xui32>
}

// -----
// case: an offset of one block skips four words
// in: i64=0
// in: i64=1
// out: 4xu32=[4175744164 1555169499 2980410603 159317863]
func.func @main(%x: tensor<i64> {graph.name = "x"}, %y: tensor<i64> {graph.name = "y"}) -> (tensor<4xui32> {graph.name = "r0"}) {
  %0 = graph.random "bits" %x, %y : (tensor<i64>, tensor<i64>) -> tensor<4xui32>
  return %0 : tensor<4xui32>
}

// -----
// case: 64 bits
// in: i64=2999170649027065890
// in: i64=5
// out: 3xi64=[-3492304879273653940 -8610607645481148619 -3566868765208302792]
func.func @main(%x: tensor<i64> {graph.name = "x"}, %y: tensor<i64> {graph.name = "y"}) -> (tensor<3xi64> {graph.name = "r0"}) {
  %0 = graph.random "bits" %x, %y : (tensor<i64>, tensor<i64>) -> tensor<3xi64>
  return %0 : tensor<3xi64>
}

// -----
// case: uniform
// in: i64=3
// in: i64=4294967295
// out: 9xf32=[0.905174792 0.644039333 0.560598016 0.899583399 0.418986797 0.746279776 0.380028963 0.63440001 0.759823442]
func.func @main(%x: tensor<i64> {graph.name = "x"}, %y: tensor<i64> {graph.name = "y"}) -> (tensor<9xf32> {graph.name = "r0"}) {
  %0 = graph.random "uniform" %x, %y : (tensor<i64>, tensor<i64>) -> tensor<9xf32>
  return %0 : tensor<9xf32>
}

// -----
// case: uniform in double
// in: i64=3
// in: i64=0
// out: 5xf64=[0.11682556914553388 0.7652306541931001 0.5515331768589615 0.6077212764007002 0.7853496819195139]
func.func @main(%x: tensor<i64> {graph.name = "x"}, %y: tensor<i64> {graph.name = "y"}) -> (tensor<5xf64> {graph.name = "r0"}) {
  %0 = graph.random "uniform" %x, %y : (tensor<i64>, tensor<i64>) -> tensor<5xf64>
  return %0 : tensor<5xf64>
}

// -----
// case: normal
// in: i64=3
// in: i64=0
// out: 7xf32=[0.472554117 0.426344454 0.0877316892 -0.913968384 -1.53800046 -0.516158521 -1.34771323]
// tol: 2e-5 2e-6
func.func @main(%x: tensor<i64> {graph.name = "x"}, %y: tensor<i64> {graph.name = "y"}) -> (tensor<7xf32> {graph.name = "r0"}) {
  %0 = graph.random "normal" %x, %y : (tensor<i64>, tensor<i64>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
}

// -----
// case: normal in double
// in: i64=3
// in: i64=0
// out: 5xf64=[0.1980039192154063 -2.0627508538922443 -0.8504380378873293 -0.6832727953889186 -0.44613753667598766]
// tol: 1e-12 1e-12
func.func @main(%x: tensor<i64> {graph.name = "x"}, %y: tensor<i64> {graph.name = "y"}) -> (tensor<5xf64> {graph.name = "r0"}) {
  %0 = graph.random "normal" %x, %y : (tensor<i64>, tensor<i64>) -> tensor<5xf64>
  return %0 : tensor<5xf64>
}

// -----
// case: empty
// in: i64=3
// in: i64=0
// out: 0x3xf32=[]
func.func @main(%x: tensor<i64> {graph.name = "x"}, %y: tensor<i64> {graph.name = "y"}) -> (tensor<0x3xf32> {graph.name = "r0"}) {
  %0 = graph.random "uniform" %x, %y : (tensor<i64>, tensor<i64>) -> tensor<0x3xf32>
  return %0 : tensor<0x3xf32>
}

// -----
// case: rank 0
// in: i64=0
// in: i64=0
// out: u32=1713891541
func.func @main(%x: tensor<i64> {graph.name = "x"}, %y: tensor<i64> {graph.name = "y"}) -> (tensor<ui32> {graph.name = "r0"}) {
  %0 = graph.random "bits" %x, %y : (tensor<i64>, tensor<i64>) -> tensor<ui32>
  return %0 : tensor<ui32>
}
