// The C interface over the C++ one: handles, structs and error objects instead of classes and exceptions.
#include "frontend/graphc/runtime_c.h"

#include "frontend/graphc/runtime.h"

#include <algorithm>
#include <new>

using namespace graphc;

static_assert(GRAPHC_F64 == static_cast<int>(DType::F64) && GRAPHC_F32 == static_cast<int>(DType::F32) && GRAPHC_I64 == static_cast<int>(DType::I64) &&
                  GRAPHC_U64 == static_cast<int>(DType::U64) && GRAPHC_U8 == static_cast<int>(DType::U8) && GRAPHC_BOOL == static_cast<int>(DType::Bool),
              "the C header numbers types as DType does");

struct graphc_error {
  Code code;
  std::string text;
};
struct graphc_runtime {
  Runtime runtime;
};
struct graphc_model {
  Model model;
};
struct graphc_cancel {
  CancelToken token;
};
struct graphc_call {
  BoundCall call;
};

namespace {

/// For when there is not even memory for an error.
graphc_error lastResort{Code::OutOfMemory, "GC4001: no memory left"};

graphc_error *failed(const Status &status) noexcept {
  try {
    return new graphc_error{status.code(), status.str()};
  } catch (...) {
    return &lastResort;
  }
}

graphc_error *failed(std::exception_ptr failure) noexcept {
  try {
    std::rethrow_exception(failure);
  } catch (const Error &known) {
    return failed(Status(known.code(), known.message()));
  } catch (const std::bad_alloc &) {
    return failed(Status(Code::OutOfMemory, "the machine has no memory left"));
  } catch (const std::exception &other) {
    return failed(Status(Code::Internal, other.what()));
  } catch (...) {
    return failed(Status(Code::Internal, "an unknown exception"));
  }
}

/// Runs `body`; whatever it throws becomes the error returned.
template <typename Body>
graphc_error *guarded(Body body) noexcept {
  try {
    body();
    return nullptr;
  } catch (...) {
    return failed(std::current_exception());
  }
}

[[noreturn]] void refuse(Code code, const std::string &message) { throw Error(Status(code, message)); }

Shape shapeOf(const graphc_tensor &tensor) {
  if (tensor.rank < 0 || tensor.rank > GRAPHC_MAX_RANK)
    refuse(Code::InputRank, text("a tensor's rank is ", tensor.rank, "; it must be 0 to ", GRAPHC_MAX_RANK));
  return Shape(std::vector<int64_t>(tensor.dims, tensor.dims + tensor.rank));
}

HostTensor borrow(const graphc_tensor &tensor) {
  if (tensor.dtype < 0 || tensor.dtype >= kNumDTypes)
    refuse(Code::InputDType, text("a tensor's type is ", tensor.dtype, ", which is none of enum graphc_dtype"));
  Shape shape = shapeOf(tensor);
  if (!shape.checkedElements())
    refuse(Code::InputShape, text("a tensor has the impossible shape ", shape));
  return HostTensor::borrow(static_cast<DType>(tensor.dtype), std::move(shape), tensor.data);
}

std::vector<HostTensor> borrowAll(const graphc_tensor *tensors, size_t count) {
  std::vector<HostTensor> result;
  for (size_t i = 0; i < count; ++i)
    result.push_back(tensors[i].data ? borrow(tensors[i]) : HostTensor());
  return result;
}

/// Inputs of no elements need no data, so they are described even without.
std::vector<HostTensor> borrowInputs(const graphc_tensor *tensors, size_t count) {
  std::vector<HostTensor> result;
  for (size_t i = 0; i < count; ++i)
    result.push_back(borrow(tensors[i]));
  return result;
}

void describe(const HostTensor &tensor, graphc_tensor &out) {
  if (tensor.shape().rank() > GRAPHC_MAX_RANK)
    refuse(Code::Internal, "an output has more than 16 dimensions");
  out.dtype = static_cast<int32_t>(tensor.dtype());
  out.rank = tensor.shape().rank();
  std::copy(tensor.shape().begin(), tensor.shape().end(), out.dims);
  out.data = const_cast<void *>(tensor.raw());
}

/// Hands over the outputs that the call allocated.
void giveAll(std::vector<HostTensor> &from, graphc_tensor *to) {
  for (size_t i = 0; i < from.size(); ++i) {
    describe(from[i], to[i]);
    to[i].owner = from[i].ownsData() ? new HostTensor(std::move(from[i])) : nullptr;
  }
}

CallOptions callOptions(const graphc_call_options *options) {
  CallOptions result;
  if (options) {
    result.cancel = options->cancel ? &options->cancel->token : nullptr;
    result.flushDenormals = options->flush_denormals != 0;
  }
  return result;
}

graphc_error *describePort(const std::vector<ModelTensor> &tensors, size_t index, graphc_port *port) {
  return guarded([&] {
    if (index >= tensors.size())
      refuse(Code::UnknownName, text("there is no tensor ", index, "; the model has ", tensors.size()));
    const ModelTensor &tensor = tensors[index];
    if (tensor.dims.size() > GRAPHC_MAX_RANK)
      refuse(Code::Internal, text("'", tensor.name, "' has more than ", GRAPHC_MAX_RANK, " dimensions"));
    *port = {};
    port->name = tensor.name.c_str();
    port->dtype = static_cast<int32_t>(tensor.dtype);
    port->rank = static_cast<int32_t>(tensor.dims.size());
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      const std::string &dim = tensor.dims[d];
      bool fixed = !dim.empty() && dim.find_first_not_of("0123456789") == std::string::npos;
      port->dims[d] = fixed ? std::stoll(dim) : -1;
      port->dim_text[d] = dim.c_str();
    }
  });
}

} // namespace

