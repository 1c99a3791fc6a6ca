// LibraryCall over oneDNN: geometry decoding, the cache of kernels, bound memory objects.
#include "runtime/devices/cpu/OneDnn.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>

namespace graphc::cpu {

namespace onednn {
namespace {

/// A kernel at one context's buffers. An operation's memory objects are pointed at wherever it runs next, so that blocks of one size
/// share them, and so do the sizes a context sees one after the other.
class Bound final : public BoundLibrary {
public:
  Bound(std::shared_ptr<const LibraryKernel> kernel, dnnl::engine engine, std::unique_ptr<BoundLibrary> recycled)
      : owner_(std::move(kernel)), engine_(engine), stream_(engine) {
    auto *before = static_cast<Bound *>(recycled.get());
    const auto &list = static_cast<const Kernel &>(*owner_).sliceList();
    slices_.resize(list.size());
    for (size_t s = 0; s < list.size(); ++s) {
      BoundSlice &slice = slices_[s];
      // Of the size before, those of units: primitives of one size only seldom come again.
      constexpr size_t kMostKept = 16;
      if (before && s < before->slices_.size() && before->slices_[s].objects.size() <= kMostKept) {
        slice.objects = std::move(before->slices_[s].objects);
        std::erase_if(slice.objects, [](const auto &entry) { return !entry.second->ofUnit; });
      }
      slice.uses.reserve(list[s].size());
      for (const Placed &placed : list[s]) {
        auto &objects = slice.objects[placed.operation];
        if (!objects)
          objects = std::make_unique<Objects>(*placed.operation, engine_);
        objects->ofUnit |= !placed.moved.empty();
        slice.uses.push_back({&placed, objects.get()});
      }
    }
  }

  void setAddresses(std::span<void *const> addresses) override { addresses_.assign(addresses.begin(), addresses.end()); }

  Status run(int index, void *scratch) override {
    for (const Use &use : slices_[index].uses) {
      const Operation &operation = *use.placed->operation;
      Objects &objects = *use.objects;
      for (size_t i = 0; i < operation.arguments.size(); ++i) {
        const Argument &argument = operation.arguments[i];
        if (argument.operand >= 0)
          objects.point(i, static_cast<char *>(addresses_[argument.operand]) + argument.byteOffset + (use.placed->moved.empty() ? 0 : use.placed->moved[i]));
        else if (argument.scratchOffset >= 0)
          objects.point(i, static_cast<char *>(scratch) + argument.scratchOffset);
      }
      if (operation.own) {
        operation.own->run(objects.current.data());
        continue;
      }
      if (operation.zeroBytes) {
        std::memset(objects.current[0], 0, static_cast<size_t>(operation.zeroBytes));
        continue;
      }
      // The C interface takes the arguments as an array: no hash map is built per call.
      dnnl_status_t status = dnnl_primitive_execute(operation.primitive.get(), stream_.get(), static_cast<int>(objects.arguments.size()),
                                                    objects.arguments.data());
      if (status != dnnl_success)
        return error(Code::LibraryFailed, "oneDNN failed with status ", static_cast<int>(status));
    }
    return {};
  }

private:
  struct Objects {
    Objects(const Operation &operation, const dnnl::engine &engine) : current(operation.arguments.size()) {
      for (size_t i = 0; i < operation.arguments.size(); ++i) {
        const Argument &argument = operation.arguments[i];
        current[i] = const_cast<void *>(argument.fixed);
        if (operation.own || operation.zeroBytes)
          continue;
        memories.emplace_back(argument.desc, engine, current[i]);
        arguments.push_back({argument.tag, memories.back().get()});
      }
    }
    void point(size_t index, void *address) {
      if (current[index] == address)
        return;
      current[index] = address;
      if (index < memories.size())
        memories[index].set_data_handle(address);
    }

