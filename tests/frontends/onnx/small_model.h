// Small ONNX models written by hand, and what a model computes in the reference
// evaluator.
#pragma once

#include "frontends/onnx/file/onnx.pb.h"
#include "frontends/onnx/import.h"
#include "frontends/onnx/operators/operators.h"

#include "ir/evaluator/evaluator.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"

#include <gtest/gtest.h>

#include <concepts>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <unistd.h>

namespace gradus::testing {

using Shape = std::vector<int64_t>;

/// A folder of this process alone, so that two runs of the tests do not meet;
/// gone when it ends. With a slash at the end.
inline std::string temporaryFolder() {
  struct Folder {
    std::string path =
        ::testing::TempDir() + "gradus_onnx." + std::to_string(getpid()) + "/";
    Folder() { std::filesystem::create_directories(path); }
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  };
  static const Folder folder;
  return folder.path;
}

class SmallModel {
public:
  SmallModel() {
    proto_.set_ir_version(9);
    setOpset(20);
  }

  SmallModel &setOpset(int64_t version) {
    proto_.clear_opset_import();
    proto_.add_opset_import()->set_version(version);
    return *this;
  }

  /// An input; an extent of -1 has no name and no size.
  SmallModel &input(const std::string &name, const Shape &shape,
                    int type = ::onnx::TensorProto::FLOAT) {
    addValue(*graph().add_input(), name, shape, type);
    return *this;
  }

  SmallModel &output(const std::string &name) {
    graph().add_output()->set_name(name);
    return *this;
  }

  SmallModel &floats(const std::string &name, const Shape &shape,
                     const std::vector<float> &values) {
    ::onnx::TensorProto &tensor =
        addTensor(name, shape, ::onnx::TensorProto::FLOAT);
    tensor.mutable_float_data()->Add(values.begin(), values.end());
    return *this;
  }

  SmallModel &integers(const std::string &name, const Shape &shape,
                       const std::vector<int64_t> &values) {
    ::onnx::TensorProto &tensor =
        addTensor(name, shape, ::onnx::TensorProto::INT64);
    tensor.mutable_int64_data()->Add(values.begin(), values.end());
    return *this;
  }

  /// A node called "the <type>" whose attributes follow. The model gets an
  /// opset that has the op, unless setOpset follows.
  SmallModel &node(const std::string &type,
                   const std::vector<std::string> &inputs,
                   const std::vector<std::string> &outputs) {
    const onnx::Operator *op = onnx::findOperator(type);
    if (op && op->support.since > proto_.opset_import(0).version())
      setOpset(op->support.since);
    ::onnx::NodeProto &node = *graph().add_node();
    node.set_op_type(type);
    node.set_name("the " + type);
    for (const std::string &input : inputs)
      node.add_input(input);
    for (const std::string &output : outputs)
      node.add_output(output);
    return *this;
  }

  SmallModel &with(const std::string &key, std::integral auto value) {
    attribute(key).set_i(value);
    return *this;
  }
  SmallModel &with(const std::string &key, const Shape &values) {
    attribute(key).mutable_ints()->Add(values.begin(), values.end());
    return *this;
  }
  SmallModel &with(const std::string &key, const char *value) {
    attribute(key).set_s(value);
    return *this;
  }
  SmallModel &withNumber(const std::string &key, float value) {
    attribute(key).set_f(value);
    return *this;
  }

  ::onnx::ModelProto &proto() { return proto_; }
  ::onnx::GraphProto &graph() { return *proto_.mutable_graph(); }

  /// Writes the model to a file and returns its path.
  std::string write(const std::string &name = "model.onnx") const {
    std::string path = temporaryFolder() + name;
    std::ofstream(path, std::ios::binary) << proto_.SerializeAsString();
    return path;
  }

private:
  static void addValue(::onnx::ValueInfoProto &value, const std::string &name,
                       const Shape &shape, int type) {
    value.set_name(name);
    auto &tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape();
    for (int64_t extent : shape) {
      auto &dimension = *tensor.mutable_shape()->add_dim();
      if (extent >= 0)
        dimension.set_dim_value(extent);
    }
  }

