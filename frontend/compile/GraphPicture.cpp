#include "frontend/compile/GraphPicture.h"

#include "frontend/tensor/ReadFile.h"
#include "ir/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cstdio>
#include <filesystem>
#include <unistd.h>

namespace graphc {
namespace {

using namespace mlir;

/// What a box says and which colour it has: the families of the dialect, so that a glance tells where the work is.
struct Look {
  const char *fill;
  const char *shape = "box";
};

Look lookOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Look>(op)
      .Case([](graph::GetWeightOp) { return Look{"#eeeeee", "note"}; })
      .Case([](graph::ConstantOp) { return Look{"#eeeeee", "note"}; })
      .Case([](graph::Contraction) { return Look{"#ffd9b3"}; })
      .Case([](graph::Composite) { return Look{"#ffe9a8"}; })
      .Case([](graph::RoutineOp) { return Look{"#f7c6d9"}; })
      .Case([](graph::Elementwise) { return Look{"#d5e8d4"}; })
      .Case([](graph::ElementOp e) { return e.reduces() ? Look{"#dae8fc"} : Look{"#f5f5f5"}; })
      .Default([](Operation *) { return Look{"#ffffff"}; });
}

std::string escaped(llvm::StringRef text) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string typeText(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  std::string out;
  llvm::raw_string_ostream stream(out);
  if (!tensor) {
    stream << type;
    return out;
  }
  for (AffineExpr dim : graph::dimsOf(tensor))
    stream << graph::toString(dim) << "x";
  stream << tensor.getElementType();
  return out;
}

std::string nameOf(Operation *op) {
  Location location = op->getLoc();
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location inner : fused.getLocations())
      if (isa<NameLoc>(inner))
        location = inner;
  auto name = dyn_cast<NameLoc>(location);
  return name ? name.getName().str() : "";
}

class DotWriter {
public:
  explicit DotWriter(llvm::raw_ostream &out) : out(out) {}

  void writeFunction(func::FuncOp function) {
    out << "subgraph \"cluster_" << escaped(function.getName()) << "\" {\nlabel=\"@" << escaped(function.getName()) << "\"; color=\"#cccccc\";\n";
    for (BlockArgument argument : function.getArguments()) {
      auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "graph.name");
      std::string id = freshId();
      out << id << " [label=\"" << escaped(name ? name.getValue() : "input") << "\\n" << escaped(typeText(argument.getType()))
          << "\", shape=ellipse, fillcolor=\"#c9e4f5\"];\n";
      ids[argument] = id;
    }
    writeBlock(function.getBody().front());
    out << "}\n" << edges;
    edges.clear();
  }

private:
  std::string freshId() { return "n" + std::to_string(count++); }

  void edge(Value from, const std::string &to) {
    if (auto found = ids.find(from); found != ids.end())
      edges += found->second + " -> " + to + " [tooltip=\"" + escaped(typeText(from.getType())) + "\"];\n";
  }

  void writeBlock(Block &block) {
    for (Operation &op : block)
      writeOp(op);
  }

  void writeOp(Operation &op) {
    if (auto group = dyn_cast<graph::GroupOp>(op))
      return writeGroup(group);
    if (isa<graph::YieldOp>(op)) // a group's results are its members'
      return;
    std::string id = freshId();
    if (op.hasTrait<OpTrait::ReturnLike>()) {
      out << id << " [label=\"outputs\", shape=ellipse, fillcolor=\"#c9e4f5\"];\n";
    } else {
      Look look = lookOf(&op);
      std::string label = op.getName().stripDialect().str();
      if (auto weight = dyn_cast<graph::GetWeightOp>(op))
        label = weight.getWeight().str();
      out << id << " [label=\"" << escaped(label);
      for (Type type : op.getResultTypes())
        out << "\\n" << escaped(typeText(type));
      out << "\", shape=" << look.shape << ", fillcolor=\"" << look.fill << "\", tooltip=\"" << escaped(nameOf(&op)) << "\"];\n";
    }
    for (Value operand : op.getOperands())
      edge(operand, id);
    for (Value result : op.getResults())
      ids[result] = id;
  }

  void writeGroup(graph::GroupOp group) {
    out << "subgraph \"cluster_g" << count << "\" {\nlabel=\"" << escaped(group.getKind()) << "\"; style=\"rounded,filled\"; color=\"#9999bb\"; fillcolor=\"#f4f4ff\";\n";
    Block &body = group.getBody().front();
    writeBlock(body);
    out << "}\n";
    for (auto [result, value] : llvm::zip(group.getResults(), body.getTerminator()->getOperands()))
      if (auto found = ids.find(value); found != ids.end())
        ids[result] = std::string(found->second); // not a reference: the map may grow
  }

  llvm::raw_ostream &out;
  llvm::DenseMap<Value, std::string> ids;
  std::string edges;
  int count = 0;
};