    std::vector<dnnl::memory> memories;
    std::vector<dnnl_exec_arg_t> arguments;
    std::vector<void *> current;
    bool ofUnit = false;
  };
  struct Use {
    const Placed *placed; // of owner_
    Objects *objects;
  };
  struct BoundSlice {
    std::vector<Use> uses;
    std::map<std::shared_ptr<const Operation>, std::unique_ptr<Objects>> objects;
  };

  std::shared_ptr<const LibraryKernel> owner_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::vector<BoundSlice> slices_;
  std::vector<void *> addresses_;
};

class Call final : public LibraryCall {
public:
  Call(const plan::PlanT &plan, const plan::LibraryT &library, std::vector<LibraryOperand> operands, PackingCache &packing,
       int threads)
      : library_(library), operands_(std::move(operands)), threads_(threads) {
    builder_.engine = dnnl::engine(dnnl::engine::kind::cpu, 0);
    builder_.packing = &packing;
    for (const auto &operand : library.operands) {
      Layout &layout = layouts_.emplace_back();
      if (operand->buffer < 0)
        continue;
      const auto &dims = operand->dims.empty() ? plan.buffers[operand->buffer]->dims : operand->dims;
      layout.rank = static_cast<int>(dims.size());
      layout.strided = !operand->strides.empty();
      layout.offset = operand->offset >= 0;
      exprs_.insert(exprs_.end(), dims.begin(), dims.end());
      exprs_.insert(exprs_.end(), operand->strides.begin(), operand->strides.end());
      if (layout.offset)
        exprs_.push_back(operand->offset);
    }
    exprs_.insert(exprs_.end(), library.pads_begin.begin(), library.pads_begin.end());
    exprs_.insert(exprs_.end(), library.pads_end.begin(), library.pads_end.end());
    for (int expr : exprs_)
      dynamic_ = dynamic_ || plan.exprs[expr].op() != plan::ExprOp::Const;
  }

  const std::vector<int> &geometryExprs() const override { return exprs_; }
  bool dynamic() const override { return dynamic_; }

  Result<std::shared_ptr<const LibraryKernel>> kernelFor(std::span<const int64_t> geometry, bool exact) override {
    std::vector<int64_t> key(geometry.begin(), geometry.end());
    exact = exact || !dynamic_;
    {
      std::shared_lock lock(mutex_);
      if (auto found = kernels_.find(key); found != kernels_.end() && (found->second.exact || !exact))
        return found->second.kernel;
    }
    SerialOpenMP serial; // the thread count at creation decides how the primitive splits its work
    std::shared_ptr<const LibraryKernel> kernel;
    try {
      auto problem = decode(geometry);
      if (!problem.ok())
        return problem.status();
      Builder builder = builder_;
      if (!exact)
        builder.units = &units_;
      kernel = build(builder, *problem);
    } catch (const Failure &failure) {
      return failure.status;
    } catch (const dnnl::error &failure) {
      return error(failure.status == dnnl_unimplemented ? Code::UnsupportedByLibrary : Code::LibraryFailed, "oneDNN cannot run this ",
                   plan::EnumNameLibraryKind(library_.kind), " (", describeOperands(geometry), "): ", failure.what());
    }
    std::unique_lock lock(mutex_);
    // Bounded: sizes that come and go must not fill memory. Contexts keep what they use alive.
    constexpr size_t kMaxKernels = 128;
    if (order_.size() >= kMaxKernels) {
      kernels_.erase(order_.front());
      order_.erase(order_.begin());
    }
    auto [at, inserted] = kernels_.try_emplace(key, Entry{kernel, exact});
    if (inserted)
      order_.push_back(std::move(key));
    else if (exact && !at->second.exact)
      at->second = {kernel, true};
    return at->second.kernel;
  }

  std::unique_ptr<BoundLibrary> bind(std::shared_ptr<const LibraryKernel> kernel, std::unique_ptr<BoundLibrary> recycled) override {
    return std::make_unique<Bound>(std::move(kernel), builder_.engine, std::move(recycled));
  }

private:
  struct Layout {
    int rank = 0;
    bool strided = false, offset = false;
  };

