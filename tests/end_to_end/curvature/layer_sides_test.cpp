// The two sides of each layer of each recorded model: the sum over rows of what
// goes in times the gradient of what comes out is the weight's gradient. The
// products, of all uses and parts of a weight, are written out here from the
// axes and ranges that weight_products names, on random numbers, and compared
// with the ops that make the gradient. The folders in GRADUS_MODELS hold more
// models.

#include "tests/tool/check/named_run.h"

#include "compiled.h"

#include "frontends/onnx/import.h"
#include "frontends/recipe/recipe.h"
#include "ir/build.h"
#include "passes/local/weight_products.h"
#include "passes/train_graphs.h"

#include <cmath>

using namespace gradus;
using namespace mlir;

namespace {

/// Larger products are of layers like those that are looked at.
constexpr double kLargest = 1 << 21;

/// The numbers of a tensor as a matrix of rows by features.
struct Rows {
  int64_t count, features;
  std::vector<double> numbers;
};

int64_t productOf(ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= size;
  return product;
}

/// The index of a number's place along each axis.
SmallVector<int64_t> positionsOf(int64_t at, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> positions(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; at /= shape[axis])
    positions[axis] = at % shape[axis];
  return positions;
}

Rows rowsAlong(const HostTensor &tensor, int64_t axis) {
  int64_t features = tensor.shape[axis];
  Rows rows{tensor.size() / features, features, {}};
  rows.numbers.resize(tensor.size());
  int64_t inner =
      productOf(ArrayRef<int64_t>(tensor.shape).drop_front(axis + 1));
  for (int64_t at = 0; at < tensor.size(); ++at) {
    int64_t feature = at / inner % features,
            row = at / (inner * features) * inner + at % inner;
    rows.numbers[row * features + feature] = tensor.floats[at];
  }
  return rows;
}

/// A row for each index: 1 at the index, else 0.
Rows oneHot(const HostTensor &indices, int64_t features) {
  Rows rows{indices.size(), features, {}};
  rows.numbers.resize(rows.count * features);
  for (int64_t row = 0; row < rows.count; ++row) {
    int64_t index = indices.integers[row];
    rows.numbers[row * features + (index < 0 ? index + features : index)] = 1;
  }
  return rows;
}

/// The patches of images under a window, in the order of the positions of the
/// op's gradient.
Rows patchesOf(const HostTensor &images, ConvolutionBackwardWeightsOp op) {
  ArrayRef<int64_t> taps = op.getType().getShape().drop_front(2),
                    places =
                        tensorType(op.getGradient()).getShape().drop_front(2);
  int64_t channels = images.shape[1], tapCount = productOf(taps),
          placeCount = productOf(places);
  Rows rows{images.shape[0] * placeCount, channels * tapCount, {}};
  rows.numbers.resize(rows.count * rows.features);
  ArrayRef<int64_t> spatial = ArrayRef<int64_t>(images.shape).drop_front(2);
  for (size_t at = 0; at < rows.numbers.size(); ++at) {
    int64_t row = at / rows.features, feature = at % rows.features;
    auto place = positionsOf(row % placeCount, places),
         tap = positionsOf(feature % tapCount, taps);
    int64_t from = row / placeCount * channels + feature / tapCount;
    bool isInside = true;
    for (size_t axis = 0; axis < spatial.size(); ++axis) {
      int64_t position = place[axis] * op.getStrides()[axis] +
                         tap[axis] * op.getDilations()[axis] -
                         op.getPadsBegin()[axis];
      isInside &= position >= 0 && position < spatial[axis];
      from = from * spatial[axis] + position;
    }
    rows.numbers[at] = isInside ? images.floats[from] : 0;
  }
  return rows;
}

Rows inputRows(const WeightProduct &product, const HostTensor &inputs) {
  if (product.kind == WeightKind::embedding)
    return oneHot(inputs, tensorType(product.op->getResult(0)).getDimSize(0));
  auto op = dyn_cast<ConvolutionBackwardWeightsOp>(product.op);
  return op && !product.isTransposed ? patchesOf(inputs, op)
                                     : rowsAlong(inputs, product.inputAxis);
}

Rows outputRows(const WeightProduct &product, const HostTensor &outputs) {
  return product.isTransposed
             ? patchesOf(outputs,
                         cast<ConvolutionBackwardWeightsOp>(product.op))
             : rowsAlong(outputs, product.outputAxis);
}

/// One side of a part: a column of the rows for each feature of the weight.
struct Columns {
  Rows rows;
  SideRange range;
  int64_t inner; // features for each one that the range counts

