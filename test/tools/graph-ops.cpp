// graph-ops: the name of every registered op of the graph dialect, one a line, for the coverage check.
#include "ir/graph/Graph.h"

#include "mlir/IR/MLIRContext.h"

#include <iostream>

int main() {
  mlir::MLIRContext context;
  context.getOrLoadDialect<graphc::graph::GraphDialect>();
  for (mlir::RegisteredOperationName op : context.getRegisteredOperationsByDialect("graph"))
    std::cout << op.getStringRef().str() << "\n";
}
