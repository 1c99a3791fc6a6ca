#include "runtime/plan/PlanText.h"

#include "runtime/plan/Exprs.h"
#include "runtime/plan/PlanCheck.h"

#include <sstream>

namespace graphc::plan {

namespace {

class Printer {
public:
  Printer(const PlanT &plan, const PlanTextOptions &options) : plan(plan), options(options) {}

  std::string run() {
    out << "plan version " << plan.version << " of '" << plan.model << "' by " << (plan.producer.empty() ? "?" : plan.producer)
        << (plan.target == Target::Cuda ? " for cuda" : "") << "\n";
    for (const auto &module : plan.modules) {
      out << "module " << module->name << ":";
      for (const auto &image : module->images)
        out << " " << EnumNameImageKind(image->kind) << " " << image->arch << " " << image->bytes.size() << " bytes";
      out << "\n";
    }
    for (const auto &symbol : plan.symbols) {
      out << "symbol " << symbol->name << " in [" << symbol->lo << ", ";
      if (symbol->hi == INT64_MAX)
        out << "inf";
      else
        out << symbol->hi;
      out << "]";
      if (symbol->multiple > 1)
        out << " multiple of " << symbol->multiple;
      if (symbol->input >= 0)
        out << " = dim " << symbol->dim << " of input " << symbol->input;
      if (symbol->bound >= 0)
        out << " at most " << exprText(plan, symbol->bound);
      out << "\n";
    }
    for (const auto &file : plan.files)
      out << "file '" << file->path << "' " << file->bytes << " bytes\n";
    for (size_t i = 0; i < plan.buffers.size(); ++i)
      printBuffer(static_cast<int>(i));
    if (plan.arena_bytes >= 0)
      out << "arena " << plan.arena_bytes << " bytes\n";
    for (bool prepare : {true, false}) {
      const auto &commands = prepare ? plan.prepare : plan.main;
      if (prepare && commands.empty())
        continue;
      out << (prepare ? "prepare:\n" : "main:\n");
      for (size_t i = 0; i < commands.size(); ++i)
        printCommand(*commands[i], text(i), 1, options.note ? options.note(prepare, static_cast<int>(i)) : "");
    }
    return out.str();
  }

private:
  std::string bufferName(int buffer) const {
    if (buffer < 0)
      return "-";
    const std::string &name = plan.buffers[buffer]->name;
    return text("%", buffer, name.empty() ? "" : "'" + name + "'");
  }

  void printBuffer(int index) {
    const BufferT &buffer = *plan.buffers[index];
    out << bufferName(index) << " : " << dtypeName(toDType(buffer.dtype)) << dimsText(plan, buffer.dims) << " "
        << EnumNameBufferKind(buffer.kind);
    switch (buffer.kind) {
    case BufferKind::Input:
    case BufferKind::Output:
      out << " " << buffer.index;
      break;
    case BufferKind::Weight:
      if (buffer.weight->file >= 0)
        out << " file " << buffer.weight->file << " at " << buffer.weight->offset << " +" << buffer.weight->bytes;
      else
        out << " inline " << buffer.weight->inline_bytes.size() << " bytes";
      break;
    case BufferKind::Alias:
      out << " of " << bufferName(buffer.alias_of);
      if (buffer.alias_offset >= 0)
        out << " + " << exprText(plan, buffer.alias_offset);
      break;
    case BufferKind::Temp:
      if (buffer.first_use >= 0)
        out << " live " << buffer.first_use << ".." << buffer.last_use;
      if (buffer.arena_offset >= 0)
        out << " at " << buffer.arena_offset;
      break;
    case BufferKind::Prepared:
      break;
    }
    out << "\n";
  }

  std::string operandText(const OperandT &operand) const {
    std::string result = bufferName(operand.buffer);
    if (!operand.dims.empty())
      result += dimsText(plan, operand.dims);
    if (!operand.strides.empty())
      result += ":" + dimsText(plan, operand.strides);
    if (operand.offset >= 0)
      result += "@" + exprText(plan, operand.offset);
    return result;
  }

  std::string operandsText(const CommandT &command) const {
    std::vector<std::string> parts;
    for (const OperandT *operand : operandsOf(command))
      parts.push_back(operandText(*operand));
    return joined(parts);
  }

  std::string exprsText(const std::vector<int> &exprs) const {
    std::vector<std::string> parts;
    for (int expr : exprs)
      parts.push_back(exprText(plan, expr));
    return joined(parts);
  }

  std::string symbolName(int symbol) const { return plan.symbols[symbol]->name; }

