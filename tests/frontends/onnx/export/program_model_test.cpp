// The import of an export gives the program that was exported.

#include "frontends/onnx/export/program_model.h"

#include "../small_model.h"
#include "same_program.h"

#include "frontends/onnx/importer/constant.h"
#include "frontends/onnx/inventory.h"
#include "tests/this_build.h"
#include "tool/check/recorded_case.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace gradus;
using namespace gradus::testing;
using gradus::check::RecordedCase;

/// Computes what only constants give, as the import of a node does.
void foldConstants(GraphOp graph) {
  for (mlir::Operation &op :
       llvm::make_early_inc_range(graph.getBody().front())) {
    auto isConstant = [](mlir::Value value) {
      return mlir::matchPattern(value, mlir::m_Constant());
    };
    if (op.getNumOperands() == 0 || op.getNumResults() != 1 ||
        !llvm::all_of(op.getOperands(), isConstant))
      continue;
    llvm::SmallVector<HostTensor> operands;
    for (mlir::Value operand : op.getOperands()) {
      mlir::DenseElementsAttr elements;
      mlir::matchPattern(operand, mlir::m_Constant(&elements));
      operands.push_back(*toHost(elements));
    }
    auto results = evaluateOp(&op, operands);
    if (mlir::failed(results))
      continue;
    mlir::OpBuilder builder(&op);
    auto type = tensorType(op.getResult(0));
    op.replaceAllUsesWith(mlir::arith::ConstantOp::create(
        builder, op.getLoc(),
        gradus::onnx::toAttribute({(*results)[0], type.getElementType()})));
  }
}

/// A gather of evenly spaced known indices is a slice, as in the import.
void cutEvenly(GraphOp graph) {
  for (auto gather : llvm::make_early_inc_range(graph.getOps<GatherOp>())) {
    mlir::DenseElementsAttr indices;
    if (!mlir::matchPattern(gather.getIndices(), mlir::m_Constant(&indices)) ||
        gather.getBatchDims() != 0)
      continue;
    auto type = tensorType(gather.getInput());
    llvm::SmallVector<int64_t> at, shape(type.getShape()),
        starts(shape.size(), 0), steps(shape.size(), 1);
    for (llvm::APInt index : indices.getValues<llvm::APInt>())
      at.push_back(index.getSExtValue());
    int64_t axis = gather.getAxis(), step = at.size() > 1 ? at[1] - at[0] : 1;
    bool isEven = step != 0;
    for (size_t i = 1; i < at.size(); ++i)
      isEven &= at[i] - at[i - 1] == step;
    if (!isEven)
      continue;
    shape[axis] = at.size();
    starts[axis] = at[0];
    steps[axis] = step;
    mlir::OpBuilder builder(gather);
    mlir::Value cut = builder.createOrFold<SliceOp>(
        gather.getLoc(), type.clone(shape), gather.getInput(), starts, steps);
    gather.replaceAllUsesWith(
        reshape(builder, gather.getLoc(), cut, tensorType(gather).getShape()));
  }
}

/// Runs what the stage `model` does to each program, and what is known before.
void canonicalize(Imported &model) {
  mlir::PassManager manager(model.context.get());
  manager.addPass(mlir::createCanonicalizerPass());
  ASSERT_TRUE(mlir::succeeded(manager.run(*model.module)));
  foldConstants(model.predict());
  cutEvenly(model.predict());
  ASSERT_TRUE(mlir::succeeded(manager.run(*model.module)));
}

/// Returns what export and import change in a model; empty if nothing.
std::string changeOf(Imported &model) {
  canonicalize(model);
  auto written =
      gradus::onnx::writeProgram(model.program(), /*forInference=*/false);
  if (!written.ok())
    return std::string(written.status().message());
  std::string path = temporaryFolder() + "written.onnx";
  std::ofstream(path, std::ios::binary) << written->model.SerializeAsString();
  Imported again = import(path);
  if (!again.error.empty())
    return again.error;
  canonicalize(again);
  // In one context types and attributes are compared as text.
  return difference(model.predict(), again.predict());
}

struct ModelFileOf {
  std::string path;
  std::map<std::string, int64_t> dims;
};

std::vector<ModelFileOf> recordedFiles() {
  std::vector<ModelFileOf> files;
  constexpr int kMostParameters = 2000000; // others have no weights here
  for (const auto &folder :
       check::findCases(GRADUS_SOURCE_DIR "/tests/data/models"))
    if (auto recorded = RecordedCase::open(folder);
        recorded.ok() &&
        recorded->description().at("parameters_total").get<int>() <
            kMostParameters)
      for (const std::string &file : recorded->files())
        files.push_back({recorded->pathOf(file), recorded->dims(file)});
  return files;
}

/// Files of other architectures and forms; open sizes are 4.
std::vector<ModelFileOf> furtherFiles() {
  std::vector<ModelFileOf> files;
  // These two are for errors of the import.
  const std::set<std::string> refused = {"lacking", "table_whole"};
  for (const auto &entry : std::filesystem::directory_iterator(
           GRADUS_SOURCE_DIR "/tests/data/exports"))
    if (entry.path().extension() == ".onnx" &&
        !refused.count(entry.path().stem()))
      files.push_back({entry.path(), {}});
  std::sort(files.begin(), files.end(),
            [](const auto &a, const auto &b) { return a.path < b.path; });
  return files;
}

std::string nameOf(const std::string &path) {
  std::filesystem::path file(path);
  std::string name =
      file.parent_path().filename().string() + "_" + file.stem().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
}

class ExportedProgram : public ::testing::TestWithParam<ModelFileOf> {};

TEST_P(ExportedProgram, IsImportedAsItWas) {
  ImportOptions options;
  options.dims = GetParam().dims;
  options.initialize = "zeros";
  if (options.dims.empty())
    if (auto inventory = inventoryOfOnnx(GetParam().path, options);
        inventory.ok())
      for (const std::string &size : inventory->unknownSizes)
        options.dims[size] = 4;
  Imported model = import(GetParam().path, options);
  ASSERT_EQ(model.error, "");
  EXPECT_EQ(changeOf(model), "");
}

auto named = [](const auto &info) { return nameOf(info.param.path); };
INSTANTIATE_TEST_SUITE_P(Recorded, ExportedProgram,
                         ::testing::ValuesIn(recordedFiles()), named);
INSTANTIATE_TEST_SUITE_P(Further, ExportedProgram,
                         ::testing::ValuesIn(furtherFiles()), named);
