#pragma once
#include "ir/graph/Element.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace graphc::graph {
/// Declares that no gradient passes through an op.
template <typename Op>
class NotDifferentiable : public mlir::OpTrait::TraitBase<Op, NotDifferentiable> {};

class Elementwise;
/// The element of an elementwise op: its scalar rule over broadcast operands.
Expr elementwiseElement(ElementBuilder &builder, Elementwise op, llvm::ArrayRef<mlir::AffineExpr> index);
llvm::LogicalResult inferElementwise(mlir::MLIRContext *ctx, std::optional<mlir::Location> loc, llvm::StringRef op,
                                     mlir::ValueRange operands, llvm::StringRef kind,
                                     llvm::SmallVectorImpl<mlir::Type> &types);
} // namespace graphc::graph

#include "ir/graph/GraphDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/graph/GraphAttrs.h.inc"
#include "ir/graph/GraphInterfaces.h.inc"
#define GET_OP_CLASSES
#include "ir/graph/Elementwise.h.inc"
#define GET_OP_CLASSES
#include "ir/graph/Movement.h.inc"
#define GET_OP_CLASSES
#include "ir/graph/Reduction.h.inc"
#define GET_OP_CLASSES
#include "ir/graph/Contraction.h.inc"
#define GET_OP_CLASSES
#include "ir/graph/Routine.h.inc"
#define GET_OP_CLASSES
#include "ir/graph/Composite.h.inc"
#define GET_OP_CLASSES
#include "ir/graph/Structure.h.inc"
#define GET_OP_CLASSES
#include "ir/graph/Control.h.inc"