  ::onnx::TensorProto &addTensor(const std::string &name, const Shape &shape,
                                 int type) {
    ::onnx::TensorProto &tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (int64_t extent : shape)
      tensor.add_dims(extent);
    return tensor;
  }

  ::onnx::AttributeProto &attribute(const std::string &key) {
    ::onnx::AttributeProto &attribute =
        *graph().mutable_node(graph().node_size() - 1)->add_attribute();
    attribute.set_name(key);
    return attribute;
  }

  ::onnx::ModelProto proto_;
};

/// A model in a context of its own.
struct Imported {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string error; // without the path in front

  ProgramOp program() { return *module->getOps<ProgramOp>().begin(); }
  GraphOp predict() { return program().getGraph("predict"); }
};

inline Imported import(const std::string &path,
                       const ImportOptions &options = {}) {
  Imported result;
  mlir::DialectRegistry registry;
  registerDialects(registry);
  result.context = std::make_unique<mlir::MLIRContext>(
      registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = importOnnx(path, options, *result.context);
  if (module.ok())
    result.module = std::move(*module);
  else
    result.error =
        std::string(module.status().message()).substr(path.size() + 2);
  return result;
}

inline Imported import(const SmallModel &model,
                       const ImportOptions &options = {}) {
  return import(model.write(), options);
}

/// Why a model whose output is "y" is refused.
inline std::string errorOf(SmallModel model) {
  return import(model.output("y")).error;
}

/// What the import of a model notes, with a recipe.
inline std::string notes(const std::string &path, const char *recipe) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  std::string words;
  mlir::ScopedDiagnosticHandler handler(&context,
                                        [&](mlir::Diagnostic &diagnostic) {
                                          words += diagnostic.str();
                                          return mlir::success();
                                        });
  ImportOptions options;
  options.recipe =
      mlir::cast<mlir::DictionaryAttr>(mlir::parseAttribute(recipe, &context));
  EXPECT_TRUE(importOnnx(path, options, context).ok());
  return words;
}

inline HostTensor tensor(const Shape &shape,
                         const std::vector<double> &values) {
  return {
      llvm::SmallVector<int64_t>(shape.begin(), shape.end()), true, values, {}};
}

/// 0, 1, 2, ... in a shape.
inline HostTensor counted(const Shape &shape) {
  HostTensor tensor = zeros(shape);
  std::iota(tensor.floats.begin(), tensor.floats.end(), 0.0);
  return tensor;
}

inline void expectEqual(const std::vector<double> &found,
                        const std::vector<double> &expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-6) << "element " << i;
}

/// The states as the program starts with them.
inline StateMap statesOf(ProgramOp program) {
  StateMap states;
  for (StateOp state : program.getOps<StateOp>())
    if (auto value = state.getValue())
      states[state.getSymName()] = *toHost(*value);
  return states;
}

/// The outputs of @predict.
inline std::vector<HostTensor> evaluate(Imported &model,
                                        const std::vector<HostTensor> &inputs) {
  EXPECT_EQ(model.error, "");
  if (!model.module)
    return {};
  StateMap states = statesOf(model.program());
  auto outputs = evaluateGraph(model.predict(), inputs, states);
  EXPECT_TRUE(mlir::succeeded(outputs));
  return mlir::succeeded(outputs)
             ? std::vector<HostTensor>(outputs->begin(), outputs->end())
             : std::vector<HostTensor>();
}

/// The only output of a model.
inline HostTensor evaluate(const SmallModel &model,
                           const std::vector<HostTensor> &inputs) {
  Imported imported = import(model);
  std::vector<HostTensor> outputs = evaluate(imported, inputs);
  return outputs.size() == 1 ? outputs[0] : HostTensor();
}

} // namespace gradus::testing
