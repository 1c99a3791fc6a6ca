// What the kernel dialect refuses, and the words it says.
// RUN: graphc-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{has a buffer with dynamic dims and no arg_dims}}
kernel.func @dims(%x: memref<?xf32>) { kernel.parallel () to () {} }

// -----

// expected-error @+1 {{arg_dims of buffer 0 disagrees with its type in dim 0: affine_map<()[s0] -> (s0)> and 4}}
kernel.func @disagree(%x: memref<4xf32>, %n: index) attributes {arg_dims = [affine_map<()[s0] -> (s0)>]} { kernel.parallel () to () {} }

// -----

// expected-error @+1 {{argument 1 is a buffer after a scalar; buffers come first}}
kernel.func @order(%n: index, %x: memref<4xf32>) { kernel.parallel () to () {} }

// -----

// expected-error @+1 {{argument 0 has element type 'ui8'; expected f64 f32 f16 bf16 i64 i32 i16 i8 or i1}}
kernel.func @element(%x: memref<4xui8>) { kernel.parallel () to () {} }

// -----

// expected-error @+1 {{has 0 kernel.parallel; expected exactly one}}
kernel.func @none(%x: memref<4xf32>) {}

// -----

kernel.func @rank(%x: memref<4x4xf32>) {
  kernel.parallel (%i) to (4) {
    // expected-error @+1 {{has 1 indices for a buffer of rank 2}}
    %v = kernel.load %x[%i] : memref<4x4xf32>
  }
}

// -----

kernel.func @lanes(%x: memref<4x4xf32>) {
  kernel.parallel (%i) to (4) lanes 8 {
    // expected-error @+1 {{has lanes inside a pass that has lanes}}
    kernel.map (%j) to (4) lanes 8 {}
  }
}

// -----

kernel.func @power(%x: memref<4x4xf32>) {
  // expected-error @+1 {{lanes must be a power of two above 1, not 12}}
  kernel.parallel (%i) to (4) lanes 12 {}
}

// -----

kernel.func @sizes(%x: memref<4x4xf32>) {
  // expected-error @+1 {{domain names 2 dims but gives 1 sizes}}
  kernel.parallel (%i, %j) to (4) {}
}

// -----

kernel.func @atomic(%x: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  kernel.parallel (%i) to (4) {
    // expected-error @+1 {{atomic addf depends on the order; use ordered, or a sorted form}}
    kernel.store %zero, %x[0] atomic addf : memref<4xf32>
  }
}

// -----

kernel.func @combiner(%x: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  kernel.parallel () to () {
    // expected-error @+1 {{combiner yields (), expected ('f32')}}
    %s = "kernel.reduce"(%zero) ({
    ^bb0(%i: index):
      "kernel.yield"(%zero) : (f32) -> ()
    }, {
    ^bb0(%a: f32, %b: f32):
      "kernel.yield"() : () -> ()
    }) {sizes = affine_map<() -> (4)>, operandSegmentSizes = array<i32: 0, 1>} : (f32) -> f32
  }
}

// -----

kernel.func @fill(%x: memref<4xf32>) {
  %zero = arith.constant 0 : i32
  kernel.parallel (%i) to (4) {
    // expected-error @+1 {{fill value has type 'i32', expected 'f32'}}
    %v = "kernel.load"(%x, %i, %zero) {map = affine_map<(d0) -> (d0)>, operandSegmentSizes = array<i32: 1, 1, 1>} : (memref<4xf32>, index, i32) -> f32
  }
}

// -----

kernel.func @symbol(%x: memref<4xf32>) {
  kernel.parallel (%i) to (4) {
    // expected-error @+1 {{takes a value as a symbol that is neither a scalar of the kernel nor a constant}}
    %v = kernel.load %x[symbol(%i)] : memref<4xf32>
  }
}

// -----

// expected-error @+1 {{has segments: its domain must have one dim, and its strategy be a loop}}
kernel.func @segments(%x: memref<4x4xf32>) attributes {kernel.segments = 2 : i64} {
  %zero = arith.constant 0.0 : f32
  kernel.parallel (%i, %j) to (4, 4) {
    kernel.store %zero, %x[%i, %j] : memref<4x4xf32>
  }
}