  Result<Problem> decode(std::span<const int64_t> geometry) const {
    Problem problem;
    problem.library = &library_;
    problem.threads = threads_;
    problem.groups = library_.groups;
    problem.strides = library_.strides;
    problem.dilations = library_.dilations;
    problem.kernelShape = library_.kernel_shape;
    size_t at = 0;
    for (size_t i = 0; i < layouts_.size(); ++i) {
      View &view = problem.operands.emplace_back();
      view.present = operands_[i].present;
      if (!view.present)
        continue;
      view.operand = static_cast<int>(i);
      view.dtype = operands_[i].dtype;
      view.constant = operands_[i].constant;
      size_t rank = static_cast<size_t>(layouts_[i].rank);
      view.dims.assign(geometry.begin() + at, geometry.begin() + at + rank);
      at += rank;
      if (layouts_[i].strided) {
        view.strides.assign(geometry.begin() + at, geometry.begin() + at + rank);
        at += rank;
      } else {
        view.strides = Shape(view.dims).denseStrides();
      }
      if (layouts_[i].offset)
        view.offset = geometry[at++];
    }
    for (size_t i = 0; i < library_.pads_begin.size(); ++i)
      problem.padsBegin.push_back(geometry[at++]);
    for (size_t i = 0; i < library_.pads_end.size(); ++i)
      problem.padsEnd.push_back(geometry[at++]);
    bool pooling = library_.kind == plan::LibraryKind::MaxPool || library_.kind == plan::LibraryKind::AvgPool;
    if (!pooling && sizeOf(problem.weights().dtype) == 1 && !exactInt8())
      return error(Code::UnsupportedByLibrary, "8-bit products need a CPU with VNNI: without it oneDNN saturates at 16 bits");
    if (library_.kind != plan::LibraryKind::MatMul && library_.kind != plan::LibraryKind::Attention)
      GRAPHC_RETURN_IF_ERROR(checkWindow(problem));
    return problem;
  }

  /// Fills in defaults, brings channels-last operands into the library's order, and checks that the sizes agree.
  Status checkWindow(Problem &problem) const {
    size_t spatial = problem.source().dims.size() - 2;
    if (problem.source().dims.size() < 3 || problem.destination().dims.size() != problem.source().dims.size())
      return error(Code::PlanInvalid, "source and destination need the same rank of at least 3, got ", Shape(problem.source().dims),
                   " and ", Shape(problem.destination().dims));
    auto fill = [&](std::vector<int64_t> &values, int64_t value) {
      if (values.empty())
        values.assign(spatial, value);
      return values.size() == spatial;
    };
    if (!fill(problem.strides, 1) || !fill(problem.dilations, 1) || !fill(problem.padsBegin, 0) || !fill(problem.padsEnd, 0))
      return error(Code::PlanInvalid, "strides, dilations and paddings need ", spatial, " values each");
    if (library_.layout == plan::Layout::ChannelsLast)
      for (size_t i = 0; i < problem.operands.size(); ++i) {
        View &view = problem.operands[i];
        if (i == 1 || i == 2 || !view.present || view.dims.size() < 2)
          continue;
        std::rotate(view.dims.begin() + 1, view.dims.end() - 1, view.dims.end());
        std::rotate(view.strides.begin() + 1, view.strides.end() - 1, view.strides.end());
      }
    for (size_t i = 4; i < problem.operands.size(); ++i)
      if (problem.operands[i].present && problem.operands[i].dims.size() != spatial + 2)
        return error(Code::PlanInvalid, "post-op operand ", i, " needs ", spatial + 2, " dimensions, got ", Shape(problem.operands[i].dims));
    return {};
  }

