// Programs written in C++; see program_builder.h.

#include "frontends/builder/program_builder.h"

#include "frontends/recipe/program_check.h"
#include "ir/build.h"
#include "ir/window.h"
#include "messages/message.h"
#include "runtime/well_known.h"

#include "mlir/IR/Verifier.h"

#include <algorithm>

namespace gradus {

using namespace mlir;

Shape Tensor::shape() const {
  if (!value_)
    return {};
  ArrayRef<int64_t> extents = tensorType(value_).getShape();
  return Shape(extents.begin(), extents.end());
}

ProgramBuilder::ProgramBuilder(MLIRContext &context, const std::string &name)
    : builder_(&context) {
  context.loadDialect<GradusDialect, arith::ArithDialect, math::MathDialect>();
  Location location = named(name);
  module_ = ModuleOp::create(location);
  builder_.setInsertionPointToStart(module_->getBody());
  program_ = ProgramOp::create(builder_, location, name, DictionaryAttr());
  builder_.createBlock(&program_.getBody());
  graph_ = GraphOp::create(builder_, location, well_known::kPredict,
                           builder_.getFunctionType({}, {}),
                           builder_.getArrayAttr({}), builder_.getArrayAttr({}),
                           StringAttr(), ArrayAttr(), ArrayAttr());
  builder_.createBlock(&graph_.getBody());
  ReturnOp end = ReturnOp::create(builder_, location, ValueRange());
  builder_.setInsertionPoint(end);
}

//===-- mistakes and locations --------------------------------------------===//

/// Remembers the first mistake; true once there is one.
bool ProgramBuilder::fails(bool isWrong, const std::string &words) {
  if (isWrong && mistake_.empty())
    mistake_ = words;
  return !mistake_.empty();
}

bool ProgramBuilder::lacks(std::initializer_list<Tensor> tensors) {
  bool isEmpty = std::any_of(tensors.begin(), tensors.end(),
                             [](Tensor x) { return !x.value(); });
  return fails(isEmpty, "a tensor is used that was never made");
}

bool ProgramBuilder::lacksIntegers(Tensor x, const std::string &where) {
  return lacks({x}) ||
         fails(!tensorType(x.value()).getElementType().isInteger(),
               message(where, ": expected integers"));
}

bool ProgramBuilder::lacksRank(Tensor x, int64_t rank,
                               const std::string &where) {
  if (lacks({x}))
    return true;
  return fails(int64_t(x.shape().size()) != rank,
               message(where, ": its input has shape [", joined(x.shape()),
                       "], expected rank ", rank));
}

Location ProgramBuilder::named(const std::string &name) {
  return NameLoc::get(builder_.getStringAttr(name));
}

Location ProgramBuilder::numbered(const char *op) {
  return named(message(op, "_", next_++));
}

//===-- inputs, parameters, constants -------------------------------------===//

Tensor ProgramBuilder::input(const std::string &name, const Shape &shape,
                             Type element) {
  if (fails(llvm::any_of(shape, [](int64_t extent) { return extent < 1; }),
            message("input \"", name, "\" has the impossible shape [",
                    joined(shape), "]")))
    return {};
  auto type =
      RankedTensorType::get(shape, element ? element : builder_.getF32Type());
  return Tensor(graph_.addInput(name, type, named(name)));
}

Tensor ProgramBuilder::integerInput(const std::string &name,
                                    const Shape &shape) {
  return input(name, shape, builder_.getI64Type());
}

Tensor ProgramBuilder::declare(const std::string &name, const Shape &shape,
                               InitAttr init, ElementsAttr value, Role role) {
  bool isWrong = llvm::any_of(shape, [](int64_t extent) { return extent < 1; });
  if (fails(isWrong,
            message("parameter \"", name, "\" has the impossible shape [",
                    joined(shape), "]")) ||
      fails(program_.lookupSymbol(name),
            message("two things are called \"", name, "\"")))
    return {};
  auto type = RankedTensorType::get(shape, builder_.getF32Type());
  OpBuilder states(graph_);
  StateOp::create(states, named(name), name, type, role, init, value,
                  /*differs_along=*/mlir::ArrayAttr());
  return Tensor(ReadOp::create(builder_, named(name), type, name));
}

Tensor ProgramBuilder::parameter(const std::string &name, const Shape &shape,
                                 Initializer rule) {
  return declare(name, shape,
                 InitAttr::get(builder_.getContext(), rule, FloatAttr()), {});
}

Tensor ProgramBuilder::parameter(const std::string &name, const Shape &shape,
                                 Initializer rule, double number) {
  FloatAttr value = builder_.getF64FloatAttr(number);
  return declare(name, shape, InitAttr::get(builder_.getContext(), rule, value),
                 {});
}

/// Returns null after a mistake.
DenseElementsAttr ProgramBuilder::elements(const Shape &shape,
                                           const std::vector<float> &values,
                                           const std::string &where) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  if (fails(count != int64_t(values.size()),
            message(where, ": ", values.size(), " values for shape [",
                    joined(shape), "]")))
    return {};
  return DenseElementsAttr::get(
      RankedTensorType::get(shape, builder_.getF32Type()),
      ArrayRef<float>(values));
}

