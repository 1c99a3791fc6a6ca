// Structured control flow: if, while, scan. Bodies end in graph.yield and see the values around them.
#ifndef GRAPHC_IR_GRAPH_CONTROL
#define GRAPHC_IR_GRAPH_CONTROL
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "ir/graph/GraphBase.td"

def GraphCondition : TensorOf<[I1]>;

// The gradient rules see what a body reads from outside like operands (passes/vjp/Vjp.h, inputsOf).
class Graph_Control<string mnemonic, list<Trait> traits = []>
    : Graph_Op<mnemonic, !listconcat([HasVjp, SingleBlock, RecursiveMemoryEffects], traits)> {
  let hasVerifier = 1;
}

def IfOp : Graph_Control<"if", [DeclareOpInterfaceMethods<RegionBranchOpInterface>]> {
  let summary = "one of two bodies, chosen by a bool of rank 0; both yield the results";
  let arguments = (ins GraphCondition:$condition);
  let results = (outs Variadic<GraphTensor>:$results);
  let regions = (region SizedRegion<1>:$then_body, SizedRegion<1>:$else_body);
  let assemblyFormat = "$condition $then_body `else` $else_body attr-dict-with-keyword `:` functional-type($condition, $results)";
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::Value":$condition)>];
  let skipDefaultBuilders = 1;
}

def WhileOp : Graph_Control<"while", [DeclareOpInterfaceMethods<RegionBranchOpInterface, ["getEntrySuccessorOperands"]>]> {
  let summary = "runs its body while the first carried value is true";
  let description = [{
    The body takes the carried values and yields the next ones; the first is the condition, a bool of rank 0. The results are
    the carried values when the condition has become false (or after `max` iterations, where given: only such a loop has a
    gradient). A condition that is false at the start gives the operands.
  }];
  let arguments = (ins Variadic<GraphTensor>:$inits, OptionalAttr<I64Attr>:$max_trips);
  let results = (outs Variadic<GraphTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inits `)` (`max` $max_trips^)? $body attr-dict-with-keyword `:` functional-type($inits, $results)";
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$inits, "::mlir::IntegerAttr":$maxTrips)>];
  let skipDefaultBuilders = 1;
}

def ScanOp : Graph_Control<"scan", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<RegionBranchOpInterface, ["getEntrySuccessorOperands"]>]> {
  let summary = "runs its body once for each slice along dim 0 of its scanned operands";
  let description = [{
    `trips` is one size, that of dim 0 of every scanned operand. The body takes the carried values and one slice (without dim 0) of
    each scanned operand; it yields the next carried values, then one slice of each stacked result. Results are the carried values
    after the last iteration, then the stacked slices, slice i from iteration i; with `reverse` the last slice is visited
    first. Another axis is a transpose before or behind.
  }];
  let arguments = (ins DimsAttr:$trips, Variadic<GraphTensor>:$inits, Variadic<GraphTensor>:$scanned, UnitAttr:$reverse);
  let results = (outs Variadic<GraphTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $trips (`reverse` $reverse^)? `carry` `(` $inits `)` `over` `(` $scanned `)` $body attr-dict-with-keyword
    `:` functional-type(operands, results)
  }];
  // `slices`: the types of the slices that the body yields for the stacked results.
  let builders = [OpBuilder<(ins "::mlir::AffineExpr":$trips, "::mlir::ValueRange":$inits, "::mlir::ValueRange":$scanned,
                                 "::mlir::TypeRange":$slices, "bool":$reverse)>];
  let skipDefaultBuilders = 1;
  let extraClassDeclaration = [{
    ::mlir::AffineExpr getCount() { return getTrips().getDims()[0]; }
    unsigned getNumCarried() { return getInits().size(); }
    ::mlir::ResultRange getFinals() { return getResults().take_front(getNumCarried()); }
    ::mlir::ResultRange getStacked() { return getResults().drop_front(getNumCarried()); }
    ::mlir::Block::BlockArgListType getCarriedArgs() { return getBody().getArguments().take_front(getNumCarried()); }
    ::mlir::Block::BlockArgListType getSliceArgs() { return getBody().getArguments().drop_front(getNumCarried()); }
  }];
}

def YieldOp : Graph_Op<"yield", [NotDifferentiable, Pure, Terminator, DeclareOpInterfaceMethods<RegionBranchTerminatorOpInterface>]> {
  let summary = "ends a group or the body of an if, while or scan";
  let arguments = (ins Variadic<GraphTensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}
#endif
