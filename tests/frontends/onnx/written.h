// Programs of a few ops, which are written as ONNX and imported again.

#pragma once

#include "frontends/onnx/export/program_model.h"
#include "frontends/onnx/operators/exports.h"

#include "small_model.h"

#include "mlir/Parser/Parser.h"

namespace gradus::testing {

/// A program whose graph gives %y.
struct Written {
  std::string inputs; // "%x: tensor<4xf32>, ..."
  std::string body, type;
  std::string states = {};

  std::string text() const {
    return "gradus.program @small {\n" + states + "gradus.graph @predict(" +
           inputs + ") -> (y: " + type + ") {\n" + body +
           "\ngradus.return %y : " + type + "\n}\n}\n";
  }
};

inline Imported parsed(const Written &program) {
  Imported result;
  mlir::DialectRegistry registry;
  registerDialects(registry);
  result.context = std::make_unique<mlir::MLIRContext>(
      registry, mlir::MLIRContext::Threading::DISABLED);
  result.module = mlir::parseSourceString<mlir::ModuleOp>(program.text(),
                                                          result.context.get());
  EXPECT_TRUE(result.module);
  return result;
}

inline std::string errorOf(const Written &program) {
  Imported model = parsed(program);
  auto written = gradus::onnx::writeProgram(model.program(), false);
  return written.ok() ? "" : std::string(written.status().message());
}

/// The import of what was written.
inline Imported importedAgain(Imported &model, bool forInference = false) {
  auto written = gradus::onnx::writeProgram(model.program(), forInference);
  if (!written.ok()) {
    ADD_FAILURE() << written.status().message();
    return {};
  }
  std::string path = temporaryFolder() + "written.onnx";
  std::ofstream(path, std::ios::binary) << written->model.SerializeAsString();
  return import(path);
}

/// Small numbers for each input: 0.1, 0.4, 0.7, ... or 0, 1, 2, 0, ...
inline std::vector<HostTensor> inputsOf(GraphOp graph) {
  std::vector<HostTensor> all;
  for (mlir::BlockArgument input : graph.getBody().getArguments()) {
    auto type = mlir::cast<mlir::RankedTensorType>(input.getType());
    bool isFloat = mlir::isa<mlir::FloatType>(type.getElementType());
    int64_t most = type.getElementType().isInteger(1) ? 2 : 3;
    HostTensor tensor = zeros(type.getShape(), isFloat);
    int64_t shift = input.getArgNumber();
    for (size_t i = 0; i < tensor.floats.size(); ++i)
      tensor.floats[i] = 0.1 + 0.15 * ((3 * i + shift) % 6);
    for (size_t i = 0; i < tensor.integers.size(); ++i)
      tensor.integers[i] =
          shift && most == 3 ? 1 + (i + shift) % 2 : (i + shift) % most;
    all.push_back(tensor);
  }
  return all;
}

/// The program and the import of what it is written as compute the same.
inline void expectSame(const Written &program) {
  Imported model = parsed(program), copy = parsed(program);
  Imported again = importedAgain(copy);
  ASSERT_EQ(again.error, "");
  if (!again.module)
    return;
  std::vector<HostTensor> inputs = inputsOf(model.predict());
  std::vector<HostTensor> expected = evaluate(model, inputs),
                          found = evaluate(again, inputs);
  ASSERT_EQ(expected.size(), found.size());
  EXPECT_EQ(expected[0].integers, found[0].integers);
  ASSERT_EQ(expected[0].floats.size(), found[0].floats.size());
  for (size_t i = 0; i < expected[0].floats.size(); ++i) {
    double a = expected[0].floats[i], b = found[0].floats[i];
    EXPECT_TRUE(std::isnan(a) == std::isnan(b)) << i;
    if (!std::isnan(a))
      EXPECT_NEAR(a, b, 1e-6 * std::max(1.0, std::abs(a))) << i;
  }
}

using Types = std::vector<std::string>;

/// The types of the nodes that a program is written as.
inline Types nodesOf(const Written &program) {
  expectSame(program);
  Imported model = parsed(program);
  auto written = gradus::onnx::writeProgram(model.program(), false);
  Types types;
  if (written.ok())
    for (const auto &node : written->model.graph().node())
      types.push_back(node.op_type());
  return types;
}

/// The output for these numbers, of the import of what a program is written as.
inline std::vector<double> outputOf(const std::string &body,
                                    const std::vector<double> &numbers) {
  std::string type = "tensor<" + std::to_string(numbers.size()) + "xf32>";
  Imported model = parsed({"%x: " + type, body + " : " + type, type});
  Imported again = importedAgain(model);
  return evaluate(again, {tensor({int64_t(numbers.size())}, numbers)})
      .at(0)
      .floats;
}

/// The ops of a graph and the nodes of the rows that write them.
inline std::set<std::pair<std::string, std::string>> rowsOf(GraphOp graph) {
  std::set<std::pair<std::string, std::string>> rows;
  for (mlir::Operation &op : graph.getBody().front())
    if (const gradus::onnx::ExportRow *row = gradus::onnx::findExport(&op))
      rows.emplace(row->op, row->node);
  return rows;
}

/// The set of operators and the version of the format that a program needs.
inline std::pair<int64_t, int64_t> versionsOf(const Written &program) {
  Imported model = parsed(program);
  auto written = gradus::onnx::writeProgram(model.program(), false);
  if (!written.ok())
    return {};
  return {written->model.opset_import(0).version(),
          written->model.ir_version()};
}

} // namespace gradus::testing
