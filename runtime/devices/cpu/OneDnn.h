// Private to the OneDnn*.cpp files: the only header that shows oneDNN's types.
#pragma once

#include "runtime/devices/cpu/LibraryCall.h"

#include <dnnl.hpp>

#include <functional>
#include <map>
#include <mutex>
#include <shared_mutex>

namespace graphc::cpu::onednn {

using Desc = dnnl::memory::desc;

/// One operand at concrete sizes, in the library's dimension order (batch, channels, spatial).
struct View {
  bool present = false;
  DType dtype = DType::F32;
  std::vector<int64_t> dims, strides;
  int64_t offset = 0;             // elements
  const void *constant = nullptr; // address of the buffer
  int operand = -1;

  int rank() const { return static_cast<int>(dims.size()); }
  bool empty() const;
  int64_t byteOffset() const { return offset * static_cast<int64_t>(sizeOf(dtype)); }
  /// The part [begin, begin + count) along `axis`; a broadcast dimension stays as it is.
  View narrowed(int axis, int64_t begin, int64_t count) const;
};

/// A library command at concrete sizes.
struct Problem {
  const plan::LibraryT *library = nullptr;
  std::vector<View> operands; // [source, weights, bias, destination, post-op operands…]
  std::vector<int64_t> strides, dilations, padsBegin, padsEnd, kernelShape;
  int64_t groups = 1;
  int threads = 1;

  const View &source() const { return operands[0]; }
  const View &weights() const { return operands[1]; }
  const View &bias() const { return operands[2]; }
  const View &destination() const { return operands[3]; }
};

struct Argument {
  int tag = 0;
  Desc desc;
  int operand = -1;              // of the command, at byteOffset
  int64_t byteOffset = 0;
  const void *fixed = nullptr;   // packed or plain constant
  int64_t scratchOffset = -1;    // in the worker's scratch
};

/// A kernel of ours in the library's place. `addresses` are those of the operation's arguments, null where absent.
class OwnKernel {
public:
  virtual ~OwnKernel() = default;
  virtual void run(void *const *addresses) const = 0;
};

struct Operation {
  dnnl::primitive primitive; // empty: `own`, or else write zeros to the dense destination
  std::vector<Argument> arguments;
  int64_t zeroBytes = 0;
  std::shared_ptr<const OwnKernel> own;
};

/// An operation whose operands lie `moved` bytes further than it says (by argument; empty: where it says).
struct Placed {
  std::shared_ptr<const Operation> operation;
  std::vector<int64_t> moved;
};

using Slice = std::vector<Placed>;

struct Unit;

class Kernel final : public LibraryKernel {
public:
  int slices() const override { return static_cast<int>(slices_.size()); }
  int64_t scratchBytes() const override { return scratchBytes_; }
  const std::string &implementation() const override { return implementation_; }
  bool slow() const override { return slow_; }
  bool readsConstant(int operand) const override;

