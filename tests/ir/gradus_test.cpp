// The dialect as its documentation shows it: every op has an example, and every
// example is a program that runs.

#include "graphs.h"

#include "tests/this_build.h"
#include "llvm/ADT/StringExtras.h"

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace mlir;
using namespace gradus;
using namespace gradus::testing;

namespace {

/// A fenced block of MLIR, and the file that it stands in.
struct Example {
  std::string file, text;
};

std::string contentsOf(const std::string &path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<Example> examplesIn(const std::string &file) {
  std::vector<Example> examples;
  std::string text = contentsOf(std::string(GRADUS_SOURCE_DIR) + "/" + file);
  StringRef rest = text;
  while (true) {
    auto [before, after] = rest.split("```mlir\n");
    if (after.empty())
      return examples;
    auto [block, following] = after.split("```");
    examples.push_back({file, block.str()});
    rest = following;
  }
}

/// The *_ops.td of ir/, by name.
std::vector<std::string> opFiles() {
  std::vector<std::string> files;
  std::filesystem::path folder =
      std::filesystem::path(GRADUS_SOURCE_DIR) / "ir";
  for (const auto &entry :
       std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().filename().string().ends_with("_ops.td"))
      files.push_back(
          std::filesystem::relative(entry.path(), GRADUS_SOURCE_DIR));
  llvm::sort(files);
  return files;
}

std::vector<Example> allExamples() {
  std::vector<Example> all;
  for (const std::string &file : opFiles())
    llvm::append_range(all, examplesIn(file));
  return all;
}

/// A graph may stand alone in an example.
std::string asProgram(StringRef text) {
  if (text.ltrim().starts_with("gradus.program"))
    return text.str();
  return "gradus.program @example {\n" + text.str() + "}";
}

/// Every state of the program, at one.
StateMap statesOf(ModuleOp module) {
  StateMap states;
  module.walk([&](StateOp state) {
    HostTensor ones = zeros(cast<RankedTensorType>(state.getType()));
    llvm::fill(ones.floats, 1);
    states[state.getSymName()] = ones;
  });
  return states;
}

} // namespace

TEST(Examples, ShowEachOp) {
  std::string all;
  for (const Example &example : allExamples())
    all += example.text;
  for (RegisteredOperationName op : context().getRegisteredOperations())
    if (op.getDialectNamespace() == "gradus")
      EXPECT_NE(all.find(op.getStringRef().str() + " "), std::string::npos)
          << op.getStringRef().str() << " has no example in its .td file";
}

TEST(Examples, AreProgramsThatRun) {
  for (const Example &example : allExamples()) {
    SCOPED_TRACE(example.file + ":\n" + example.text);
    auto module = parse(asProgram(example.text));
    ASSERT_TRUE(module);
    std::mt19937 bits(7);
    StateMap states = statesOf(*module), gradients;
    module->walk([&](GraphOp graph) {
      auto inputs = randomInputs(graph, bits);
      EXPECT_TRUE(succeeded(evaluateGraph(graph, inputs, states, &gradients)));
    });
  }
}

TEST(Dialect, MakesConstantsOfFoldedValues) {
  auto module =
      parseGraph("", "%one = arith.constant dense<1.0> : tensor<f32>");
  OpBuilder builder(graphOf(*module).getBody().front().getTerminator());
  auto type = RankedTensorType::get({2, 3}, builder.getF32Type());
  Value ones = builder.createOrFold<BroadcastOp>(
      builder.getUnknownLoc(), type, lastOp(graphOf(*module))->getResult(0),
      ArrayRef<int64_t>{});
  EXPECT_TRUE(ones.getDefiningOp<arith::ConstantOp>());
}