  void printCommand(const CommandT &command, const std::string &number, int depth, const std::string &note) {
    std::string indent(2 * depth, ' ');
    out << indent << number << " '" << command.name << "' ";
    switch (command.action.type) {
    case Action::Dispatch: {
      const DispatchT &dispatch = *command.action.AsDispatch();
      std::vector<std::string> buffers;
      for (int buffer : dispatch.buffers)
        buffers.push_back(bufferName(buffer));
      out << "dispatch @" << plan.kernels[dispatch.kernel]->symbol << "(" << joined(buffers) << ")";
      if (!dispatch.scalars.empty())
        out << " scalars [" << exprsText(dispatch.scalars) << "]";
      out << " range " << (dispatch.range < 0 ? "1" : exprText(plan, dispatch.range));
      if (const KernelT &kernel = *plan.kernels[dispatch.kernel]; plan.target == Target::Cuda) {
        out << " by " << kernel.items_per_block << " on " << kernel.threads << " threads";
        if (kernel.dynamic_shared)
          out << " shared " << kernel.dynamic_shared;
        if (kernel.max_blocks)
          out << " at most " << kernel.max_blocks << " blocks";
        if (kernel.scratch >= 0)
          out << " workspace " << exprText(plan, kernel.scratch);
      }
      if (command.stream >= 0)
        out << " stream " << command.stream;
      if (dispatch.serial)
        out << " serial";
      break;
    }
    case Action::Library: {
      const LibraryT &library = *command.action.AsLibrary();
      out << "library " << EnumNameLibraryKind(library.kind) << "(" << operandsText(command) << ")";
      if (library.kind == LibraryKind::Attention) {
        out << " scale " << library.scale;
      } else if (library.kind != LibraryKind::MatMul) {
        out << " strides [" << joined(library.strides) << "] dilations [" << joined(library.dilations) << "] pads ["
            << exprsText(library.pads_begin) << "]..[" << exprsText(library.pads_end) << "]";
        if (library.groups > 1)
          out << " groups " << library.groups;
        out << " " << EnumNameLayout(library.layout);
      }
      for (const auto &op : library.post_ops) {
        out << " +" << EnumNamePostOpKind(op->kind);
        if (op->operand >= 0)
          out << "(#" << op->operand << ")";
        else if (op->alpha != 0 || op->beta != 0)
          out << "(" << op->alpha << ", " << op->beta << ")";
      }
      break;
    }
    case Action::Routine: {
      const RoutineT &routine = *command.action.AsRoutine();
      out << "routine " << routine.name << "(" << operandsText(command) << ")";
      for (const auto &attribute : routine.attributes) {
        out << " " << attribute->name << "=[" << joined(attribute->ints) << joined(attribute->floats)
            << joined(attribute->strings) << "]";
      }
      if (!routine.exprs.empty())
        out << " exprs [" << exprsText(routine.exprs) << "]";
      for (int symbol : routine.symbols)
        out << " -> " << symbolName(symbol);
      break;
    }
    case Action::Copy:
      out << "copy " << operandText(*command.action.AsCopy()->src) << " -> " << operandText(*command.action.AsCopy()->dst);
      break;
    case Action::Fill:
      out << "fill " << operandText(*command.action.AsFill()->dst) << " with bits 0x" << std::hex
          << command.action.AsFill()->bits << std::dec;
      break;
    case Action::Check: {
      const CheckT &check = *command.action.AsCheck();
      out << "check " << exprText(plan, check.a) << " " << EnumNameRelation(check.relation) << " " << exprText(plan, check.b);
      break;
    }
    case Action::Bind: {
      const BindT &bind = *command.action.AsBind();
      out << "bind " << symbolName(bind.symbol) << " = ";
      if (bind.buffer < 0)
        out << exprText(plan, bind.expr);
      else
        out << bufferName(bind.buffer) << "[" << (bind.element < 0 ? "0" : exprText(plan, bind.element)) << "]";
      break;
    }
    case Action::If:
      out << "if " << bufferName(command.action.AsIf()->condition);
      break;
    case Action::Loop: {
      const LoopT &loop = *command.action.AsLoop();
      out << "loop";
      if (loop.trip_count >= 0)
        out << " " << exprText(plan, loop.trip_count) << " times";
      if (loop.condition >= 0)
        out << " while " << bufferName(loop.condition);
      if (loop.counter >= 0)
        out << " counting " << symbolName(loop.counter);
      break;
    }
    case Action::NONE:
      break;
    }
    if (!note.empty())
      out << "  // " << note;
    if (options.locations && !command.location.empty())
      out << "  // " << command.location;
    out << "\n";

    auto body = [&](const char *label, const std::vector<std::unique_ptr<CommandT>> &commands) {
      if (commands.empty())
        return;
      out << indent << label << "\n";
      for (size_t i = 0; i < commands.size(); ++i)
        printCommand(*commands[i], text(number, ".", i), depth + 1, "");
    };
    if (const IfT *branch = command.action.AsIf()) {
      body("then:", branch->then_commands);
      body("else:", branch->else_commands);
    } else if (const LoopT *loop = command.action.AsLoop()) {
      body("do:", loop->body);
    }
  }

  const PlanT &plan;
  const PlanTextOptions &options;
  std::ostringstream out;
};

} // namespace

std::string planText(const PlanT &plan, const PlanTextOptions &options) { return Printer(plan, options).run(); }

} // namespace graphc::plan