  void addSlice() { slices_.emplace_back(); }
  void addOperation(Operation operation, int64_t scratchBytes);
  void addImplementation(const std::string &name);
  /// Appends the unit's operations to the current slice, moved by `begin` entries along `axis` of `views`.
  void append(const Unit &unit, const std::vector<View> &views, int axis, int64_t begin);
  /// The operations of the only slice, to be repeated.
  std::shared_ptr<const Unit> asUnit() &&;
  const std::vector<Slice> &sliceList() const { return slices_; }

private:
  std::vector<Slice> slices_;
  int64_t scratchBytes_ = 0;
  std::string implementation_;
  bool slow_ = false;
};

/// What one slice does, reusable at other offsets.
struct Unit {
  Slice operations;
  int64_t scratchBytes = 0;
  std::string implementation;
};

/// Units for sizes that many kernels are put together from.
class UnitCache {
public:
  template <typename Build>
  std::shared_ptr<const Unit> find(const std::vector<int64_t> &key, Build build) {
    // Bounded: sizes that come and go must not fill memory. Kernels put together earlier keep what they use.
    constexpr size_t kMaxUnits = 256;
    std::lock_guard lock(mutex_);
    if (units_.size() >= kMaxUnits && !units_.count(key))
      units_.clear();
    auto &unit = units_[key];
    if (!unit)
      unit = build();
    return unit;
  }

private:
  std::mutex mutex_;
  std::map<std::vector<int64_t>, std::shared_ptr<const Unit>> units_;
};

/// Shared by the builders of one command.
struct Builder {
  dnnl::engine engine;
  PackingCache *packing = nullptr;
  UnitCache *units = nullptr; // not null: put the kernel together from units instead of primitives of its own
};

/// Everything about the views a unit depends on, except the size along `axis`, plus `extra`.
std::vector<int64_t> unitKey(const std::vector<View> &views, int axis, std::initializer_list<int64_t> extra);

/// Puts `kernel` together from units of 64, 32 … 1 images, `slices` slices of a batch in all: how a batch that was never seen runs
/// until it comes again. `addSlice` adds to a kernel the slice that computes the given views.
void appendImages(Kernel &kernel, const Builder &builder, const Problem &problem, int slices,
                  const std::function<void(Kernel &, const std::vector<View> &)> &addSlice);

/// Images [begin, begin + count) of a window operation's operands; weights and bias have no batch.
std::vector<View> imagesOf(std::vector<View> views, int64_t begin, int64_t count);

std::shared_ptr<Kernel> buildMatMul(const Builder &builder, const Problem &problem);
std::shared_ptr<Kernel> buildConvolution(const Builder &builder, const Problem &problem);
std::shared_ptr<Kernel> buildDeconvolution(const Builder &builder, const Problem &problem);
std::shared_ptr<Kernel> buildWeightGradient(const Builder &builder, const Problem &problem);
std::shared_ptr<Kernel> buildPooling(const Builder &builder, const Problem &problem);
/// On AMX only: elsewhere a plan has no such command.
std::shared_ptr<Kernel> buildAttention(const Builder &builder, const Problem &problem);
/// A product of two matrices with constant weights as a kernel of ours, where that is faster than the library's; false: it is not.
bool addAmxMatMul(Kernel &kernel, const Builder &builder, const Problem &problem, const std::vector<View> &operands);
/// The same for a convolution that is a product of pixels and weights.
bool addAmxPointwise(Kernel &kernel, const Builder &builder, const Problem &problem);

// ---- shared pieces (OneDnnPieces.cpp) ----

/// Thrown inside the OneDnn files, turned into a Status at their border.
struct Failure {
  Status status;
};

dnnl::memory::data_type dataType(DType type);
Desc describe(const View &view);
Argument argument(int tag, const View &view);
Argument argument(int tag, const Desc &desc, const View &view);

/// Post-ops as attributes; `views` are the command's operands already narrowed to the slice. Appends the arguments of binary
/// post-ops.
dnnl::primitive_attr attributes(const Problem &problem, const std::vector<View> &views, std::vector<Argument> &arguments);

/// A constant in the layout `wanted`, through the packing cache; plain when that is what the library wants.
Argument packed(const Builder &builder, int tag, const View &view, const Desc &plain, const Desc &wanted);

/// The worker's scratch from `offset` on.
Argument scratch(int64_t offset);
/// Appends an operation of ours, whose scratch ends at `scratchBytes`.
void addOwn(Kernel &kernel, std::shared_ptr<const OwnKernel> own, std::vector<Argument> arguments, int64_t scratchBytes);

/// Runs `primitive` with a scratchpad behind `scratchUsed` bytes of the worker's scratch.
template <typename PrimitiveDesc>
void addPrimitive(Kernel &kernel, const PrimitiveDesc &desc, dnnl::primitive primitive, std::vector<Argument> arguments,
                  int64_t scratchUsed = 0) {
  Desc scratchpad = desc.scratchpad_desc();
  int64_t bytes = static_cast<int64_t>(scratchpad.get_size());
  if (bytes > 0) {
    Argument scratch;
    scratch.tag = DNNL_ARG_SCRATCHPAD;
    scratch.desc = scratchpad;
    scratch.scratchOffset = scratchUsed;
    arguments.push_back(scratch);
  }
  kernel.addOperation({std::move(primitive), std::move(arguments), 0, nullptr}, scratchUsed + bytes);
}

/// Weights [O, I/g, k…] (deconvolution: [I, O/g, k…]) as the library's [g, O/g, I/g, k…] or, ungrouped, [O, I, k…].
View libraryWeights(View view, int64_t groups, bool transposed);
/// The reference loops, or im2col and gemm: what the library takes when no kernel of its own likes the layout.
bool isFallback(std::string_view name);

/// Into how many slices a command of so many multiply-adds is worth cutting.
int usefulSlices(double multiplyAdds, int threads);

} // namespace graphc::cpu::onednn