/// A page of its own: no address is fetched. Drag to pan, wheel to zoom.
constexpr const char *kPageHead = R"(<!doctype html><html><head><meta charset="utf-8"><style>
body{margin:0;overflow:hidden;font-family:sans-serif}svg{cursor:grab;width:100vw;height:100vh}</style></head><body>
)";
constexpr const char *kPageTail = R"(
<script>
const svg=document.querySelector('svg');const box=svg.viewBox.baseVal;svg.removeAttribute('width');svg.removeAttribute('height');
svg.addEventListener('wheel',e=>{e.preventDefault();const k=e.deltaY>0?1.15:1/1.15,r=svg.getBoundingClientRect();
const x=box.x+box.width*(e.clientX-r.left)/r.width,y=box.y+box.height*(e.clientY-r.top)/r.height;
box.x=x-(x-box.x)*k;box.y=y-(y-box.y)*k;box.width*=k;box.height*=k;},{passive:false});
let drag=null;svg.addEventListener('mousedown',e=>drag=[e.clientX,e.clientY]);addEventListener('mouseup',()=>drag=null);
addEventListener('mousemove',e=>{if(!drag)return;const r=svg.getBoundingClientRect();
const s=Math.max(box.width/r.width,box.height/r.height);box.x-=(e.clientX-drag[0])*s;box.y-=(e.clientY-drag[1])*s;drag=[e.clientX,e.clientY];});
</script></body></html>
)";

Result<std::string> runDot(const std::string &dot, const std::string &path) {
  std::string source = path + ".tmp.dot";
  GRAPHC_RETURN_IF_ERROR(writeFileAtomically(source, dot));
  // The file's name travels as an argument of its own shell word.
  std::string quoted = "'";
  for (char c : source)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  quoted += "'";
  std::string svg;
  FILE *pipe = ::popen(("dot -Tsvg " + quoted + " 2>/dev/null").c_str(), "r");
  if (pipe) {
    char buffer[65536];
    for (size_t got; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
      svg.append(buffer, got);
  }
  int status = pipe ? ::pclose(pipe) : -1;
  ::unlink(source.c_str());
  if (status != 0 || svg.empty())
    return error(Code::LibraryFailed, "Graphviz' program dot did not draw the picture; install graphviz, or write a .dot file instead");
  return svg;
}

} // namespace

Result<std::string> graphDot(const std::string &moduleText, const std::string &title) {
  DialectRegistry registry;
  registry.insert<graph::GraphDialect, func::FuncDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects();
  std::string problem;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    llvm::raw_string_ostream(problem) << diagnostic;
    return success();
  });
  auto module = parseSourceString<ModuleOp>(moduleText, &context);
  if (!module)
    return error(Code::ModelMalformed, "the phase cannot be drawn: ", problem);
  std::string dot;
  llvm::raw_string_ostream out(dot);
  out << "digraph \"" << escaped(title) << "\" {\nlabel=\"" << escaped(title)
      << "\"; labelloc=t; fontname=\"Helvetica\"; rankdir=TB;\nnode [style=filled, fontname=\"Helvetica\", fontsize=10]; edge [arrowsize=0.6];\n";
  DotWriter writer(out);
  for (func::FuncOp function : module->getOps<func::FuncOp>())
    if (!function.isDeclaration())
      writer.writeFunction(function);
  out << "}\n";
  return dot;
}

Status writeGraphPicture(const std::string &moduleText, const std::string &title, const std::string &path) {
  std::string kind = std::filesystem::path(path).extension().string();
  if (kind != ".dot" && kind != ".svg" && kind != ".html")
    return error(Code::InvalidOption, "--graph ", path, ": the name must end in .svg, .html or .dot");
  GRAPHC_ASSIGN_OR_RETURN(std::string dot, graphDot(moduleText, title));
  if (kind == ".dot")
    return writeFileAtomically(path, dot);
  GRAPHC_ASSIGN_OR_RETURN(std::string svg, runDot(dot, path));
  if (kind == ".svg")
    return writeFileAtomically(path, svg);
  // The page holds the drawing alone, without the XML prologue.
  size_t start = svg.find("<svg");
  return writeFileAtomically(path, kPageHead + svg.substr(start == std::string::npos ? 0 : start) + kPageTail);
}

} // namespace graphc
