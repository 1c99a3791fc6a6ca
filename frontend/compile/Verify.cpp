#include "frontend/compile/Verify.h"

#include "codegen/reference/Interpreter.h"
#include "frontend/tensor/ReadFile.h"
#include "ir/graph/Graph.h"
#include "runtime/memory/MappedFile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/differentiate/Differentiate.h"
#include "llvm/ADT/SetVector.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <unistd.h>

namespace graphc {
namespace {

using namespace mlir;
namespace fs = std::filesystem;

/// A folder of our own for phase dumps and pieces; gone at the end.
class ScratchFolder {
public:
  ScratchFolder() {
    std::string pattern = (fs::temp_directory_path() / "graphc-verify-XXXXXX").string();
    if (char *made = ::mkdtemp(pattern.data()))
      folder = made;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (!folder.empty())
      fs::remove_all(folder, ignored);
  }
  const fs::path &path() const { return folder; }

private:
  fs::path folder;
};

/// Bytes of weights: files beside the model, and the dump's side file.
class WeightFiles {
public:
  WeightFiles(fs::path model, fs::path side) : folder(model.parent_path()), side(std::move(side)) {}

  Result<HostTensor> load(graph::WeightOp weight) {
    std::string name = weight.getFile().str();
    fs::path path = name.starts_with("<") ? side : folder / name;
    auto found = files.find(path.string());
    if (found == files.end()) {
      auto opened = MappedFile::open(path.string());
      if (!opened.ok())
        return opened.status();
      found = files.emplace(path.string(), *std::move(opened)).first;
    }
    auto bytes = found->second->bytes();
    auto type = cast<RankedTensorType>(weight.getType());
    std::vector<int64_t> sizes = type.getShape().vec();
    GRAPHC_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::allocate(reference::dtypeOfElement(type.getElementType()), Shape(std::move(sizes))));
    size_t offset = static_cast<size_t>(weight.getOffset());
    if (offset > bytes.size() || bytes.size() - offset < tensor.sizeBytes())
      return error(Code::WeightFile, "weight @", weight.getSymName().str(), " lies outside '", path.string(), "'");
    std::memcpy(tensor.raw(), bytes.data() + offset, tensor.sizeBytes());
    return tensor;
  }

private:
  fs::path folder, side;
  std::map<std::string, std::shared_ptr<const MappedFile>> files;
};

/// One phase's module with its weights.
struct Dump {
  std::string phase;
  OwningOpRef<ModuleOp> module;
  std::shared_ptr<WeightFiles> weights;

  func::FuncOp main() { return module->lookupSymbol<func::FuncOp>("main"); }
  reference::WeightLoader loader() {
    return [files = weights](graph::WeightOp weight) { return files->load(weight); };
  }
};

Result<Dump> readDump(const fs::path &file, const std::string &phase, MLIRContext &context) {
  std::string problem;
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    llvm::raw_string_ostream(problem) << diagnostic;
    return success();
  });
  Dump dump{phase, parseSourceFile<ModuleOp>(file.string(), ParserConfig(&context)), nullptr};
  if (!dump.module || !dump.main())
    return error(Code::Internal, "the dump of phase ", phase, " does not parse back: ", problem);
  // The gradients that a function asks for belong to its meaning from the start.
  PassManager gradients(&context);
  gradients.addPass(createDifferentiatePass());
  if (failed(gradients.run(*dump.module)))
    return error(Code::ModelMalformed, problem);
  auto model = (*dump.module)->getAttrOfType<StringAttr>("graph.model");
  auto side = (*dump.module)->getAttrOfType<StringAttr>("graph.side");
  dump.weights = std::make_shared<WeightFiles>(fs::path(model ? model.str() : ""), side ? file.parent_path() / side.str() : fs::path());
  return dump;
}

/// "relu of /layer1/relu": the op and the node it came from.
std::string describe(Operation *op) {
  std::string kind = op->getName().stripDialect().str(), name = reference::nameOf(op);
  return name.empty() || name == op->getName().getStringRef() ? kind : kind + " '" + name + "'";
}

