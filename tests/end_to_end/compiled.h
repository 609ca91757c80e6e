// A program in both its forms: compiled and run by the runtime, and evaluated
// by the reference evaluator from the same state. For tests.
#pragma once

#include "codegen/compile.h"
#include "codegen/plan/plan.h"
#include "ir/evaluator/evaluator.h"
#include "runtime/session/session.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <map>

namespace gradus {

/// A parsed module with the context it lives in.
struct ModuleText {
  explicit ModuleText(llvm::StringRef text);
  ProgramOp program() { return *module->getOps<ProgramOp>().begin(); }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Values by name: inputs and outputs of a graph, or states.
using NamedTensors = std::map<std::string, HostTensor>;

/// Bytes of a tensor in a type of the runtime, and back.
std::vector<char> packed(const HostTensor &tensor,
                         const runtime::TensorType &type);
HostTensor unpacked(const void *bytes, const runtime::TensorType &type);

/// A tensor of numbers in (-1, 1), or of integers in [0, classes).
HostTensor randomTensor(mlir::RankedTensorType type, uint64_t seed,
                        int64_t classes = 2);

/// The bytes of a program's artifact, for this machine or for the emulated GPU;
/// the test fails if it cannot be compiled.
std::vector<char> artifactOf(llvm::StringRef text,
                             const std::string &target = "cpu");

class Compiled {
public:
  /// Compiles `text` for the device of `options`; the test fails if that fails.
  explicit Compiled(llvm::StringRef text, runtime::SessionOptions options = {});
  /// Opens an artifact; the test fails if that fails.
  explicit Compiled(std::vector<char> bytes,
                    runtime::SessionOptions options = {});

  /// Whether it could be compiled; if not, it has no states and runs nothing.
  bool ok() const { return session_ != nullptr; }

  /// One step of a graph by the runtime; its outputs by name.
  NamedTensors run(const std::string &graph, const NamedTensors &inputs);
  NamedTensors states() const;
  void setState(const std::string &name, const HostTensor &value);

  runtime::Session &session() { return *session_; }
  const std::vector<char> &bytes() const { return bytes_; }

private:
  void open(runtime::SessionOptions options);

  std::vector<char> bytes_;
  std::unique_ptr<runtime::Session> session_;
};

/// The tensor that a state without a value starts from: of the role
/// `hyperparameter` what its initializer says, of others zeros.
HostTensor startOf(StateOp state);

/// The same by the reference evaluator: the passes up to "optimize", no
/// codegen.
class Evaluated {
public:
  explicit Evaluated(llvm::StringRef text);

  NamedTensors run(const std::string &graph, const NamedTensors &inputs);
  NamedTensors states() const;
  void setState(const std::string &name, const HostTensor &value);
  GraphOp graph(const std::string &name) {
    return text_.program().getGraph(name);
  }

private:
  ModuleText text_;
  StateMap states_;
};

/// Expects each element within `absolute + relative * |expected|`, naming the
/// worst.
void expectNear(const NamedTensors &found, const NamedTensors &expected,
                double relative, double absolute);

} // namespace gradus
