//===- KernelDialect.td - the `kernel` dialect and its attributes ---------===//
#ifndef GRAPHC_IR_KERNEL_DIALECT_TD
#define GRAPHC_IR_KERNEL_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def KernelDialect : Dialect {
  let name = "kernel";
  let cppNamespace = "::graphc::kernel";
  let summary = "one fused group as loops, the same for every target";
  let description = [{
    A `kernel.func` holds one outer parallel domain and, inside it, an ordered list of passes (`map`, `reduce`,
    `scan`) over inner domains. Bodies are `arith` and `math` on scalars; memory is reached through `load` and
    `store` with affine or computed indices. The `#kernel.schedule` attribute and the `lanes` of the passes say how
    a target runs it and never change what is computed.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let useDefaultAttributePrinterParser = 1;
}

def StoreModeAttr : I32EnumAttr<"StoreMode", "how stores to one location meet", [
    I32EnumAttrCase<"unique", 0>,   // no two iterations write one location
    I32EnumAttrCase<"ordered", 1>,  // conflicts are settled by iteration order: the enclosing dims run in sequence
    I32EnumAttrCase<"atomic", 2>    // conflicts in any order give the same result; needs a combining kind
  ]> {
  let cppNamespace = "::graphc::kernel";
}

def StrategyAttr : I32EnumAttr<"Strategy", "the shape of the loops", [
    I32EnumAttrCase<"loop", 0>,     // as written: outer dims one by one, lanes along the last dim of a pass
    I32EnumAttrCase<"columns", 1>,  // lanes along the outer domain, reductions stream over rows below it
    I32EnumAttrCase<"transpose", 2>,// the last two outer dims in square tiles turned in registers or shared memory
    I32EnumAttrCase<"rows", 3>,     // `group` threads share one point of the outer domain and its inner passes
    I32EnumAttrCase<"tiles", 4>,    // a sum of products in tiles of shared memory, see `block`
    I32EnumAttrCase<"contract", 5>  // a sum of products: `tile` points of the second last outer dim times the lanes in registers
  ]> {
  let cppNamespace = "::graphc::kernel";
}

def TailAttr : I32EnumAttr<"Tail", "what runs the last, incomplete vector", [
    I32EnumAttrCase<"masked", 0>, I32EnumAttrCase<"scalar", 1>
  ]> {
  let cppNamespace = "::graphc::kernel";
}

def ScheduleAttr : AttrDef<KernelDialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "how a target runs a kernel; never changes its results beyond the order of a reduction";
  let description = [{
    `strategy`: see `Strategy`. `tile`: edge of a transposing tile, or points of a contraction's tile. `tail`: how incomplete vectors run.
    `nontemporal`: streaming stores for outputs that will not be read soon. `threads`: threads of a block on targets
    that have blocks; `group` of them share one point of the outer domain (strategies `rows` and `columns`). `block`, for `tiles`:
    how many trailing outer dims are columns, how many before those are rows (what is left in front counts products), then the
    sizes of a block's tile (rows, columns, depth) and of a thread's (rows, columns). The number of lanes stands on each pass (`lanes`), since passes of one kernel differ.
  }];
  let parameters = (ins
    DefaultValuedParameter<"::graphc::kernel::Strategy", "::graphc::kernel::Strategy::loop">:$strategy,
    DefaultValuedParameter<"::graphc::kernel::Tail", "::graphc::kernel::Tail::masked">:$tail,
    DefaultValuedParameter<"int64_t", "0">:$tile,
    DefaultValuedParameter<"int64_t", "0">:$threads,
    DefaultValuedParameter<"bool", "false">:$nontemporal,
    DefaultValuedParameter<"int64_t", "0">:$group,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$block);
  let assemblyFormat = "`<` struct(params) `>`";
  let builders = [AttrBuilder<(ins "::graphc::kernel::Strategy":$strategy), [{
    return $_get($_ctxt, strategy, ::graphc::kernel::Tail::masked, 0, 0, false, 0, ::mlir::DenseI64ArrayAttr());
  }]>];
}

#endif