  std::shared_ptr<Kernel> build(const Builder &builder, const Problem &problem) const {
    switch (library_.kind) {
    case plan::LibraryKind::MatMul:
      return buildMatMul(builder, problem);
    case plan::LibraryKind::Conv:
      return buildConvolution(builder, problem);
    case plan::LibraryKind::Deconv:
      return buildDeconvolution(builder, problem);
    case plan::LibraryKind::ConvWeightGrad:
      return buildWeightGradient(builder, problem);
    case plan::LibraryKind::MaxPool:
    case plan::LibraryKind::AvgPool:
      return buildPooling(builder, problem);
    case plan::LibraryKind::Attention:
      return buildAttention(builder, problem);
    }
    throw Failure{error(Code::PlanInvalid, "unknown library call")};
  }

  std::string describeOperands(std::span<const int64_t> geometry) const {
    std::vector<std::string> parts;
    size_t at = 0;
    for (size_t i = 0; i < layouts_.size(); ++i) {
      if (!operands_[i].present)
        continue;
      size_t rank = static_cast<size_t>(layouts_[i].rank);
      parts.push_back(text(dtypeName(operands_[i].dtype), Shape(std::vector<int64_t>(geometry.begin() + at, geometry.begin() + at + rank))));
      at += rank * (layouts_[i].strided ? 2 : 1) + layouts_[i].offset;
    }
    return joined(parts);
  }

  const plan::LibraryT &library_;
  std::vector<LibraryOperand> operands_;
  std::vector<Layout> layouts_;
  std::vector<int> exprs_;
  int threads_;
  Builder builder_;
  std::shared_mutex mutex_;
  struct Entry {
    std::shared_ptr<const LibraryKernel> kernel;
    bool exact;
  };
  std::map<std::vector<int64_t>, Entry> kernels_;
  UnitCache units_;
  bool dynamic_ = false;
  std::vector<std::vector<int64_t>> order_;
};

} // namespace
} // namespace onednn

Result<std::unique_ptr<LibraryCall>> LibraryCall::create(const plan::PlanT &plan, const plan::LibraryT &library,
                                                         std::vector<LibraryOperand> operands, PackingCache &packing, int threads) {
  return std::unique_ptr<LibraryCall>(new onednn::Call(plan, library, std::move(operands), packing, threads));
}

// OpenMP comes with oneDNN; it is looked up instead of linked, so that whichever runtime the process has is the one spoken to.
namespace {

struct OpenMP {
  int (*getMaxThreads)() = nullptr;
  void (*setNumThreads)(int) = nullptr;
};

const OpenMP &openMP() {
  static const OpenMP functions = [] {
    OpenMP found;
    found.getMaxThreads = reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
    found.setNumThreads = reinterpret_cast<void (*)(int)>(::dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    return found;
  }();
  return functions;
}

} // namespace

SerialOpenMP::SerialOpenMP() {
  const OpenMP &omp = openMP();
  if (!omp.getMaxThreads || !omp.setNumThreads)
    return;
  int now = omp.getMaxThreads();
  if (now != 1) {
    saved_ = now;
    omp.setNumThreads(1);
  }
}

SerialOpenMP::~SerialOpenMP() {
  if (saved_)
    openMP().setNumThreads(saved_);
}

void SerialOpenMP::forThisThread() {
  const OpenMP &omp = openMP();
  if (omp.getMaxThreads && omp.setNumThreads && omp.getMaxThreads() != 1)
    omp.setNumThreads(1);
}

bool exactInt8() {
  switch (dnnl::get_effective_cpu_isa()) {
  case dnnl::cpu_isa::avx2_vnni:
  case dnnl::cpu_isa::avx512_core_vnni:
  case dnnl::cpu_isa::avx512_core_bf16:
  case dnnl::cpu_isa::avx512_core_amx:
    return true;
  default:
    return false;
  }
}

std::string libraryVersion() {
  const dnnl_version_t *version = dnnl_version();
  return text("oneDNN ", version->major, ".", version->minor, ".", version->patch, " isa ",
              static_cast<int>(dnnl::get_effective_cpu_isa()));
}

} // namespace graphc::cpu