  Columns(Rows all, SideRange part, int64_t ofWeight)
      : rows(std::move(all)), range(part), inner(ofWeight / part.total) {}

  /// The column of a feature of the weight; -1 if the part has none.
  int64_t at(int64_t feature) const {
    int64_t place = feature / inner - range.to;
    if (place < 0 || place >= range.size)
      return -1;
    return (place + range.from) * inner + feature % inner;
  }
};

/// The features that axes of a tensor count.
int64_t sizeOf(RankedTensorType type, ArrayRef<int64_t> axes) {
  int64_t size = 1;
  for (int64_t axis : axes)
    size *= type.getDimSize(axis);
  return size;
}

using Values = DenseMap<Value, HostTensor>;

/// Adds a part of a weight's gradient by its definition.
void addPart(HostTensor &gradient, RankedTensorType weight,
             const WeightPart &part, const Values &values) {
  const WeightProduct &product = part.product;
  SmallVector<int64_t> sorted(product.axes);
  llvm::sort(sorted);
  SmallVector<int64_t> others = axesExcept(weight.getRank(), sorted);
  Columns in(inputRows(product, values.at(product.inputs)), part.inputs,
             sizeOf(weight, product.axes)),
      out(outputRows(product, values.at(product.outputs)), part.outputs,
          sizeOf(weight, others));
  ASSERT_EQ(in.rows.count, out.rows.count);
  // The features of a group that the weight has for each of the other side's.
  int64_t width = in.rows.features / product.groups,
          height = out.rows.features / product.groups;
  for (int64_t at = 0; at < gradient.size(); ++at) {
    auto position = positionsOf(at, weight.getShape());
    int64_t feature = 0, output = 0;
    for (int64_t axis : product.axes)
      feature = feature * weight.getDimSize(axis) + position[axis];
    for (int64_t axis : others)
      output = output * weight.getDimSize(axis) + position[axis];
    feature = in.at(feature);
    output = out.at(output);
    if (feature < 0 || output < 0)
      continue;
    if (product.groups > 1 && product.isTransposed)
      output += feature / width * height;
    else if (product.groups > 1)
      feature += output / height * width;
    for (int64_t row = 0; row < in.rows.count; ++row)
      gradient.floats[at] += in.rows.numbers[row * in.rows.features + feature] *
                             out.rows.numbers[row * out.rows.features + output];
  }
}

/// What makes a gradient of products, whose sides are given. All else that it
/// could depend on is random, so that a part that is not named shows.
class Evaluation {
public:
  Evaluation(ArrayRef<WeightPart> parts, Values &values) : values_(values) {
    for (const WeightPart &part : parts)
      products_.insert(part.product.op);
  }

  HostTensor of(Value value) {
    if (auto known = values_.find(value); known != values_.end())
      return known->second;
    Operation *op = value.getDefiningOp();
    bool isConstant = op && op->hasTrait<OpTrait::ConstantLike>();
    HostTensor result = isConstant || isOfProducts(value)
                            ? evaluated(op)
                            : randomTensor(tensorType(value), values_.size());
    return values_[value] = result;
  }

private:
  HostTensor evaluated(Operation *op) {
    SmallVector<HostTensor> operands;
    for (Value operand : op->getOperands())
      operands.push_back(of(operand));
    auto results = evaluateOp(op, operands);
    EXPECT_TRUE(succeeded(results));
    return succeeded(results) ? results->front() : HostTensor();
  }

  /// Whether one of the products is behind a value.
  bool isOfProducts(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || products_.contains(op))
      return op != nullptr;
    if (auto known = behind_.find(op); known != behind_.end())
      return known->second;
    behind_[op] = false; // until it is known
    bool is = llvm::any_of(op->getOperands(), [&](Value operand) {
      return isOfProducts(operand);
    });
    return behind_[op] = is;
  }

  Values &values_;
  DenseSet<Operation *> products_;
  DenseMap<Operation *, bool> behind_;
};

