// The one list of dialects and passes that graphc-opt, graphc-lsp and graphc-reduce know.
#pragma once

namespace mlir {
class DialectRegistry;
}

namespace graphc::tool {

/// Ours, and the upstream dialects that kernels become.
void registerDialects(mlir::DialectRegistry &registry);

/// Every pass and pipeline by its command-line name.
void registerPasses();

} // namespace graphc::tool
