// Networks, samples and runs of them; see trained.h.

#include "trained.h"

#include "frontends/recipe/recipe.h"
#include "passes/passes.h"

#include "mlir/Pass/PassManager.h"

#include "llvm/Support/xxhash.h"

#include <cmath>

using namespace gradus;
using namespace gradus::curvature;

//===-- networks ----------------------------------------------------------===//

Network curvature::denseNetwork() {
  return {.sample = {5},
          .positions = {},
          .classes = 4,
          .tokens = 0,
          .layers = [](ProgramBuilder &net, Tensor x) {
            x = net.layerNorm("norm", net.dense("fc1", x, 6));
            return net.dense("fc2", net.relu(x), 4);
          }};
}

Network curvature::plainNetwork() {
  return {.sample = {5},
          .positions = {},
          .classes = 4,
          .tokens = 0,
          .layers = [](ProgramBuilder &net, Tensor x) {
            return net.dense("fc2", net.relu(net.dense("fc1", x, 6)), 4);
          }};
}

Network curvature::imageNetwork() {
  return {.sample = {2, 6, 6},
          .positions = {},
          .classes = 3,
          .tokens = 0,
          .layers = [](ProgramBuilder &net, Tensor x) {
            x = net.relu(net.convolution(
                "conv1", x, 6,
                {.size = {3, 3}, .strides = {2, 2}, .pads = {1, 1}}));
            x = net.relu(net.convolution("conv2", x, 6, {.size = {2, 2}},
                                         /*bias=*/true, /*groups=*/2));
            return net.dense("fc", net.flatten(x), 3);
          }};
}

Network curvature::tokenNetwork() {
  return {.sample = {4},
          .positions = {4},
          .classes = 7,
          .tokens = 7,
          .layers = [](ProgramBuilder &net, Tensor x) {
            x = net.lookUp(net.parameter("table.weight", {7, 5}), x);
            x = net.dense("hidden", net.layerNorm("norm", x), 6);
            return net.dense("head", net.relu(x), 7);
          }};
}

//===-- recipes -----------------------------------------------------------===//

Json curvature::plain(Json more) {
  Json recipe = {
      {"loss", {{"type", "softmax_cross_entropy"}, {"class_axis", -1}}},
      {"optimizer", {{"type", "sgd"}, {"learning_rate", 0.05}}}};
  recipe.update(more);
  return recipe;
}

Json curvature::preconditioned(Json precondition, Json more) {
  if (!precondition.contains("type"))
    precondition["type"] = "thor";
  Json recipe = plain(more);
  recipe["precondition"] = precondition;
  return recipe;
}

Json curvature::reduced(int64_t components, Json more) {
  Json recipe = plain(more);
  recipe["dim_reduce"]["components"] = components;
  return recipe;
}

namespace {

/// Random numbers in (-1, 1) by name, [rows, shape...].
HostTensor rowsOf(StateOp parameter, int64_t rows) {
  auto type = mlir::cast<mlir::RankedTensorType>(parameter.getType());
  llvm::SmallVector<int64_t> shape{rows};
  llvm::append_range(shape, type.getShape());
  return randomTensor(type.clone(shape),
                      llvm::xxh3_64bits(parameter.getSymName()));
}

/// Makes the rows of all tensors together orthonormal (Gram and Schmidt).
void orthonormalize(std::vector<HostTensor> &parts, int64_t rows) {
  auto forEach = [&](int64_t a, int64_t b, auto visit) {
    for (HostTensor &part : parts)
      for (int64_t i = 0, size = part.size() / rows; i < size; ++i)
        visit(part.floats[a * size + i], part.floats[b * size + i]);
  };
  auto product = [&](int64_t a, int64_t b) {
    double sum = 0;
    forEach(a, b, [&](double one, double other) { sum += one * other; });
    return sum;
  };
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t before = 0; before < row; ++before) {
      double along = product(row, before);
      forEach(row, before,
              [&](double &own, double other) { own -= along * other; });
    }
    double length = std::sqrt(product(row, row));
    forEach(row, row, [&](double &own, double) { own /= length; });
  }
}

