// Objects linked into this process with ORC's JITLink.
#include "codegen/cpu/CpuCodegen.h"

#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#include "llvm/Support/MemoryBuffer.h"

#include <atomic>

using namespace graphc::codegen::cpu;
namespace orc = llvm::orc;

struct JitKernels::State {
  std::unique_ptr<orc::ExecutionSession> session;
  std::unique_ptr<orc::ObjectLinkingLayer> linker;
  orc::JITDylib *process = nullptr;
  std::atomic<unsigned> count{0};

  ~State() {
    if (llvm::Error error = session->endSession())
      session->reportError(std::move(error));
  }
};

JitKernels::JitKernels(std::unique_ptr<State> state) : state_(std::move(state)) {}
JitKernels::~JitKernels() = default;

llvm::Expected<std::unique_ptr<JitKernels>> JitKernels::create() {
  auto control = orc::SelfExecutorProcessControl::Create();
  if (!control)
    return control.takeError();
  auto state = std::make_unique<State>();
  state->session = std::make_unique<orc::ExecutionSession>(std::move(*control));
  state->linker = std::make_unique<orc::ObjectLinkingLayer>(*state->session);
  // The C and mathematics libraries of this process.
  state->process = &state->session->createBareJITDylib("process");
  auto generator = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess('\0');
  if (!generator)
    return generator.takeError();
  state->process->addGenerator(std::move(*generator));
  return std::unique_ptr<JitKernels>(new JitKernels(std::move(state)));
}

llvm::Expected<GraphcKernelFn> JitKernels::add(llvm::StringRef name, llvm::StringRef object) {
  // A library of its own per object: kernels of two models may share a name.
  orc::JITDylib &library = state_->session->createBareJITDylib(name.str() + "." + std::to_string(state_->count++));
  library.addToLinkOrder(*state_->process);
  if (llvm::Error error = state_->linker->add(library, llvm::MemoryBuffer::getMemBufferCopy(object, name)))
    return error;
  auto symbol = state_->session->lookup({&library}, state_->session->intern(name));
  if (!symbol)
    return symbol.takeError();
  return symbol->getAddress().toPtr<GraphcKernelFn>();
}
