// Writes a model in C++, without a model file:
//
//   ProgramBuilder net(context, "lenet");
//   Tensor x = net.input("image", {32, 1, 28, 28});
//   x = net.maxPool(net.relu(net.convolution("conv1", x, 6, {.size = {5, 5}})),
//   {.size = {2, 2}}); net.output("logits", net.dense("fc", net.flatten(x),
//   10)); absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> module =
//   net.finish(recipe);
//
// The first mistake is remembered and returned by finish(); what follows it
// does nothing. A layer's parameters are `<layer>.weight` and `<layer>.bias`,
// shaped as PyTorch has them.

#pragma once

#include "ir/gradus.h"

#include "mlir/IR/OwningOpRef.h"

#include "absl/status/statusor.h"

#include <string>
#include <vector>

namespace gradus {

using Shape = std::vector<int64_t>;

/// A value of the graph under construction; empty after a mistake.
class Tensor {
public:
  Tensor() = default;
  explicit Tensor(mlir::Value value) : value_(value) {}

  mlir::Value value() const { return value_; }
  Shape shape() const;

private:
  mlir::Value value_;
};

/// A window over the spatial axes. An empty option is 1 (strides; for pools the
/// window's size), 0 (pads, on both ends) or 1 (dilations) on every axis.
struct WindowOptions {
  Shape size;
  Shape strides = {};
  Shape pads = {};
  Shape dilations = {};
};

/// The keys that a query attends to; by default all.
struct AttentionOptions {
  bool causal = false; // a query sees no key after it
  Tensor mask = {};    // integers [N, keys]; 0 hides a key from all queries
};

class ProgramBuilder {
public:
  ProgramBuilder(mlir::MLIRContext &context, const std::string &name);

  // Sources of values. Types are f32 unless given.

  Tensor input(const std::string &name, const Shape &shape,
               mlir::Type element = {});
  Tensor integerInput(const std::string &name, const Shape &shape); // of i64
  /// A trained state that an initializer fills; `number` is the constant, the
  /// standard deviation, the half-width or the gain (see gradus.init).
  Tensor parameter(const std::string &name, const Shape &shape,
                   Initializer rule = Initializer::kaiming_uniform);
  Tensor parameter(const std::string &name, const Shape &shape,
                   Initializer rule, double number);
  /// A trained state that starts with these values, row-major.
  Tensor parameter(const std::string &name, const Shape &shape,
                   const std::vector<float> &values);
  Tensor constant(const Shape &shape, const std::vector<float> &values);

  // Layers with parameters; `bias` = false leaves the bias out.

  /// [..., in] -> [..., features]
  Tensor dense(const std::string &layer, Tensor x, int64_t features,
               bool bias = true);
  /// [N, C, spatial...] -> [N, channels, spatial...]
  Tensor convolution(const std::string &layer, Tensor x, int64_t channels,
                     const WindowOptions &window, bool bias = true,
                     int64_t groups = 1);
  /// Normalizes each channel of [N, C, spatial...]. The states
  /// `<layer>.running_mean` and `<layer>.running_var` keep `momentum` of their
  /// values at each step.
  Tensor batchNorm(const std::string &layer, Tensor x, double epsilon = 1e-5,
                   double momentum = 0.9);
  /// Normalizes along the last axis.
  Tensor layerNorm(const std::string &layer, Tensor x, double epsilon = 1e-5);

  // Functions.

  Tensor relu(Tensor x);
  Tensor tanh(Tensor x);
  Tensor sigmoid(Tensor x);
  Tensor gelu(Tensor x, bool byTanh = false);
  Tensor softmax(Tensor x);       // along the last axis
  Tensor add(Tensor a, Tensor b); // shapes broadcast as in NumPy
  Tensor multiply(Tensor a, Tensor b);
  Tensor scale(Tensor x, double factor);
  /// [..., m, k] x [..., k, n], or b [..., n, k] with `transposeB`. A `b` of
  /// rank 2 is used for all of `a`.
  Tensor matmul(Tensor a, Tensor b, bool transposeB = false);
  /// softmax(Q K^T / sqrt(width)) V for each head; [N, length, heads * width]
  /// each. A query that attends to no key gets zeros.
  Tensor attention(Tensor query, Tensor key, Tensor value, int64_t heads,
                   const AttentionOptions &options = {});
  /// Looks up rows of a table [count, width] by integers [...]; gives [...,
  /// width].
  Tensor lookUp(Tensor table, Tensor ids);
  Tensor maxPool(Tensor x, const WindowOptions &window);
  Tensor averagePool(Tensor x, const WindowOptions &window);
  Tensor globalAveragePool(Tensor x); // [N, C, spatial...] -> [N, C]
  Tensor reshape(Tensor x, const Shape &shape);
  Tensor transpose(Tensor x, const Shape &permutation);
  /// `size` elements along one axis, beginning at `start`.
  Tensor slice(Tensor x, int64_t axis, int64_t start, int64_t size);
  /// [N, ...] -> [N, the rest]
  Tensor flatten(Tensor x);

  // Outputs and the end.

  void output(const std::string &name, Tensor x);
  /// The module with the program; `recipe` may be null. Call it once, last.
  absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>>
  finish(mlir::DictionaryAttr recipe = {});

private:
  struct Slid; // a window fitted to an image
  bool fails(bool isWrong, const std::string &words);
  bool lacks(std::initializer_list<Tensor> tensors);
  bool lacksRank(Tensor x, int64_t rank, const std::string &where);
  bool lacksIntegers(Tensor x, const std::string &where);
  mlir::Location named(const std::string &name);
  mlir::Location numbered(const char *op);
  Tensor declare(const std::string &name, const Shape &shape, InitAttr init,
                 mlir::ElementsAttr value, Role role = Role::parameter);
  Tensor buffer(const std::string &name, const Shape &shape, double number);
  mlir::DenseElementsAttr elements(const Shape &shape,
                                   const std::vector<float> &values,
                                   const std::string &where);
  template <typename Op> Tensor unary(const char *op, Tensor x);
  template <typename Op> Tensor binary(const char *op, Tensor a, Tensor b);
  Tensor plusBias(const std::string &layer, Tensor x);
  Tensor heads(Tensor x, int64_t count);
  mlir::Value shown(Tensor key, const AttentionOptions &options);
  bool fit(Tensor x, const WindowOptions &window, bool isPool,
           const std::string &where, Slid &slid);

  mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::OpBuilder builder_;
  ProgramOp program_;
  GraphOp graph_;
  std::string mistake_;
  int next_ = 0; // number of the next op without a name
};

} // namespace gradus