std::string describeGroup(graph::GroupOp group) {
  std::vector<std::string> members;
  for (Operation &op : group.getBody().front().without_terminator())
    members.push_back(describe(&op));
  size_t count = members.size();
  if (count > 6) {
    members.resize(5);
    members.push_back(text("… (", count, " ops)"));
  }
  return text(group.getKind().str(), " of ", joined(members));
}

/// A module whose @main computes `op` alone, from arguments; weights and constants stay what they are, so that packing is
/// tested too. `arguments` are the values it takes.
OwningOpRef<ModuleOp> outline(Operation *op, ModuleOp source, llvm::SetVector<Value> &arguments) {
  llvm::SetVector<Operation *> constants;
  auto capture = [&](Operation *user) {
    for (Value operand : user->getOperands()) {
      Operation *definition = operand.getDefiningOp();
      if (definition && op->isAncestor(definition))
        continue;
      if (isa_and_nonnull<graph::GetWeightOp, graph::ConstantOp>(definition))
        constants.insert(definition);
      else
        arguments.insert(operand);
    }
  };
  op->walk(capture);

  OpBuilder builder(op->getContext());
  OwningOpRef<ModuleOp> module(ModuleOp::create(op->getLoc()));
  (*module)->setAttrs(source->getAttrs());
  (*module)->removeAttr("graph.value_inputs");
  builder.setInsertionPointToEnd(module->getBody());
  for (Operation *constant : constants)
    if (auto use = dyn_cast<graph::GetWeightOp>(constant))
      if (Operation *weight = source.lookupSymbol(use.getWeightAttr()); weight && !module->lookupSymbol(use.getWeightAttr()))
        builder.clone(*weight);

  llvm::SmallVector<Type> inputs;
  for (Value argument : arguments)
    inputs.push_back(argument.getType());
  auto main = func::FuncOp::create(builder, op->getLoc(), "main", builder.getFunctionType(inputs, op->getResultTypes()));
  if (auto function = source.lookupSymbol<func::FuncOp>("main"))
    if (Attribute symbols = function->getAttr("symbols"))
      main->setAttr("symbols", symbols);
  Block *body = main.addEntryBlock();
  IRMapping mapping;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    mapping.map(argument, body->getArgument(i));
    main.setArgAttr(i, "graph.name", builder.getStringAttr("v" + std::to_string(i)));
  }
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    main.setResultAttr(i, "graph.name", builder.getStringAttr("r" + std::to_string(i)));
  builder.setInsertionPointToEnd(body);
  for (Operation *constant : constants)
    builder.clone(*constant, mapping);
  Operation *copy = builder.clone(*op, mapping);
  if (!arguments.empty())
    copy->removeAttr("prepare"); // what other groups prepared are inputs here, known only when the piece is called
  func::ReturnOp::create(builder, op->getLoc(), copy->getResults());
  return module;
}

Result<std::vector<HostTensor>> compileAndRun(const std::string &path, const CompileOptions &options, std::span<const HostTensor> inputs) {
  CompileResult compiled = compileFile(path, options);
  GRAPHC_RETURN_IF_ERROR(compiled.status);
  std::vector<HostTensor> outputs(compiled.model.executable->signature().outputs.size());
  GRAPHC_RETURN_IF_ERROR(compiled.model.executable->run(inputs, outputs));
  return outputs;
}

class Verification {
public:
  Verification(const std::string &path, VerifyOptions options, std::span<const HostTensor> inputs)
      : path(path), options(std::move(options)), inputs(inputs), context(registry(), MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
  }

  Result<VerifyReport> run() {
    if (scratch.path().empty())
      return error(Code::FileSystem, "no folder for phase dumps can be made below '", fs::temp_directory_path().string(), "'");
    GRAPHC_RETURN_IF_ERROR(dumpPhases());
    GRAPHC_RETURN_IF_ERROR(comparePhases());
    GRAPHC_RETURN_IF_ERROR(compareGroups());
    GRAPHC_RETURN_IF_ERROR(compareWhole());
    return std::move(report);
  }

private:
  static DialectRegistry registry() {
    DialectRegistry registry;
    registry.insert<graph::GraphDialect, func::FuncDialect>();
    return registry;
  }

