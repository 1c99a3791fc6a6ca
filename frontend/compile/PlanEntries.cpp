#include "frontend/compile/PlanEntries.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace graphc {

plan::DType planDType(Type type) {
  if (type.isF64())
    return plan::DType::F64;
  if (type.isF32())
    return plan::DType::F32;
  if (type.isF16())
    return plan::DType::F16;
  if (type.isBF16())
    return plan::DType::BF16;
  bool uns = type.isUnsignedInteger();
  switch (cast<IntegerType>(type).getWidth()) {
  case 64:
    return uns ? plan::DType::U64 : plan::DType::I64;
  case 32:
    return uns ? plan::DType::U32 : plan::DType::I32;
  case 16:
    return uns ? plan::DType::U16 : plan::DType::I16;
  case 8:
    return uns ? plan::DType::U8 : plan::DType::I8;
  default:
    return plan::DType::Bool;
  }
}

std::string nameOf(Location loc) {
  auto named = loc->findInstanceOf<NameLoc>();
  return named ? named.getName().str() : "";
}
std::string textOf(Location loc) {
  auto file = loc->findInstanceOf<FileLineColLoc>();
  std::string name = nameOf(loc);
  if (!file)
    return name;
  std::string text = file.getFilename().str() + ":" + std::to_string(file.getLine());
  return name.empty() ? text : text + " (" + name + ")";
}

std::optional<plan::PostOpKind> postOpKind(StringRef kind) {
  return llvm::StringSwitch<std::optional<plan::PostOpKind>>(kind)
      .Case("relu", plan::PostOpKind::Relu)
      .Case("clip", plan::PostOpKind::Clip)
      .Case("gelu_erf", plan::PostOpKind::GeluErf)
      .Case("gelu_tanh", plan::PostOpKind::GeluTanh)
      .Case("tanh", plan::PostOpKind::Tanh)
      .Case("logistic", plan::PostOpKind::Logistic)
      .Case("swish", plan::PostOpKind::Swish)
      .Case("hard_swish", plan::PostOpKind::HardSwish)
      .Case("hard_sigmoid", plan::PostOpKind::HardSigmoid)
      .Case("elu", plan::PostOpKind::Elu)
      .Case("abs", plan::PostOpKind::Abs)
      .Case("sqrt", plan::PostOpKind::Sqrt)
      .Case("binary_add", plan::PostOpKind::BinaryAdd)
      .Case("binary_sub", plan::PostOpKind::BinarySub)
      .Case("binary_mul", plan::PostOpKind::BinaryMul)
      .Case("binary_div", plan::PostOpKind::BinaryDiv)
      .Default(std::nullopt);
}

std::unique_ptr<plan::AttributeT> routineAttribute(NamedAttribute attr) {
  auto entry = std::make_unique<plan::AttributeT>();
  entry->name = attr.getName().str();
  if (auto integer = dyn_cast<IntegerAttr>(attr.getValue()))
    entry->ints.push_back(integer.getType().isInteger(1) ? integer.getValue().getZExtValue() : integer.getInt());
  else if (auto number = dyn_cast<FloatAttr>(attr.getValue()))
    entry->floats.push_back(number.getValueAsDouble());
  else if (auto string = dyn_cast<StringAttr>(attr.getValue()))
    entry->strings.push_back(string.str());
  else if (isa<UnitAttr>(attr.getValue()))
    entry->ints.push_back(1);
  else if (auto array = dyn_cast<DenseI64ArrayAttr>(attr.getValue()))
    entry->ints.assign(array.asArrayRef().begin(), array.asArrayRef().end());
  else
    return nullptr;
  return entry;
}

void addLaunch(plan::KernelT &entry, const codegen::cuda::KernelSource &source, int module) {
  assert(entry.symbol == source.name && "kernels are compiled in the order of the module");
  entry.module_index = module;
  entry.threads = source.launch.threads;
  entry.items_per_block = source.launch.itemsPerBlock;
}

void addModules(plan::PlanT &plan, codegen::cuda::DeviceCode &device) {
  plan.target = plan::Target::Cuda;
  for (codegen::cuda::DeviceModule &code : device.modules) {
    auto entry = std::make_unique<plan::CudaModuleT>();
    entry->name = code.name;
    for (codegen::cuda::DeviceImage &image : code.images) {
      auto part = std::make_unique<plan::CudaImageT>();
      part->arch = image.architecture;
      part->kind = image.isPtx() ? plan::ImageKind::PTX : plan::ImageKind::CUBIN;
      const auto *bytes = reinterpret_cast<const uint8_t *>(image.bytes.data());
      part->bytes.assign(bytes, bytes + image.bytes.size());
      entry->images.push_back(std::move(part));
    }
    plan.modules.push_back(std::move(entry));
  }
}

} // namespace graphc
