#include "ir/kernel/Kernel.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace graphc::kernel;

#include "ir/kernel/KernelDialect.cpp.inc"
#include "ir/kernel/KernelEnums.cpp.inc"
#include "ir/kernel/KernelInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/kernel/KernelAttrs.cpp.inc"

void KernelDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/kernel/KernelAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/kernel/KernelOps.cpp.inc"
      >();
}