  void say(const std::string &what) {
    if (options.progress)
      options.progress(what);
  }

  Status dumpPhases() {
    say("compiling up to the phase fuse");
    CompileOptions &compile = options.compile;
    compile.toPhase = "fuse";
    compile.dumpPhasesDir = scratch.path().string();
    Status status = compileFile(path, compile).status;
    compile.toPhase.clear();
    compile.dumpPhasesDir.clear();
    GRAPHC_RETURN_IF_ERROR(status);
    std::vector<fs::path> files;
    for (const auto &entry : fs::directory_iterator(scratch.path()))
      if (entry.path().extension() == ".mlir")
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const fs::path &file : files) {
      std::string stem = file.stem().string(); // 06-fuse
      GRAPHC_ASSIGN_OR_RETURN(Dump dump, readDump(file, stem.substr(stem.find('-') + 1), context));
      dumps.push_back(std::move(dump));
    }
    if (dumps.empty())
      return error(Code::Internal, "compiling up to the phase fuse dumped nothing");
    return {};
  }

  /// The first of `expected` that `got` misses, or nothing.
  std::optional<std::string> difference(std::span<const HostTensor> got, std::span<const HostTensor> expected, std::optional<Tolerance> tolerance) {
    if (got.size() != expected.size())
      return text(got.size(), " results, expected ", expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      Comparison comparison = compareTensors(got[i], expected[i], tolerance.value_or(groupTolerance(expected[i].dtype())));
      if (!comparison.matches)
        return text("result ", i, " ", comparison.message);
    }
    return std::nullopt;
  }

  Status comparePhases() {
    for (Dump &dump : dumps) {
      say("reference: phase " + dump.phase);
      reference::Interpreter interpreter(*dump.module, dump.loader());
      GRAPHC_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, interpreter.run(dump.main(), inputs));
      ++report.phases;
      if (meaning.empty()) {
        meaning = std::move(outputs);
        continue;
      }
      if (auto differs = difference(outputs, meaning, options.outputs)) {
        report.findings.push_back({VerifyFinding::Phase, dump.phase, "changes the meaning of the model: " + *differs});
        return {}; // later phases start from what this one made
      }
    }
    return {};
  }

  /// Compiles `op` alone and compares it with the interpreter, whose operands are rounded to their dtypes first.
  Result<std::optional<std::string>> comparePiece(Operation *op, const std::string &fromPhase, bool fuse, reference::Interpreter &interpreter) {
    llvm::SetVector<Value> arguments;
    OwningOpRef<ModuleOp> module = outline(op, *dumps.back().module, arguments);
    std::string piece = (scratch.path() / text("piece-", pieces++, ".mlir")).string();
    std::string ir;
    llvm::raw_string_ostream stream(ir);
    (*module)->print(stream, OpPrintingFlags().enableDebugInfo(true, /*prettyForm=*/false));
    GRAPHC_RETURN_IF_ERROR(writeFileAtomically(piece, ir));
    std::vector<HostTensor> operands;
    for (Value argument : arguments) {
      GRAPHC_ASSIGN_OR_RETURN(HostTensor value, interpreter.value(argument));
      GRAPHC_RETURN_IF_ERROR(interpreter.setValue(argument, value));
      operands.push_back(std::move(value));
    }
    GRAPHC_RETURN_IF_ERROR(interpreter.execute(op));
    std::vector<HostTensor> expected;
    for (Value result : op->getResults()) {
      GRAPHC_ASSIGN_OR_RETURN(HostTensor value, interpreter.value(result));
      expected.push_back(std::move(value));
    }
    CompileOptions compile;
    compile.cpuLevel = options.compile.cpuLevel;
    compile.threads = options.compile.threads;
    compile.fromPhase = fromPhase;
    compile.fuse = fuse;
    auto got = options.runPiece ? options.runPiece(piece, compile, operands) : compileAndRun(piece, compile, operands);
    if (!got.ok())
      return error(got.status().code(), "cannot be compiled alone: ", got.status().message());
    return difference(*got, expected, pieceTolerance(op));
  }

  /// Not null where a member computes in 16 bits: kernels round there, the reference does not, and a result in f32 shows it.
  static std::optional<Tolerance> pieceTolerance(Operation *op) {
    std::optional<Tolerance> widest;
    op->walk([&](Operation *member) {
      for (Type type : member->getResultTypes()) {
        auto tensor = dyn_cast<RankedTensorType>(type);
        if (tensor && tensor.getElementType().isBF16())
          widest = groupTolerance(DType::BF16);
        else if (tensor && tensor.getElementType().isF16() && !widest)
          widest = groupTolerance(DType::F16);
      }
    });
    return widest;
  }

  Status compareGroups() {
    Dump &dump = dumps.back();
    reference::Interpreter interpreter(*dump.module, dump.loader());
    interpreter.keepValues(true);
    GRAPHC_RETURN_IF_ERROR(interpreter.begin(dump.main(), inputs));
    for (Operation &op : dump.main().getBody().front().without_terminator()) {
      auto group = dyn_cast<graph::GroupOp>(op);
      if (!group) {
        GRAPHC_RETURN_IF_ERROR(interpreter.execute(&op));
        continue;
      }
      std::string name = describeGroup(group);
      say("group " + name);
      auto differs = comparePiece(&op, "fuse", true, interpreter);
      if (!differs.ok()) {
        report.findings.push_back({VerifyFinding::NotChecked, name, differs.status().message()});
        GRAPHC_RETURN_IF_ERROR(interpreter.execute(&op));
        continue;
      }
      ++report.groups;
      if (*differs) {
        report.findings.push_back({VerifyFinding::Group, name, **differs});
        GRAPHC_RETURN_IF_ERROR(findOp(group, interpreter));
      }
    }
    return {};
  }

  /// Each op of the group alone: the first that diverges is the culprit; if none does, fusing them is.
  Status findOp(graph::GroupOp group, reference::Interpreter &interpreter) {
    std::string beforeFuse;
    for (const PhaseInfo &phase : phaseList()) {
      if (phase.name == "fuse")
        break;
      beforeFuse = phase.name;
    }
    for (Operation &op : group.getBody().front().without_terminator()) {
      if (isa<graph::GetWeightOp, graph::ConstantOp>(op)) {
        GRAPHC_RETURN_IF_ERROR(interpreter.execute(&op));
        continue;
      }
      say("op " + describe(&op));
      auto differs = comparePiece(&op, beforeFuse, false, interpreter);
      if (!differs.ok()) {
        report.findings.push_back({VerifyFinding::NotChecked, describe(&op), differs.status().message()});
        GRAPHC_RETURN_IF_ERROR(interpreter.execute(&op));
      } else if (*differs) {
        report.findings.push_back({VerifyFinding::Op, describe(&op), "is the first op that diverges: " + **differs});
        return {};
      }
    }
    report.findings.push_back({VerifyFinding::Op, describeGroup(group), "each op alone is right: fusing them is wrong"});
    return {};
  }

  Status compareWhole() {
    say("the whole compiled model");
    GRAPHC_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, compileAndRun(path, options.compile, inputs));
    if (auto differs = difference(outputs, meaning, options.outputs))
      report.findings.push_back({VerifyFinding::Outputs, "the compiled model", *differs});
    return {};
  }

  const std::string &path;
  VerifyOptions options;
  std::span<const HostTensor> inputs;
  MLIRContext context;
  ScratchFolder scratch;
  std::vector<Dump> dumps;
  std::vector<HostTensor> meaning; // outputs by the reference of the first phase
  VerifyReport report;
  int pieces = 0;
};

} // namespace

Tolerance groupTolerance(DType dtype) {
  switch (dtype) {
  case DType::F64: return {1e-9, 0, 1e-11};
  case DType::F32: return {1e-4, 1e-30, 1e-5};
  case DType::F16: return {2e-3, 1e-7, 1e-3};
  case DType::BF16: return {1.6e-2, 1e-30, 8e-3};
  default: return Tolerance::exact();
  }
}

Result<VerifyReport> verifyFile(const std::string &path, VerifyOptions options, std::span<const HostTensor> inputs) {
  return Verification(path, std::move(options), inputs).run();
}

} // namespace graphc