extern "C" {

int graphc_error_code(const graphc_error *error) { return error ? static_cast<int>(error->code) : 0; }
const char *graphc_error_text(const graphc_error *error) { return error ? error->text.c_str() : ""; }
void graphc_error_free(graphc_error *error) {
  if (error != &lastResort)
    delete error;
}

void graphc_tensor_release(graphc_tensor *tensor) {
  if (!tensor || !tensor->owner)
    return;
  delete static_cast<HostTensor *>(tensor->owner);
  tensor->owner = tensor->data = nullptr;
}

const char *graphc_version(void) { return GRAPHC_VERSION; }

graphc_error *graphc_runtime_create(const graphc_runtime_options *options, graphc_runtime **runtime) {
  return guarded([&] {
    RuntimeOptions result;
    if (options) {
      result.threads = options->threads;
      if (options->affinity)
        result.affinity.assign(options->affinity, options->affinity + options->affinity_count);
      if (options->log)
        result.log = [log = options->log, user = options->log_user](const std::string &line) { log(user, line.c_str()); };
    }
    *runtime = new graphc_runtime{Runtime(std::move(result))};
  });
}
void graphc_runtime_free(graphc_runtime *runtime) { delete runtime; }
int32_t graphc_runtime_threads(const graphc_runtime *runtime) { return runtime->runtime.threads(); }

graphc_error *graphc_model_load(graphc_runtime *runtime, const char *path, graphc_model **model) {
  return guarded([&] { *model = new graphc_model{runtime->runtime.load(std::string(path))}; });
}
graphc_error *graphc_model_load_memory(graphc_runtime *runtime, const void *bytes, size_t size, int copy, graphc_model **model) {
  return guarded([&] { *model = new graphc_model{runtime->runtime.load({static_cast<const std::byte *>(bytes), size}, copy != 0)}; });
}
void graphc_model_free(graphc_model *model) { delete model; }

size_t graphc_model_input_count(const graphc_model *model) { return model->model.inputs().size(); }
size_t graphc_model_output_count(const graphc_model *model) { return model->model.outputs().size(); }
graphc_error *graphc_model_input(const graphc_model *model, size_t index, graphc_port *port) { return describePort(model->model.inputs(), index, port); }
graphc_error *graphc_model_output(const graphc_model *model, size_t index, graphc_port *port) { return describePort(model->model.outputs(), index, port); }

size_t graphc_model_symbol_count(const graphc_model *model) { return model->model.symbols().size(); }
graphc_error *graphc_model_symbol(const graphc_model *model, size_t index, graphc_symbol *symbol) {
  return guarded([&] {
    const auto &symbols = model->model.symbols();
    if (index >= symbols.size())
      refuse(Code::UnknownName, text("there is no size ", index, "; the model has ", symbols.size()));
    *symbol = {symbols[index].name.c_str(), symbols[index].lo, symbols[index].hi, symbols[index].multiple};
  });
}

void graphc_model_statistics(const graphc_model *model, graphc_statistics *statistics) {
  ModelStatistics s = model->model.statistics();
  *statistics = {s.weightBytes, s.preparedBytes, s.packedBytes, s.contexts, s.contextBytes, s.contextBytesPeak};
}

graphc_error *graphc_model_predict_bytes(const graphc_model *model, const graphc_tensor *inputs, size_t input_count, int64_t *bytes) {
  return guarded([&] {
    std::vector<Shape> shapes;
    for (size_t i = 0; i < input_count; ++i)
      shapes.push_back(shapeOf(inputs[i]));
    *bytes = model->model.predictBytes(shapes);
  });
}

graphc_error *graphc_cancel_create(graphc_cancel **cancel) {
  return guarded([&] { *cancel = new graphc_cancel; });
}
void graphc_cancel_request(graphc_cancel *cancel) { cancel->token.cancel(); }
void graphc_cancel_reset(graphc_cancel *cancel) { cancel->token.reset(); }
void graphc_cancel_free(graphc_cancel *cancel) { delete cancel; }

graphc_error *graphc_model_run(const graphc_model *model, const graphc_tensor *inputs, size_t input_count, graphc_tensor *outputs, size_t output_count,
                               const graphc_call_options *options) {
  return guarded([&] {
    std::vector<HostTensor> in = borrowInputs(inputs, input_count), out = borrowAll(outputs, output_count);
    if (out.empty() && !model->model.outputs().empty())
      refuse(Code::OutputBinding, text("the model has ", model->model.outputs().size(), " outputs, but none were given"));
    model->model.run(in, out, callOptions(options));
    giveAll(out, outputs);
  });
}

graphc_error *graphc_model_run_async(const graphc_model *model, const graphc_tensor *inputs, size_t input_count, const graphc_call_options *options,
                                     graphc_done done, void *user) {
  return guarded([&] {
    model->model.runAsync(
        borrowInputs(inputs, input_count),
        [done, user](std::vector<HostTensor> outputs, std::exception_ptr failure) {
          if (failure)
            return done(user, failed(failure), nullptr, 0);
          std::vector<graphc_tensor> given(outputs.size());
          if (graphc_error *problem = guarded([&] { giveAll(outputs, given.data()); }))
            return done(user, problem, nullptr, 0);
          done(user, nullptr, given.data(), given.size());
        },
        callOptions(options));
  });
}

graphc_error *graphc_call_create(const graphc_model *model, const graphc_tensor *inputs, size_t input_count, const graphc_tensor *outputs, size_t output_count,
                                 graphc_call **call) {
  return guarded([&] { *call = new graphc_call{model->model.bind(borrowInputs(inputs, input_count), borrowAll(outputs, output_count))}; });
}
graphc_error *graphc_call_run(graphc_call *call, const graphc_call_options *options) {
  return guarded([&] { call->call.run(callOptions(options)); });
}
graphc_error *graphc_call_output(const graphc_call *call, size_t index, graphc_tensor *output) {
  return guarded([&] {
    auto outputs = call->call.outputs();
    if (index >= outputs.size())
      refuse(Code::UnknownName, text("there is no output ", index, "; the model has ", outputs.size()));
    describe(outputs[index], *output);
    output->owner = nullptr;
  });
}
void graphc_call_free(graphc_call *call) { delete call; }
}
