//===- KernelOps.td - functions, passes and memory of the `kernel` dialect ===//
#ifndef GRAPHC_IR_KERNEL_OPS_TD
#define GRAPHC_IR_KERNEL_OPS_TD

include "ir/kernel/KernelDialect.td"
include "mlir/Dialect/Arith/IR/ArithBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Interfaces
//===----------------------------------------------------------------------===//

def LoopOpInterface : OpInterface<"LoopOp"> {
  let cppNamespace = "::graphc::kernel";
  let description = "an op that runs its body over a rectangular domain: parallel, map, reduce, scan";
  let methods = [
    InterfaceMethod<"sizes of the domain, one result per dim", "::mlir::AffineMap", "getSizeMap", (ins), [{
      return $_op.getSizes();
    }]>,
    InterfaceMethod<"operands of the size map", "::mlir::OperandRange", "getSizeMapOperands", (ins), [{
      return $_op.getSizeOperands();
    }]>,
    InterfaceMethod<"replaces the domain; the caller adapts the body's arguments", "void", "setSizeMap",
      (ins "::mlir::AffineMap":$map, "::mlir::ValueRange":$operands), [{
      $_op.setSizes(map);
      $_op.getSizeOperandsMutable().assign(operands);
    }]>,
    InterfaceMethod<"block that runs once per point", "::mlir::Block *", "getLoopBody", (ins), [{
      return &$_op.getBody().front();
    }]>,
    InterfaceMethod<"induction variables, outermost first", "::mlir::Block::BlockArgListType", "getIvs", (ins), [{
      return $_op.getBody().front().getArguments().take_front($_op.getSizes().getNumResults());
    }]>,
    InterfaceMethod<"lanes along the last dim; 0 when the pass runs point by point", "int64_t", "getLaneCount", (ins), [{
      auto lanes = $_op->template getAttrOfType<::mlir::IntegerAttr>("lanes");
      return lanes ? lanes.getInt() : 0;
    }]>,
    InterfaceMethod<"sets or clears (0) the lanes", "void", "setLaneCount", (ins "int64_t":$lanes), [{
      if (lanes)
        $_op->setAttr("lanes", ::mlir::Builder($_op->getContext()).getI64IntegerAttr(lanes));
      else
        $_op->removeAttr("lanes");
    }]>
  ];
}

def AccessOpInterface : OpInterface<"AccessOp"> {
  let cppNamespace = "::graphc::kernel";
  let description = "an op that reads or writes one element of a buffer through an index map";
  let methods = [
    InterfaceMethod<"buffer, an argument of the kernel", "::mlir::Value", "getAccessBuffer", (ins), [{ return $_op.getBuffer(); }]>,
    InterfaceMethod<"one result per dim of the buffer", "::mlir::AffineMap", "getIndexMap", (ins), [{ return $_op.getMap(); }]>,
    InterfaceMethod<"operands of the index map", "::mlir::OperandRange", "getIndexOperands", (ins), [{ return $_op.getIndices(); }]>,
    InterfaceMethod<"replaces the index", "void", "setIndex",
      (ins "::mlir::AffineMap":$map, "::mlir::ValueRange":$operands), [{
      $_op.setMap(map);
      $_op.getIndicesMutable().assign(operands);
    }]>
  ];
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

class Kernel_Op<string mnemonic, list<Trait> traits = []> : Op<KernelDialect, mnemonic, traits>;

def FuncOp : Kernel_Op<"func", [IsolatedFromAbove, FunctionOpInterface, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "one kernel";
  let description = [{
    Arguments are buffers (dense row-major memrefs of f64 f32 f16 bf16 i64 i32 i16 i8 i1; i1 is a byte 0 or 1; integers are
    signless, the ops of the body say what they mean) followed by scalars (`index`). `arg_dims` gives, per buffer, its
    dims as a map `()[s0, s1, …] -> (…)` over the scalars in order; it may be left out when every buffer is static.

    The body is any number of side-effect-free ops followed by exactly one `kernel.parallel`.

    ABI on a CPU: `void k(void* const* buffers, const int64_t* scalars, KernelContext*, int64_t begin, int64_t end)`;
    [begin, end) counts units of the outer domain, `getRangeMap` gives their number.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<AffineMapArrayAttr>:$arg_dims, OptionalAttr<ScheduleAttr>:$schedule,
                       OptionalAttr<StrArrayAttr>:$sources, OptionalAttr<StrAttr>:$sym_visibility,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let skipDefaultBuilders = 1;
  let builders = [
    // Creates the entry block. `argDims` has one map per buffer, or is empty when all buffers are static.
    OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::TypeRange":$bufferTypes, "unsigned":$numScalars,
                   CArg<"::llvm::ArrayRef<::mlir::AffineMap>", "{}">:$argDims)>
  ];
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }

    unsigned getNumBuffers();
    unsigned getNumScalars() { return getNumArguments() - getNumBuffers(); }
    ::mlir::Block::BlockArgListType getBuffers() { return getArguments().take_front(getNumBuffers()); }
    ::mlir::Block::BlockArgListType getScalars() { return getArguments().drop_front(getNumBuffers()); }

    /// Dims of buffer `index` as a map `()[scalars] -> (dims)`.
    ::mlir::AffineMap getBufferDims(unsigned index);

    /// The outer domain.
    ParallelOp getParallel();

    /// Number of units the outer range has, a map `()[scalars] -> (units)`. It depends on the schedule: ask
    /// after scheduling.
    ::mlir::AffineMap getRangeMap();

    ScheduleAttr getScheduleOrDefault();
  }];
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let hasVerifier = 1;
}

