// The importer on bytes no exporter writes, and on options; what models look like when imported is in test/frontend/onnx.
#include "frontend/onnx/Import.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>
#include <random>
#include <unistd.h>

using namespace graphc;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

onnx::ModelProto parse(const char *text) {
  onnx::ModelProto model;
  auto status = onnx::OnnxParser::Parse(model, text);
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  return model;
}

/// A context outlives the modules made in it.
class OnnxImport : public testing::Test {
protected:
  mlir::MLIRContext context;
  std::vector<ImportDiagnostic> errors, remarks;
  ImportResult result;
  ImportOptions options;

  void import(std::string_view bytes, const std::string &name = "dir/m.onnx") {
    errors.clear();
    remarks.clear();
    result = importOnnxBytes(bytes, name, options, context,
                             [&](const ImportDiagnostic &d) { (d.code == Code::Ok ? remarks : errors).push_back(d); });
    EXPECT_EQ(errors.empty(), bool(result.module)) << "a module exactly when there is no error";
  }
  void import(const onnx::ModelProto &model) { import(model.SerializeAsString()); }
  std::string printed() {
    std::string out;
    llvm::raw_string_ostream stream(out);
    if (result.module)
      result.module->print(stream);
    for (auto &e : errors)
      stream << codeName(e.code) << " " << e.message << "\n";
    return out;
  }
  Code code() { return errors.empty() ? Code::Ok : errors[0].code; }
};

const char *const kAdd = R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[300] x) => (float[300] y) { y = Add (x, w) })";

onnx::ModelProto withWeight() {
  onnx::ModelProto model = parse(kAdd);
  auto *w = model.mutable_graph()->add_initializer();
  w->set_name("w");
  w->set_data_type(onnx::TensorProto::FLOAT);
  w->add_dims(300);
  w->set_raw_data(std::string(1200, '\1'));
  return model;
}

TEST_F(OnnxImport, RawWeightsStayInTheFile) {
  std::string bytes = withWeight().SerializeAsString();
  import(bytes);
  size_t at = bytes.find(std::string(1200, '\1'));
  EXPECT_THAT(printed(), HasSubstr("graph.weight @w : tensor<300xf32> \"m.onnx\" at " + std::to_string(at) + " bytes 1200"));
  EXPECT_TRUE(result.sideBytes.empty());
}

TEST_F(OnnxImport, VarintWeightsGoToTheSideFile) {
  onnx::ModelProto model = parse(kAdd);
  auto *w = model.mutable_graph()->add_initializer();
  w->set_name("w");
  w->set_data_type(onnx::TensorProto::FLOAT);
  w->add_dims(300);
  for (int i = 0; i < 300; ++i)
    w->add_float_data(static_cast<float>(i));
  import(model);
  EXPECT_THAT(printed(), HasSubstr("\"<side>\" at 0 bytes 1200"));
  ASSERT_EQ(result.sideBytes.size(), 1200u);
  float last;
  memcpy(&last, result.sideBytes.data() + 1196, 4);
  EXPECT_EQ(last, 299);
}

TEST_F(OnnxImport, EveryTruncationIsAnErrorNotACrash) {
  std::string bytes = withWeight().SerializeAsString();
  for (size_t size = 0; size < bytes.size(); ++size) {
    import(std::string_view(bytes).substr(0, size));
    // A prefix that ends between two fields is a smaller message; it lacks something else.
    EXPECT_FALSE(result.module && size < 1200) << size;
  }
}

TEST_F(OnnxImport, RandomDamageDoesNotCrash) {
  std::string bytes = withWeight().SerializeAsString();
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = bytes;
    for (int i = 0; i < 3; ++i)
      damaged[random() % 120] = static_cast<char>(random());
    import(damaged);
    damaged = bytes;
    damaged[bytes.size() - 1 - random() % 200] = static_cast<char>(random());
    import(damaged);
  }
}

TEST_F(OnnxImport, SizesThatDoNotFitTheData) {
  onnx::ModelProto model = withWeight();
  auto *w = model.mutable_graph()->mutable_initializer(0);
  w->set_dims(0, 299);
  import(model);
  EXPECT_EQ(code(), Code::ModelMalformed);
  EXPECT_THAT(printed(), HasSubstr("needs 1196 bytes, the model holds 1200"));
  w->set_dims(0, -1);
  import(model);
  EXPECT_THAT(printed(), HasSubstr("negative size"));
  w->set_dims(0, int64_t(1) << 62);
  import(model);
  EXPECT_THAT(printed(), HasSubstr("overflows"));
  w->set_dims(0, 75);
  w->set_data_type(onnx::TensorProto::COMPLEX128);
  import(model);
  EXPECT_EQ(code(), Code::UnsupportedOp);
  EXPECT_THAT(printed(), HasSubstr("complex128"));
}

