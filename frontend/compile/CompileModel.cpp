// The public way to compile a model: the cache first, then the compiler; the result runs on the caller's pool.
#include "frontend/compile/Compiler.h"
#include "frontend/compile/CompilerLibrary.h"
#include "frontend/compile/ModelCache.h"
#include "frontend/graphc/compile_model.h"

#include <memory>
#include <optional>

namespace graphc {

Model compileModel(Runtime &runtime, const std::string &path, CompileModelOptions given) {
  auto say = [&](const std::string &line) {
    if (given.strict)
      throw Error(error(Code::CompileFailed, "strict: ", line));
    if (given.log)
      given.log(line);
  };
  auto sayAll = [&](const std::vector<CompileDiagnostic> &diagnostics) {
    for (const CompileDiagnostic &d : diagnostics)
      if (d.severity == CompileDiagnostic::Warning)
        say(d.message);
  };
  CompileOptions options;
  options.cpuLevel = given.cpuLevel;
  options.threads = runtime.threads();
  options.pool = runtime.pool();
  options.shapes = given.shapes;
  options.cacheDir = given.cacheFolder;
  options.constantInputs = std::move(given.constantInputs);
  std::optional<ModelCache> cache;
  if (!options.cacheDir.empty() && ModelCache::serves(path, options)) {
    auto opened = ModelCache::open(options.cacheDir, compilerIdentity(), say);
    if (opened.ok()) {
      cache.emplace(*std::move(opened));
      auto found = cache->find(path, options, nullptr);
      if (found.ok() && *found) {
        sayAll((*found)->remarks);
        return runtime.adopt((*found)->executable);
      }
      options.keepObjects = true;
    } else {
      say("the compile cache is not used: " + opened.status().message());
      options.cacheDir.clear();
    }
  }
  CompileResult result = compileFile(path, options);
  if (!result.status.ok())
    throw Error(result.status);
  sayAll(result.diagnostics);
  if (cache)
    cache->store(path, options, result);
  return runtime.adopt(result.model.executable);
}

} // namespace graphc