/// Adds directions of all parameters as the fixed states of `dim_reduce`; those
/// of `still` are zeros.
void addBasis(ProgramOp program, int64_t rows,
              const std::vector<std::string> &still) {
  std::vector<StateOp> parameters;
  std::vector<HostTensor> parts;
  for (auto state : program.getBody().getOps<StateOp>())
    if (state.getRole() == Role::parameter) {
      parameters.push_back(state);
      parts.push_back(rowsOf(state, rows));
      if (llvm::is_contained(still, state.getSymName()))
        parts.back().floats.assign(parts.back().floats.size(), 0.0);
    }
  orthonormalize(parts, rows);
  for (auto [parameter, part] : llvm::zip_equal(parameters, parts)) {
    mlir::OpBuilder builder(parameter);
    builder.setInsertionPointAfter(parameter);
    auto type = mlir::RankedTensorType::get(part.shape, builder.getF32Type());
    std::vector<float> numbers(part.floats.begin(), part.floats.end());
    auto state = StateOp::create(
        builder, parameter.getLoc(),
        builder.getStringAttr("dim_reduce/basis/" + parameter.getSymName()),
        mlir::TypeAttr::get(type),
        RoleAttr::get(builder.getContext(), Role::slot), InitAttr(),
        mlir::DenseElementsAttr::get(type, llvm::ArrayRef<float>(numbers)),
        /*differs_along=*/mlir::ArrayAttr());
    state->setAttr("fixed", builder.getUnitAttr());
  }
}

/// Whether methods of a recipe take parameters out of the model, or add some,
/// which happens before directions of them make sense.
bool changesModel(const Json &recipe) {
  return recipe.contains("less_bn") || recipe.contains("fc_to_fn");
}

void runModelStage(mlir::ModuleOp module) {
  mlir::PassManager manager(module.getContext());
  buildTrainingPipeline(manager, {.stopAfter = "model", .startAfter = ""});
  EXPECT_TRUE(succeeded(manager.run(module)));
}

Shape batched(Shape shape, int64_t batch) {
  shape.insert(shape.begin(), batch);
  return shape;
}

mlir::OwningOpRef<mlir::ModuleOp> moduleOf(mlir::MLIRContext &context,
                                           const Network &network,
                                           const Json &recipe, int64_t batch) {
  auto read = recipe::read(recipe.dump(), "the test's recipe");
  EXPECT_TRUE(read.ok()) << read.status();
  if (!read.ok())
    return {};
  ProgramBuilder net(context, "network");
  Shape shape = batched(network.sample, batch);
  Tensor x =
      network.tokens ? net.integerInput("x", shape) : net.input("x", shape);
  net.output("output", network.layers(net, x));
  auto module = net.finish(recipe::toAttribute(*read, context));
  EXPECT_TRUE(module.ok()) << module.status();
  if (module.ok() && changesModel(recipe) && recipe.contains("dim_reduce"))
    runModelStage(**module);
  if (module.ok() && recipe.contains("dim_reduce"))
    for (ProgramOp program : (*module)->getOps<ProgramOp>())
      addBasis(program, recipe["dim_reduce"].value("components", 2),
               network.still);
  return module.ok() ? std::move(*module) : mlir::OwningOpRef<mlir::ModuleOp>();
}

} // namespace

std::string curvature::textOf(const Network &network, const Json &recipe,
                              int64_t batch) {
  mlir::MLIRContext context;
  auto module = moduleOf(context, network, recipe, batch);
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (module)
    module->print(stream);
  return text;
}

std::string curvature::refusalOf(const Network &network, const Json &recipe) {
  if (auto read = recipe::read(recipe.dump(), "r"); !read.ok())
    return std::string(read.status().message());
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = moduleOf(context, network, recipe, kSamples);
  std::string said;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &each) {
    said += each.str();
    return mlir::success();
  });
  mlir::PassManager manager(&context);
  buildTrainingPipeline(manager);
  EXPECT_TRUE(module && failed(manager.run(*module)));
  return said;
}

//===-- runs --------------------------------------------------------------===//

Trained::Trained(const Network &network, const Json &recipe, int64_t batch,
                 runtime::SessionOptions options)
    : network_(network), batch_(batch),
      run_(textOf(network, recipe, batch), options) {}

Trained::Trained(const Trained &other, runtime::SessionOptions options)
    : network_(other.network_), batch_(other.batch_),
      run_(other.run_.bytes(), options) {}

/// Some samples of random ones in (-1, 1), or of classes.
static HostTensor samplesOf(Shape shape, uint64_t seed, int64_t classes,
                            int64_t first, int64_t count) {
  mlir::MLIRContext context;
  mlir::Builder builder(&context);
  mlir::Type element = classes ? mlir::Type(builder.getI64Type())
                               : mlir::Type(builder.getF32Type());
  HostTensor all = randomTensor(
      mlir::RankedTensorType::get(batched(shape, kSamples), element), seed,
      classes);
  HostTensor some = zeros(batched(shape, count), classes == 0);
  int64_t each = some.size() / count;
  for (int64_t i = 0; i < some.size(); ++i)
    if (classes)
      some.integers[i] = all.integers[first * each + i];
    else
      some.floats[i] = all.floats[first * each + i];
  return some;
}

NamedTensors Trained::inputs(int64_t update, int64_t first) const {
  uint64_t seed = 2 * update + 11;
  return {
      {"x", samplesOf(network_.sample, seed, network_.tokens, first, batch_)},
      {"label", samplesOf(network_.positions, seed + 1, network_.classes, first,
                          batch_)}};
}

