// The two sides of each layer of each recorded model: the sum over rows of what
// goes in times the gradient of what comes out is the weight's gradient. The
// product is written out here from the axes that weight_products names, on
// random numbers, and compared with the ops that make the gradient.

#include "tests/this_build.h"
#include "tool/check/recorded_case.h"

#include "compiled.h"

#include "frontends/onnx/import.h"
#include "frontends/recipe/recipe.h"
#include "ir/build.h"
#include "passes/local/weight_products.h"
#include "passes/train_graphs.h"

#include <cmath>
#include <filesystem>
#include <set>

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
  if (auto op = dyn_cast<ConvolutionBackwardWeightsOp>(product.op))
    return patchesOf(inputs, op);
  return rowsAlong(inputs, product.inputAxis);
}

/// The weight's gradient by its definition.
HostTensor written(const WeightProduct &product, RankedTensorType weight,
                   const HostTensor &inputs, const HostTensor &outputs) {
  Rows in = inputRows(product, inputs),
       out = rowsAlong(outputs, product.outputAxis);
  EXPECT_EQ(in.count, out.count);
  int64_t width = in.features / product.groups,
          height = out.features / product.groups;
  std::set<int64_t> ofInputs(product.axes.begin(), product.axes.end());
  HostTensor result = zeros(weight);
  for (int64_t at = 0; at < result.size(); ++at) {
    auto position = positionsOf(at, weight.getShape());
    int64_t feature = 0, output = 0;
    for (int64_t axis : product.axes)
      feature = feature * weight.getDimSize(axis) + position[axis];
    for (int64_t axis = 0; axis < weight.getRank(); ++axis)
      if (!ofInputs.count(axis))
        output = output * weight.getDimSize(axis) + position[axis];
    feature += output / height * width;
    for (int64_t row = 0; row < in.count; ++row)
      result.floats[at] += in.numbers[row * in.features + feature] *
                           out.numbers[row * out.features + output];
  }
  return result;
}

/// What the ops from a product's to a gradient make of its operands.
HostTensor evaluated(Value value, const WeightProduct &product,
                     const HostTensor &inputs, const HostTensor &outputs) {
  Operation *op = value.getDefiningOp();
  SmallVector<HostTensor> operands;
  for (Value operand : op->getOperands())
    if (op != product.op)
      operands.push_back(evaluated(operand, product, inputs, outputs));
    else
      operands.push_back(operand == product.inputs ? inputs : outputs);
  auto results = evaluateOp(op, operands);
  EXPECT_TRUE(succeeded(results));
  return succeeded(results) ? results->front() : HostTensor();
}

double costOf(const WeightProduct &product, RankedTensorType weight) {
  RankedTensorType outputs = tensorType(product.outputs);
  return double(weight.getNumElements()) * outputs.getNumElements() /
         outputs.getDimSize(product.outputAxis);
}

void expectIdentity(const WeightProduct &product, ParameterUpdate update) {
  SCOPED_TRACE(update.getParameterName().str());
  Value gradient = update.getGradientUse().get();
  auto weight = tensorType(gradient);
  HostTensor inputs = randomTensor(tensorType(product.inputs), 1,
                                   product.kind == WeightKind::embedding
                                       ? weight.getDimSize(product.axes[0])
                                       : 2),
             outputs = randomTensor(tensorType(product.outputs), 2),
             found = evaluated(gradient, product, inputs, outputs),
             expected = written(product, weight, inputs, outputs);
  double largest = 0;
  for (double number : expected.floats)
    largest = std::max(largest, std::abs(number));
  EXPECT_GT(largest, 0);
  // bf16 and f16 round the sum.
  bool isWide = tensorType(product.op->getResult(0)).getElementType().isF32();
  expectNear({{"", found}}, {{"", expected}}, isWide ? 1e-12 : 0x1p-8,
             1e-12 * largest);
}

struct Model {
  std::string folder, file, precision;
};

std::vector<Model> models() {
  std::vector<Model> models;
  for (const auto &folder :
       check::findCases(GRADUS_SOURCE_DIR "/tests/data/models"))
    if (auto recorded = check::RecordedCase::open(folder); recorded.ok())
      for (const std::string &file : recorded->files())
        for (const char *precision : {"f32", "bf16"})
          if (recorded->missing(file).empty())
            models.push_back({folder, file, precision});
  return models;
}

std::string titleOf(const testing::TestParamInfo<Model> &info) {
  std::string name =
      std::filesystem::path(info.param.folder).filename().string() + "_" +
      std::filesystem::path(info.param.file).stem().string() + "_" +
      info.param.precision;
  for (char &letter : name)
    letter = llvm::isAlnum(letter) ? letter : '_';
  return name;
}

/// A model's step right behind autodiff.
OwningOpRef<ModuleOp> stepOf(const Model &model, MLIRContext &context) {
  auto recorded = check::RecordedCase::open(model.folder);
  EXPECT_TRUE(recorded.ok()) << recorded.status();
  const check::Json &run = recorded->description().at("runs").at(0);
  auto recipe = recipe::read(recorded->recipe(model.file, run), "recipe",
                             {"precision=" + model.precision});
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
    auto product = weightProduct(gradient, forward, reason);
    EXPECT_NE(product.has_value(), !reason.empty());
    if (!product || costOf(*product, tensorType(gradient)) > kLargest)
      continue;
    ++seen;
    expectIdentity(*product, update);
    if (HasFailure())
      return;
  }
  // All that this one does with parameters is elementwise.
  bool isElementwise = llvm::StringRef(GetParam().folder).ends_with("zero");
  EXPECT_EQ(seen > 0, !isElementwise);
}

INSTANTIATE_TEST_SUITE_P(Models, LayerSides, testing::ValuesIn(models()),
                         titleOf);