TEST_F(OnnxImport, ExternalDataStaysBelowTheFolder) {
  fs::path folder = fs::path(testing::TempDir()) / ("onnx-import-" + std::to_string(getpid()));
  fs::create_directories(folder / "sub");
  std::ofstream(folder / "sub/w.bin", std::ios::binary) << std::string(8 + 1200, '\2');
  onnx::ModelProto model = withWeight();
  auto *w = model.mutable_graph()->mutable_initializer(0);
  w->clear_raw_data();
  w->set_data_location(onnx::TensorProto::EXTERNAL);
  auto set = [&](const std::string &location, const std::string &offset) {
    w->clear_external_data();
    auto *a = w->add_external_data();
    a->set_key("location");
    a->set_value(location);
    auto *b = w->add_external_data();
    b->set_key("offset");
    b->set_value(offset);
    import(model.SerializeAsString(), (folder / "m.onnx").string());
  };
  set("sub/w.bin", "8");
  EXPECT_THAT(printed(), HasSubstr("\"sub/w.bin\" at 8 bytes 1200"));
  set("sub/w.bin", "9");
  EXPECT_EQ(code(), Code::ModelMalformed);
  set("sub/w.bin", "18446744073709551615");
  EXPECT_EQ(code(), Code::ModelMalformed);
  set("../w.bin", "0");
  EXPECT_THAT(printed(), HasSubstr("not below the model's folder"));
  set("/etc/passwd", "0");
  EXPECT_THAT(printed(), HasSubstr("not below the model's folder"));
  fs::create_symlink("/etc", folder / "link");
  set("link/passwd", "0");
  EXPECT_THAT(printed(), HasSubstr("outside the model's folder"));
  set("sub/none.bin", "0");
  EXPECT_EQ(code(), Code::MissingInitializer);
  fs::remove_all(folder);
}

TEST_F(OnnxImport, UnreadablePath) {
  result = importOnnx("/nowhere/model.onnx", options, context, [&](const ImportDiagnostic &d) { errors.push_back(d); });
  EXPECT_EQ(code(), Code::ModelUnreadable);
  EXPECT_FALSE(result.module);
}

const char *const kReshape = R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[1, 4, 2] x) => (float[1, 8] y) {
  s = Constant <value = int64[2] {1, 8}> ()
  y = Reshape (x, s)
})";

TEST_F(OnnxImport, BatchWrittenIntoAShapeFollowsTheSymbol) {
  options.shapes["x"] = {{true, 0, 1, 64}, {false, 4}, {false, 2}};
  import(parse(kReshape));
  EXPECT_THAT(printed(), HasSubstr("#graph.dims<[x_d0, 8]>> {graph.name = \"y\"}"));
  EXPECT_THAT(printed(), HasSubstr("x_d0 = {hi = 64 : i64, lo = 1 : i64}"));
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_THAT(remarks[0].message, HasSubstr("follows x_d0"));
}

TEST_F(OnnxImport, SizeWrittenIntoAShapeFollowsTheSymbolWhereItStarts) {
  options.shapes["x"] = {{false, 4}, {true, 0, 0, -1}, {false, 6}};
  import(parse(R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[4, 1, 6] x) => (float[4, 2, 3] y) {
  s = Constant <value = int64[3] {4, 2, 3}> ()
  y = Reshape (x, s)
})"));
  EXPECT_THAT(printed(), HasSubstr("#graph.dims<[4, x_d1*2, 3]>> {graph.name = \"y\"}"));
}

TEST_F(OnnxImport, ShapeOptionErrors) {
  options.shapes["z"] = {{false, 4}};
  import(parse(kReshape));
  EXPECT_EQ(code(), Code::InvalidOption);
  EXPECT_THAT(printed(), HasSubstr("the inputs are x"));
  options.shapes = {{"x", {{false, 4}}}};
  import(parse(kReshape));
  EXPECT_THAT(printed(), HasSubstr("gives 1 sizes for input 'x', which has rank 3"));
}

TEST_F(OnnxImport, ParsesShapeOptions) {
  auto parsed = parseShapeOption("NAME=[1..64]x3x?x224");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->first, "NAME");
  ASSERT_EQ(parsed->second.size(), 4u);
  EXPECT_EQ(parsed->second[0].hi, 64);
  EXPECT_EQ(parsed->second[1].size, 3);
  EXPECT_TRUE(parsed->second[2].symbolic);
  for (const char *bad : {"x=3y4", "x=[1..", "x=[5..2]", "x=3x", "x=-1"})
    EXPECT_FALSE(parseShapeOption(bad).ok()) << bad;
}

TEST_F(OnnxImport, InputsBoundToValues) {
  auto model = parse(R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[2, 3] x, int64[2] shape) => (float[a, b] y) { y = Reshape (x, shape) })");
  import(model);
  EXPECT_EQ(code(), Code::UnsupportedOp);
  EXPECT_THAT(result.valueInputs, testing::ElementsAre("shape"));
  options.constantInputs.emplace("shape", HostTensor::of<int64_t>({2}, {3, 2}));
  import(model);
  EXPECT_THAT(printed(), HasSubstr("-> (tensor<3x2xf32> {graph.name = \"y\"})"));
  EXPECT_THAT(printed(), HasSubstr("%arg1: tensor<2xi64> {graph.name = \"shape\"}"));
  EXPECT_THAT(printed(), HasSubstr("graph.value_inputs = [\"shape\"]"));
}

TEST_F(OnnxImport, FunctionsAreInlined) {
  auto model = parse(R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
g (float[2] x) => (float[2] y) { y = local.scaled <by = 0.5> (x) }
<domain: "local", opset_import: ["" : 17]>
scaled <by> (a) => (b) { b = LeakyRelu <alpha : float = @by> (a) })");
  import(model);
  EXPECT_THAT(printed(), HasSubstr("graph.leaky_relu %arg0 {alpha = 5.000000e-01 : f64}"));
}

TEST_F(OnnxImport, FunctionsThatCallThemselvesEnd) {
  import(parse(R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
g (float[2] x) => (float[2] y) { y = local.f (x) }
<domain: "local", opset_import: ["" : 17, "local" : 1]>
f (a) => (b) { b = local.f (a) })"));
  EXPECT_EQ(code(), Code::ModelMalformed);
}

} // namespace