Tensor ProgramBuilder::parameter(const std::string &name, const Shape &shape,
                                 const std::vector<float> &values) {
  DenseElementsAttr value = elements(shape, values, name);
  return value ? declare(name, shape, {}, value) : Tensor();
}

Tensor ProgramBuilder::constant(const Shape &shape,
                                const std::vector<float> &values) {
  DenseElementsAttr value = elements(shape, values, "constant");
  return value ? Tensor(arith::ConstantOp::create(builder_,
                                                  numbered("constant"), value))
               : Tensor();
}

//===-- functions ---------------------------------------------------------===//

template <typename Op> Tensor ProgramBuilder::unary(const char *op, Tensor x) {
  if (lacks({x}))
    return {};
  return Tensor(
      Op::create(builder_, numbered(op), x.value().getType(), x.value()));
}

Tensor ProgramBuilder::relu(Tensor x) { return unary<ReluOp>("relu", x); }
Tensor ProgramBuilder::tanh(Tensor x) { return unary<math::TanhOp>("tanh", x); }
Tensor ProgramBuilder::sigmoid(Tensor x) {
  return unary<SigmoidOp>("sigmoid", x);
}

/// Returns the shape that both broadcast to, as in NumPy; nothing if there is
/// none.
static std::optional<Shape> commonShape(const Shape &a, const Shape &b) {
  Shape shape(std::max(a.size(), b.size()), 1);
  for (const Shape &one : {a, b})
    for (size_t i = 0; i < one.size(); ++i) {
      int64_t &extent = shape[shape.size() - 1 - i],
              other = one[one.size() - 1 - i];
      if (extent != other && extent != 1 && other != 1)
        return std::nullopt;
      extent = std::max(extent, other);
    }
  return shape;
}

template <typename Op>
Tensor ProgramBuilder::binary(const char *op, Tensor a, Tensor b) {
  if (lacks({a, b}))
    return {};
  std::optional<Shape> shape = commonShape(a.shape(), b.shape());
  if (fails(!shape, message(op, ": shapes [", joined(a.shape()), "] and [",
                            joined(b.shape()), "] do not broadcast")))
    return {};
  Location location = numbered(op);
  Value left = broadcastLast(builder_, location, a.value(), *shape);
  Value right = broadcastLast(builder_, location, b.value(), *shape);
  return Tensor(Op::create(builder_, location, left, right));
}

Tensor ProgramBuilder::add(Tensor a, Tensor b) {
  return binary<arith::AddFOp>("add", a, b);
}
Tensor ProgramBuilder::multiply(Tensor a, Tensor b) {
  return binary<arith::MulFOp>("multiply", a, b);
}

Tensor ProgramBuilder::reshape(Tensor x, const Shape &shape) {
  if (lacks({x}))
    return {};
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  if (fails(count != tensorType(x.value()).getNumElements(),
            message("reshape: cannot make shape [", joined(shape), "] of [",
                    joined(x.shape()), "]")))
    return {};
  return Tensor(
      gradus::reshape(builder_, numbered("reshape"), x.value(), shape));
}

Tensor ProgramBuilder::flatten(Tensor x) {
  if (lacks({x}) || fails(x.shape().empty(), "flatten: its input is a scalar"))
    return {};
  int64_t rows = x.shape()[0];
  return reshape(x, {rows, tensorType(x.value()).getNumElements() / rows});
}

//===-- layers ------------------------------------------------------------===//

/// Adds a new vector along axis 1.
Tensor ProgramBuilder::plusBias(const std::string &layer, Tensor x) {
  Tensor bias = parameter(layer + ".bias", {x.shape()[1]}, Initializer::zeros);
  if (lacks({bias}))
    return {};
  Value repeated =
      broadcast(builder_, named(layer), bias.value(), x.shape(), {1});
  return Tensor(
      arith::AddFOp::create(builder_, named(layer), x.value(), repeated));
}

/// A window with every option filled in, and the spatial sizes of its result.
struct ProgramBuilder::Slid {
  Shape size, strides, pads, dilations, spatial;

  Window window() const { return {size, strides, pads, pads, dilations}; }
};