std::string Trained::stepOn(const NamedTensors &inputs) {
  NamedTensors outputs = run_.run("train", inputs);
  if (!outputs.contains("loss"))
    return "";
  loss_ = outputs.at("loss").floats.at(0);
  int variant = session().lastVariant(session().findGraph("train"));
  return session().graphs()[variant].name;
}

std::string Trained::step(int64_t update, int64_t first) {
  return stepOn(inputs(update, first));
}

std::vector<std::string> Trained::steps(int64_t begin, int64_t end) {
  std::vector<std::string> variants;
  for (int64_t update = begin; update < end; ++update)
    variants.push_back(step(update));
  return variants;
}

std::string Trained::overflow() {
  NamedTensors given = inputs(0);
  given.at("x").floats.at(0) = INFINITY;
  return stepOn(given);
}

NamedTensors Trained::parameters() const {
  NamedTensors all = run_.states(), parameters;
  for (const runtime::StateInfo &info : run_.session().states())
    if (info.role == artifact::Role::parameter)
      parameters[info.name] = all.at(info.name);
  return parameters;
}

//===-- comparing ---------------------------------------------------------===//

void curvature::expectSame(const NamedTensors &found,
                           const NamedTensors &expected,
                           const std::vector<std::string> &except) {
  for (const auto &[name, want] : expected) {
    if (llvm::any_of(except, [&name = name](const std::string &each) {
          return llvm::StringRef(name).starts_with(each);
        }))
      continue;
    ASSERT_TRUE(found.contains(name)) << name;
    EXPECT_EQ(found.at(name).floats, want.floats) << name;
    EXPECT_EQ(found.at(name).integers, want.integers) << name;
  }
}

void curvature::expectClose(const NamedTensors &found,
                            const NamedTensors &expected, double part) {
  for (const auto &[name, want] : expected) {
    ASSERT_TRUE(found.contains(name)) << name;
    double largest = 0;
    for (double number : want.floats)
      largest = std::max(largest, std::abs(number));
    expectNear({{name, found.at(name)}}, {{name, want}}, 0, part * largest);
  }
}

void curvature::expectFinite(const NamedTensors &found) {
  for (const auto &[name, tensor] : found)
    for (double number : tensor.floats)
      ASSERT_TRUE(std::isfinite(number)) << name;
}

std::vector<double> curvature::change(const std::vector<double> &a,
                                      const std::vector<double> &b) {
  std::vector<double> result;
  for (size_t i = 0; i < a.size(); ++i)
    result.push_back(b.at(i) - a[i]);
  return result;
}

double curvature::normOf(const std::vector<double> &numbers) {
  double squares = 0;
  for (double number : numbers)
    squares += number * number;
  return std::sqrt(squares);
}

//===-- directions --------------------------------------------------------===//

namespace {

/// An element of a block diagonal matrix [groups B, b, b]; `side` features a
/// group.
double elementOf(const HostTensor &blocks, int64_t groups, int64_t group,
                 int64_t row, int64_t column) {
  int64_t block = blocks.shape.back();
  if (row / block != column / block)
    return 0;
  int64_t at = group * (blocks.shape[0] / groups) + row / block;
  return blocks.floats.at((at * block + row % block) * block + column % block);
}

} // namespace

std::vector<double> curvature::directionOf(const NamedTensors &states,
                                           const std::string &weight,
                                           const HostTensor &gradient,
                                           int64_t groups) {
  const HostTensor &inputs = states.at("precondition/inputs/" + weight),
                   &outputs = states.at("precondition/outputs/" + weight);
  bool isEmbedding = inputs.shape.size() == 1;
  int64_t rows = gradient.shape[0], columns = gradient.size() / rows,
          part = rows / groups;
  auto left = [&](int64_t group, int64_t i, int64_t j) {
    if (isEmbedding)
      return i == j ? inputs.floats.at(i) : 0;
    return elementOf(outputs, groups, group, i, j);
  };
  auto right = [&](int64_t group, int64_t i, int64_t j) {
    return elementOf(isEmbedding ? outputs : inputs, groups, group, i, j);
  };
  std::vector<double> half(gradient.size(), 0), whole(gradient.size(), 0);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t k = 0; k < part; ++k)
      for (int64_t column = 0; column < columns; ++column)
        half[row * columns + column] +=
            left(row / part, row % part, k) *
            gradient.floats[(row / part * part + k) * columns + column];
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t k = 0; k < columns; ++k)
      for (int64_t column = 0; column < columns; ++column)
        whole[row * columns + column] +=
            half[row * columns + k] * right(row / part, k, column);
  return whole;
}