double costOf(ArrayRef<WeightPart> parts, RankedTensorType weight) {
  double cost = 0;
  for (const WeightPart &part : parts) {
    RankedTensorType type = tensorType(part.product.outputs);
    double rows = double(type.getNumElements()) /
                  type.getDimSize(part.product.outputAxis);
    cost += rows * weight.getNumElements();
  }
  return cost;
}

/// Random numbers for both sides of all products.
Values sidesOf(ArrayRef<WeightPart> parts, RankedTensorType weight) {
  Values values;
  uint64_t seed = 1;
  auto add = [&](Value value, int64_t classes) {
    if (!values.count(value))
      values[value] = randomTensor(tensorType(value), seed++, classes);
  };
  for (const WeightPart &part : parts) {
    add(part.product.inputs,
        part.product.kind == WeightKind::embedding
            ? tensorType(part.product.op->getResult(0)).getDimSize(0)
            : 2);
    add(part.product.outputs, 2);
  }
  return values;
}

void expectIdentity(ArrayRef<WeightPart> parts, ParameterUpdate update) {
  SCOPED_TRACE(update.getParameterName().str());
  Value gradient = update.getGradientUse().get();
  auto weight = tensorType(gradient);
  Values values = sidesOf(parts, weight);
  HostTensor expected = zeros(weight);
  for (const WeightPart &part : parts)
    addPart(expected, weight, part, values);
  HostTensor found = Evaluation(parts, values).of(gradient);
  double largest = 0;
  for (double number : expected.floats)
    largest = std::max(largest, std::abs(number));
  EXPECT_GT(largest, 0);
  // bf16 and f16 round the sum.
  Operation *product = parts.front().product.op;
  bool isWide = tensorType(product->getResult(0)).getElementType().isF32();
  expectNear({{"", found}}, {{"", expected}}, isWide ? 1e-12 : 0x1p-8,
             (isWide ? 1e-12 : parts.size() * 0x1p-9) * largest);
}

/// A file of a recorded case in a precision.
using Model = check::NamedRun;

std::vector<Model> models() {
  std::vector<Model> models;
  for (const auto &folder : check::smallCases())
    if (auto recorded = check::RecordedCase::open(folder); recorded.ok())
      for (const std::string &file : recorded->files())
        for (const char *precision : {"f32", "bf16"})
          models.push_back({folder, file, precision});
  return models;
}

/// A model's step right behind autodiff.
OwningOpRef<ModuleOp> stepOf(const Model &model, MLIRContext &context) {
  auto recorded = check::RecordedCase::open(model.folder);
  EXPECT_TRUE(recorded.ok()) << recorded.status();
  const check::Json &run = recorded->description().at("runs").at(0);
  auto recipe = recipe::read(recorded->recipe(model.file, run), "recipe",
                             {"precision=" + model.run});
  EXPECT_TRUE(recipe.ok()) << recipe.status();
  if (!recipe.ok())
    return {};
  ImportOptions options;
  options.dims = recipe->dims;
  options.trainable = recipe->trainable;
  options.recipe = recipe::toAttribute(*recipe, context);
  auto module = importOnnx(recorded->pathOf(model.file), options, context);
  EXPECT_TRUE(module.ok()) << module.status();
  if (!module.ok() || failed(runStages(**module, "gradients")))
    return {};
  return std::move(*module);
}

class LayerSides : public testing::TestWithParam<Model> {};

} // namespace

TEST_P(LayerSides, MakeTheGradient) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  auto module = stepOf(GetParam(), context);
  ASSERT_TRUE(module);
  GraphOp train = (*module->getOps<ProgramOp>().begin()).getGraph(kTrain);
  ForwardPass forward(train);
  int64_t seen = 0;
  for (auto update : train.getBody().front().getOps<ParameterUpdate>()) {
    Value gradient = update.getGradientUse().get();
    std::string reason;
    auto parts = weightParts(gradient, forward, reason);
    EXPECT_EQ(parts.empty(), !reason.empty());
    if (parts.empty() || costOf(parts, tensorType(gradient)) > kLargest)
      continue;
    ++seen;
    expectIdentity(parts, update);
    if (HasFailure())
      return;
  }
  // All that this one does with parameters is elementwise.
  bool isElementwise = StringRef(GetParam().folder.string()).ends_with("zero");
  EXPECT_EQ(seen > 0, !isElementwise);
}

INSTANTIATE_TEST_SUITE_P(Models, LayerSides, testing::ValuesIn(models()),
                         check::nameOf<Model>);
