// The door of the compiler's shared library.
#include "frontend/compile/CompilerLibrary.h"
#include "frontend/compile/GraphPicture.h"

extern "C" __attribute__((visibility("default"))) const graphc::CompilerEntry *graphc_compiler_entry() {
  static constexpr graphc::CompilerEntry entry = {graphc::CompilerEntry::kLayout, graphc::compileFile, graphc::phaseList, graphc::verifyFile,
                                                  graphc::writeGraphPicture};
  return &entry;
}
