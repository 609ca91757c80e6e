// Initializes a model's weights whose data file is missing as PyTorch does, by
// the kind of layer that uses them.
#pragma once

#include "ir/gradus.h"

#include "llvm/ADT/StringMap.h"

#include <string>

namespace onnx {
class GraphProto;
class NodeProto;
class TensorProto;
} // namespace onnx

namespace gradus::onnx {

class InitialWeights {
public:
  /// `rule` is one of --initialize. Rules other than `pytorch` replace
  /// PyTorch's only for matrices and kernels.
  InitialWeights(const ::onnx::GraphProto &graph, std::string rule,
                 mlir::MLIRContext &context);

  InitAttr of(const ::onnx::TensorProto &tensor) const;

private:
  struct Use {
    const ::onnx::NodeProto *node;
    int input;
    bool transposed; // between the tensor and the node
  };

  void add(const ::onnx::GraphProto &graph);
  std::optional<Use> layerOf(llvm::StringRef name, bool transposed = false,
                             int depth = 0) const;
  double fanIn(const ::onnx::TensorProto &weight, const Use &use) const;
  double fanInBeside(const Use &bias) const;
  std::optional<InitAttr> byLayer(const ::onnx::TensorProto &tensor) const;
  InitAttr byName(const ::onnx::TensorProto &tensor) const;
  InitAttr matrix(double fanIn) const;
  InitAttr make(Initializer rule, double value) const;

  llvm::StringMap<std::vector<std::pair<const ::onnx::NodeProto *, int>>>
      users_;
  llvm::StringMap<const ::onnx::NodeProto *> makers_;
  llvm::StringMap<const ::onnx::TensorProto *> weights_;
  std::string rule_;
  mlir::MLIRContext &context_;
};

} // namespace gradus::onnx
