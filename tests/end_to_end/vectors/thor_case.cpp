// Small networks trained by THOR: the same network with the same preconditioned
// gradients has the same losses and weights.

#include "vector_file.h"

namespace gradus::vectors {
namespace {

/// The part of a tensor's largest element by which any may differ. A factor of
/// condition 200 that is rounded to f32 has an inverse with this error, and
/// elements that nearly cancel have that of the others.
constexpr double kRounding = 1e-6;

/// A number for each axis, or one for both.
Shape pairOf(const Json &value) {
  if (value.is_array())
    return value.get<Shape>();
  return Shape(2, value.get<int64_t>());
}

Tensor convolution(ProgramBuilder &net, Tensor x, const Json &layer,
                   int64_t outputs, bool hasBias) {
  WindowOptions window{.size = pairOf(layer.at("kernel"))};
  const Json &padding = layer.at("padding");
  if (padding == "same")
    window.pads = {window.size[0] / 2, window.size[1] / 2};
  else
    window.pads = pairOf(padding);
  window.strides = pairOf(layer.value("stride", Json(1)));
  window.dilations = pairOf(layer.value("dilation", Json(1)));
  return net.convolution(layer.at("conv"), x, outputs, window, hasBias,
                         layer.value("groups", 1));
}

Tensor layerOf(ProgramBuilder &net, Tensor x, const Json &layer,
               const Json &parameters) {
  if (layer == "relu")
    return net.relu(x);
  if (layer == "flatten")
    return net.flatten(x);
  std::string name;
  for (const char *kind : {"fc", "conv", "embedding", "layer_norm"})
    name = layer.value(kind, name);
  if (layer.contains("layer_norm"))
    return net.layerNorm(name, x);
  Shape shape = shapeOf(parameters.at(name + ".weight"));
  if (layer.contains("embedding"))
    return net.lookUp(net.parameter(name + ".weight", shape), x);
  bool hasBias = parameters.contains(name + ".bias");
  if (layer.contains("conv"))
    return convolution(net, x, layer, shape.front(), hasBias);
  return net.dense(name, x, shape.front(), hasBias);
}

Tensor network(ProgramBuilder &net, Tensor x, const VectorFile &file) {
  for (const Json &layer : file.hyperparameters().at("network"))
    x = layerOf(net, x, layer, file.inputs().at("parameters"));
  return x;
}

/// A factor a step on the first of some numbers.
Json listOf(const Json &values) {
  Json factors = Json::array();
  for (double value : values)
    factors.push_back(value / values.at(0).get<double>());
  return Json::array({{{"type", "list"}, {"values", factors}}});
}

Json recipeOf(const Settings &h) {
  Json rates = h.at("learning_rate"), dampings = h.at("damping");
  Json refresh = {{"every", h.at("frequency")}};
  if (h.has("measure_every") && h.at("measure_every") != h.at("frequency"))
    refresh["measure_every"] = h.at("measure_every");
  Json precondition = {{"type", h.value<std::string>("type", "thor")},
                       {"damping", dampings.at(0)},
                       {"block", h.at("block")},
                       {"refresh", refresh}};
  for (const char *key : {"decay", "pi", "bias", "placement"})
    if (h.has(key))
      precondition[key] = h.at(key);
  if (h.value<std::string>("variant", "per_sample") == "gpu")
    precondition["compat"] = "mindspore";
  Json recipe = {
      {"loss", {{"type", "softmax_cross_entropy"}, {"class_axis", -1}}},
      {"optimizer",
       {{"type", "sgd"},
        {"learning_rate", rates.at(0)},
        {"momentum", h.at("momentum")},
        {"weight_decay", h.at("weight_decay")}}},
      {"precondition", precondition},
      {"schedule",
       {{"learning_rate", listOf(rates)}, {"damping", listOf(dampings)}}}};
  if (h.has("clip_update"))
    recipe["clip_update"] = {{"type", "norm"},
                             {"value", h.at("clip_update")},
                             {"norm_epsilon", 0.0}};
  if (h.number("loss_scale") != 1)
    recipe["loss_scale"] = {{"type", "static"},
                            {"initial", h.at("loss_scale")}};
  return recipe;
}

std::string programText(const VectorFile &file, const Json &recipe) {
  mlir::MLIRContext context;
  ProgramBuilder net(context, "network");
  const Json &x = file.inputs().at("x");
  Shape shape = shapeOf(x);
  shape.erase(shape.begin());
  Tensor input = x.at("dtype") == "int32" ? net.integerInput("x", shape)
                                          : net.input("x", shape);
  net.output("output", network(net, input, file));
  return textOf(net, recipe);
}

/// The diagonal blocks of the recorded inverses of a side, one for each group,
/// as far as the blocks of a run lie in them: `found` is `[groups B, b, b]`, or
/// a vector.
void checkSide(const VectorFile &file, const std::string &what,
               const HostTensor &found, const Json &recorded) {
  int64_t groups = 1, side = shapeOf(recorded).back();
  if (shapeOf(recorded).size() == 3)
    groups = shapeOf(recorded).front();
  if (found.shape.size() == 1)
    return file.expectNear(what, found.floats, recorded, /*step=*/-1,
                           kRounding);
  int64_t block = found.shape.back(), blocks = found.shape[0] / groups;
  ASSERT_EQ(blocks, (side + block - 1) / block) << what;
  std::vector<double> whole(groups * side * side, 0.0);
  for (int64_t at = 0; at < found.size(); ++at) {
    int64_t part = at / (block * block), first = part % blocks * block,
            row = first + at / block % block, column = first + at % block;
    if (row < side && column < side)
      whole[(part / blocks * side + row) * side + column] = found.floats[at];
  }
  file.expectNear(what, whole, recorded, /*step=*/-1, kRounding);
}

/// Compares the recorded inverses of the first step with those that the run
/// keeps.
void checkInverses(const VectorFile &file, NamedTensors states) {
  for (const auto &[layer, recorded] : file.expected().at("step0").items())
    for (auto [side, key] : {std::pair("inputs", "A_inverse"),
                             std::pair("outputs", "G_inverse")}) {
      HostTensor found = states.at("precondition/" + std::string(side) + "/" +
                                   layer + ".weight");
      if (side == std::string("outputs")) // which has the factor, too
        for (double &number : found.floats)
          number /= recorded.at("post_factor").get<double>();
      checkSide(file, layer + " " + key, found, recorded.at(key));
    }
}

} // namespace

void checkThor(const VectorFile &file) {
  Settings h(file.hyperparameters());
  h.ignore({"network"});
  Json recipe = recipeOf(h);
  EXPECT_FALSE(h.value("enable_clip_grad", false))
      << "no recorded run clips its updates by MindSpore's own code";
  if (h.has("batch_size"))
    EXPECT_EQ(h.at("batch_size"), shapeOf(file.inputs().at("x")).at(1));
  h.expectAllRead();
  Compiled run(programText(file, recipe), {.device = file.device()});
  ASSERT_TRUE(run.ok());
  for (const auto &[name, tensor] : file.inputs().at("parameters").items())
    run.setState(name, tensorOf(tensor, shapeOf(tensor)));
  std::vector<int64_t> images = shapeOf(file.inputs().at("x")),
                       labels = shapeOf(file.inputs().at("y"));
  int64_t steps = images.front();
  images.erase(images.begin());
  labels.erase(labels.begin());
  for (int64_t step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
    NamedTensors outputs = run.run(
        "train", {{"x", tensorOf(file.inputs().at("x"), images, step)},
                  {"label", tensorOf(file.inputs().at("y"), labels, step)}});
    file.expectLoss(step, outputs.at("loss").floats[0],
                    file.expected().at("loss"));
    NamedTensors states = run.states();
    if (step == 0)
      checkInverses(file, states);
    for (const auto &[name, tensor] :
         file.expected().at("parameters_after_step").items())
      file.expectNear(name, states.at(name).floats, tensor, step, kRounding);
  }
}

} // namespace gradus::vectors