def YieldOp : Kernel_Op<"yield", [Pure, Terminator]> {
  let summary = "ends a body; hands out the values of a reduction, a combiner or a scan";
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

//===----------------------------------------------------------------------===//
// Passes over a domain
//===----------------------------------------------------------------------===//

class Kernel_Loop<string mnemonic, list<Trait> traits = []>
    : Kernel_Op<mnemonic, [RecursiveMemoryEffects, DeclareOpInterfaceMethods<LoopOpInterface>,
                           DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>] # traits>;

def ParallelOp : Kernel_Loop<"parallel", [SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "the outer domain of a kernel, cut into ranges by whoever runs it";
  let description = [{
    ```mlir
    kernel.parallel (%i, %j) to (symbol(%n), 1024) { … }
    ```
    Sizes are affine over the kernel's scalars. The domain may have no dim (one unit). With `lanes`, vectors run along the
    last dim.
  }];
  let arguments = (ins AffineMapAttr:$sizes, Variadic<Index>:$sizeOperands, OptionalAttr<I64Attr>:$lanes);
  let regions = (region SizedRegion<1>:$body);
  let skipDefaultBuilders = 1;
  let builders = [
    OpBuilder<(ins "::mlir::AffineMap":$sizes, "::mlir::ValueRange":$operands,
                   CArg<"::llvm::function_ref<void(::mlir::OpBuilder &, ::mlir::Location, ::mlir::ValueRange)>", "nullptr">:$body)>
  ];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def MapOp : Kernel_Loop<"map", [SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "independent iterations over an inner domain";
  let description = [{
    ```mlir
    kernel.map (%c) to (1024) lanes 16 { … }
    ```
  }];
  let arguments = (ins AffineMapAttr:$sizes, Variadic<Index>:$sizeOperands, OptionalAttr<I64Attr>:$lanes);
  let regions = (region SizedRegion<1>:$body);
  let skipDefaultBuilders = 1;
  let builders = [
    OpBuilder<(ins "::mlir::AffineMap":$sizes, "::mlir::ValueRange":$operands,
                   CArg<"::llvm::function_ref<void(::mlir::OpBuilder &, ::mlir::Location, ::mlir::ValueRange)>", "nullptr">:$body)>
  ];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def ReduceOp : Kernel_Loop<"reduce", [AttrSizedOperandSegments]> {
  let summary = "n-ary reduction over an inner domain";
  let description = [{
    ```mlir
    %best, %at = kernel.reduce (%k) to (1000) init (%lowest, %none : f32, i64) {
      …
      kernel.yield %x, %k64 : f32, i64
    } combine (%a, %ai, %b, %bi) {
      …
      kernel.yield %max, %index : f32, i64
    }
    ```
    The results are all the bodies' values joined by the combiner in an order the target chooses (the same for every
    run and every number of threads); `init` must be the combiner's identity and is the result of an empty domain.
  }];
  let arguments = (ins AffineMapAttr:$sizes, Variadic<Index>:$sizeOperands, Variadic<AnyType>:$inits,
                       OptionalAttr<I64Attr>:$lanes);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body, SizedRegion<1>:$combiner);
  let skipDefaultBuilders = 1;
  let builders = [
    OpBuilder<(ins "::mlir::AffineMap":$sizes, "::mlir::ValueRange":$operands, "::mlir::ValueRange":$inits,
                   "::llvm::function_ref<::llvm::SmallVector<::mlir::Value>(::mlir::OpBuilder &, ::mlir::Location, ::mlir::ValueRange)>":$body,
                   "::llvm::function_ref<::llvm::SmallVector<::mlir::Value>(::mlir::OpBuilder &, ::mlir::Location, ::mlir::ValueRange, ::mlir::ValueRange)>":$combine)>
  ];
  let extraClassDeclaration = [{
    ::mlir::Block *getCombinerBlock() { return &getCombiner().front(); }
    YieldOp getBodyYield();
    YieldOp getCombinerYield();
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def ScanOp : Kernel_Loop<"scan", [AttrSizedOperandSegments]> {
  let summary = "a loop in sequence with carried values";
  let description = [{
    ```mlir
    %total = kernel.scan (%k) to (symbol(%n)) iter (%sum = %zero : f32) {
      …
      kernel.yield %next : f32
    }
    ```
    Points run in row-major order; the results are the values carried out of the last one.
  }];
  let arguments = (ins AffineMapAttr:$sizes, Variadic<Index>:$sizeOperands, Variadic<AnyType>:$inits);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let skipDefaultBuilders = 1;
  let builders = [
    OpBuilder<(ins "::mlir::AffineMap":$sizes, "::mlir::ValueRange":$operands, "::mlir::ValueRange":$inits,
                   "::llvm::function_ref<::llvm::SmallVector<::mlir::Value>(::mlir::OpBuilder &, ::mlir::Location, ::mlir::ValueRange, ::mlir::ValueRange)>":$body)>
  ];
  let extraClassDeclaration = [{
    ::mlir::Block::BlockArgListType getCarried() { return getBody().front().getArguments().drop_front(getSizes().getNumResults()); }
    YieldOp getBodyYield();
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Memory and indices
//===----------------------------------------------------------------------===//

def LoadOp : Kernel_Op<"load", [DeclareOpInterfaceMethods<AccessOpInterface>, AttrSizedOperandSegments,
                                DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "reads one element";
  let description = [{
    ```mlir
    %v = kernel.load %x[%i * 2 + %k - 1, %j] guard %zero : memref<?x1024xf32>
    ```
    Operands of the index are induction variables, scalars (as `symbol(%n)` where they are multiplied) or computed
    indices (a gather: check them with `kernel.check_index` first). With `guard`, an index outside the buffer's dims
    gives the fill value and touches no memory. Without it the element is the one at Σ index·stride of the dense buffer
    and must lie inside it as a whole: so a collapsed domain may run over the edge of a dim.
  }];
  let arguments = (ins AnyMemRef:$buffer, AffineMapAttr:$map, Variadic<Index>:$indices, Optional<AnyType>:$fill);
  let results = (outs AnyType:$value);
  let skipDefaultBuilders = 1;
  let builders = [
    OpBuilder<(ins "::mlir::Value":$buffer, "::mlir::AffineMap":$map, "::mlir::ValueRange":$indices,
                   CArg<"::mlir::Value", "{}">:$fill)>
  ];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def StoreOp : Kernel_Op<"store", [DeclareOpInterfaceMethods<AccessOpInterface>, AttrSizedOperandSegments,
                                  DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "writes one element, or combines a value into it";
  let description = [{
    ```mlir
    kernel.store %v, %y[%i, %j] : memref<?x1024xf32>
    kernel.store %v, %y[%at] if %keep ordered : memref<?xf32>
    kernel.store %v, %y[%at] atomic addi : memref<?xi32>
    ```
    `if`: nothing is touched where the condition is false. The mode (`unique`, the default, is not printed) says how two
    iterations meet in one location; a combining kind (arith's atomic kinds) makes it a read-modify-write.
  }];
  let arguments = (ins AnyType:$value, AnyMemRef:$buffer, AffineMapAttr:$map, Variadic<Index>:$indices,
                       Optional<I1>:$condition,
                       DefaultValuedAttr<StoreModeAttr, "::graphc::kernel::StoreMode::unique">:$mode,
                       OptionalAttr<AtomicRMWKindAttr>:$kind);
  let skipDefaultBuilders = 1;
  let builders = [
    OpBuilder<(ins "::mlir::Value":$value, "::mlir::Value":$buffer, "::mlir::AffineMap":$map, "::mlir::ValueRange":$indices,
                   CArg<"::mlir::Value", "{}">:$condition,
                   CArg<"::graphc::kernel::StoreMode", "::graphc::kernel::StoreMode::unique">:$mode,
                   CArg<"::std::optional<::mlir::arith::AtomicRMWKind>", "std::nullopt">:$kind)>
  ];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def IndexOp : Kernel_Op<"index", [Pure]> {
  let summary = "an affine expression of indices as a value";
  let description = [{
    ```mlir
    %b = kernel.index (%i floordiv 4 + %j)
    ```
  }];
  let arguments = (ins AffineMapAttr:$map, Variadic<Index>:$indices);
  let results = (outs Index:$result);
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::AffineMap":$map, "::mlir::ValueRange":$indices)>];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def CheckIndexOp : Kernel_Op<"check_index", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "reports an index outside [0, size) and clamps it";
  let description = [{
    ```mlir
    %safe = kernel.check_index %at to %size site 3
    %safe = kernel.check_index %at to %size wrap site 3
    ```
    With `wrap`, [-size, -1] counts from the end. The first index out of range is recorded (site, value, range) in the
    KernelContext's error cell; the result always lies in [0, size) when size > 0 (and is 0 otherwise).
  }];
  let arguments = (ins Index:$index, Index:$size, I64Attr:$site, UnitAttr:$wrap);
  let results = (outs Index:$result);
  let assemblyFormat = "$index `to` $size (`wrap` $wrap^)? `site` $site attr-dict";
  let builders = [
    OpBuilder<(ins "::mlir::Value":$index, "::mlir::Value":$size, "int64_t":$site, "bool":$wrap), [{
      build($_builder, $_state, $_builder.getIndexType(), index, size, $_builder.getI64IntegerAttr(site),
            wrap ? $_builder.getUnitAttr() : ::mlir::UnitAttr());
    }]>
  ];
}

#endif