bool ProgramBuilder::fit(Tensor x, const WindowOptions &options, bool isPool,
                         const std::string &where, Slid &slid) {
  size_t rank = options.size.size();
  if (lacksRank(x, rank + 2, where) ||
      fails(rank == 0, where + ": its window has no size"))
    return false;
  Shape ones(rank, 1);
  slid = {options.size, options.strides, options.pads, options.dilations, {}};
  if (slid.strides.empty())
    slid.strides = isPool ? slid.size : ones;
  if (slid.pads.empty())
    slid.pads = Shape(rank, 0);
  if (slid.dilations.empty())
    slid.dilations = ones;
  for (const auto &[values, least] : {std::pair(&slid.size, 1),
                                      {&slid.strides, 1},
                                      {&slid.pads, 0},
                                      {&slid.dilations, 1}})
    if (fails(values->size() != rank ||
                  *std::min_element(values->begin(), values->end()) < least,
              message(where, ": [", joined(*values),
                      "] does not describe a window over ", rank, " axes")))
      return false;
  for (size_t d = 0; d < rank; ++d)
    slid.spatial.push_back(slid.window().outputSize(d, x.shape()[d + 2]));
  return !fails(*std::min_element(slid.spatial.begin(), slid.spatial.end()) < 1,
                message(where, ": a window of [", joined(slid.size),
                        "] does not fit into [", joined(x.shape()), "]"));
}

/// [N, channels, spatial...]
static RankedTensorType imageType(Tensor x, int64_t channels,
                                  const Shape &spatial) {
  Shape shape = {x.shape()[0], channels};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  return RankedTensorType::get(shape, tensorType(x.value()).getElementType());
}

Tensor ProgramBuilder::convolution(const std::string &layer, Tensor x,
                                   int64_t channels,
                                   const WindowOptions &options, bool bias,
                                   int64_t groups) {
  Slid slid;
  if (!fit(x, options, /*isPool=*/false, layer, slid))
    return {};
  int64_t inputs = x.shape()[1];
  if (fails(groups < 1 || inputs % groups || channels < 1 || channels % groups,
            message(layer, ": ", inputs, " and ", channels,
                    " channels do not divide into ", groups, " groups")))
    return {};
  Shape shape = {channels, inputs / groups};
  shape.insert(shape.end(), slid.size.begin(), slid.size.end());
  Tensor weight = parameter(layer + ".weight", shape);
  if (lacks({weight}))
    return {};
  Tensor y(ConvolutionOp::create(builder_, named(layer),
                                 imageType(x, channels, slid.spatial),
                                 x.value(), weight.value(), slid.strides,
                                 slid.pads, slid.pads, slid.dilations, groups));
  return bias ? plusBias(layer, y) : y;
}

Tensor ProgramBuilder::maxPool(Tensor x, const WindowOptions &options) {
  Slid slid;
  if (!fit(x, options, /*isPool=*/true, "max_pool", slid))
    return {};
  RankedTensorType type = imageType(x, x.shape()[1], slid.spatial);
  auto op = MaxPoolOp::create(
      builder_, numbered("max_pool"), type, type.clone(builder_.getI32Type()),
      x.value(), slid.size, slid.strides, slid.pads, slid.pads, slid.dilations);
  return Tensor(op.getResult());
}

Tensor ProgramBuilder::averagePool(Tensor x, const WindowOptions &options) {
  Slid slid;
  if (!fit(x, options, /*isPool=*/true, "average_pool", slid))
    return {};
  return Tensor(AveragePoolOp::create(builder_, numbered("average_pool"),
                                      imageType(x, x.shape()[1], slid.spatial),
                                      x.value(), slid.size, slid.strides,
                                      slid.pads, slid.pads, slid.dilations,
                                      /*count_include_pad=*/true));
}

//===-- ends --------------------------------------------------------------===//

void ProgramBuilder::output(const std::string &name, Tensor x) {
  if (!lacks({x}))
    graph_.addOutput(name, x.value());
}

absl::StatusOr<OwningOpRef<ModuleOp>>
ProgramBuilder::finish(DictionaryAttr recipe) {
  if (fails(graph_.getResultTypes().empty(), "the program has no outputs"))
    return invalid(program_.getSymName().str(), ": ", mistake_);
  if (recipe)
    program_.setRecipeAttr(recipe);
  std::string words;
  ScopedDiagnosticHandler handler(builder_.getContext(),
                                  [&](Diagnostic &diagnostic) {
                                    words += diagnostic.str();
                                    return success();
                                  });
  if (failed(verify(*module_)) || failed(recipe::checkProgram(program_)))
    return invalid(program_.getSymName().str(), ": ", words);
  return std::move(module_);
}

} // namespace gradus
