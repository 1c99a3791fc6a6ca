// The `kernel` dialect: one fused group as loops, the same for every target.
#pragma once
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <optional>

namespace graphc::kernel {
class ParallelOp;
class YieldOp;
} // namespace graphc::kernel

#include "ir/kernel/KernelEnums.h.inc"

#include "ir/kernel/KernelDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/kernel/KernelAttrs.h.inc"

#include "ir/kernel/KernelInterfaces.h.inc"

#define GET_OP_CLASSES
#include "ir/kernel/KernelOps.h.inc"
