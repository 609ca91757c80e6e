// Small networks trained by THOR: the same network with the same preconditioned
// gradients has the same losses and weights.

#include "vector_file.h"

namespace gradus::vectors {
namespace {

/// The part of a tensor's largest element by which any may differ. A factor of
/// condition 200 that is rounded to f32 has an inverse with this error, and
/// elements that nearly cancel have that of the others.
constexpr double kRounding = 1e-6;

Tensor network(ProgramBuilder &net, Tensor x, const VectorFile &file) {
  const Json &parameters = file.inputs().at("parameters");
  for (const Json &layer : file.hyperparameters().at("network")) {
    if (layer == "relu")
      x = net.relu(x);
    else if (layer == "flatten")
      x = net.flatten(x);
    else {
      std::string name =
          layer.contains("conv") ? layer.at("conv") : layer.at("fc");
      bool hasBias = parameters.contains(name + ".bias");
      int64_t outputs = shapeOf(parameters.at(name + ".weight")).at(0);
      if (layer.contains("fc")) {
        x = net.dense(name, x, outputs, hasBias);
        continue;
      }
      int64_t kernel = layer.at("kernel");
      int64_t pad = layer.at("padding") == "same" ? kernel / 2 : 0;
      x = net.convolution(name, x, outputs,
                          {.size = {kernel, kernel}, .pads = {pad, pad}},
                          hasBias);
    }
  }
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
  Json precondition = {{"type", "thor"},
                       {"damping", dampings.at(0)},
                       {"block", h.at("block")},
                       {"refresh", {{"every", h.at("frequency")}}}};
  if (h.at("variant") == "gpu")
    precondition["compat"] = "mindspore";
  Json recipe = {
      {"loss", "softmax_cross_entropy"},
      {"optimizer",
       {{"type", "sgd"},
        {"learning_rate", rates.at(0)},
        {"momentum", h.at("momentum")},
        {"weight_decay", h.at("weight_decay")}}},
      {"precondition", precondition},
      {"schedule",
       {{"learning_rate", listOf(rates)}, {"damping", listOf(dampings)}}}};
  if (h.number("loss_scale") != 1)
    recipe["loss_scale"] = {{"type", "static"},
                            {"initial", h.at("loss_scale")}};
  return recipe;
}

std::string programText(const VectorFile &file, const Json &recipe) {
  mlir::MLIRContext context;
  ProgramBuilder net(context, "network");
  std::vector<int64_t> shape = shapeOf(file.inputs().at("x"));
  shape.erase(shape.begin());
  net.output("output", network(net, net.input("x", shape), file));
  return textOf(net, recipe);
}

/// Compares the recorded inverses of the first step with those that the run
/// keeps, where a side is one block.
void checkInverses(const VectorFile &file, NamedTensors states) {
  for (const auto &[layer, recorded] : file.expected().at("step0").items())
    for (auto [side, key] : {std::pair("inputs", "A_inverse"),
                             std::pair("outputs", "G_inverse")}) {
      const Json &inverse = recorded.at(key);
      HostTensor found = states.at("precondition/" + std::string(side) + "/" +
                                   layer + ".weight");
      if (found.shape[0] != 1)
        continue;
      if (key == std::string("G_inverse")) // which has the factor, too
        for (double &number : found.floats)
          number /= recorded.at("post_factor").get<double>();
      file.expectNear(layer + " " + key, found.floats, inverse, /*step=*/-1,
                      kRounding);
    }
}

} // namespace

void checkThor(const VectorFile &file) {
  Settings h(file.hyperparameters());
  h.ignore({"network"});
  Json recipe = recipeOf(h);
  if (h.at("enable_clip_grad").get<bool>())
    GTEST_SKIP() << "clipping of preconditioned gradients behind weight decay "
                    "is not built yet";
  EXPECT_EQ(h.at("batch_size"), shapeOf(file.inputs().at("x")).at(1));
  h.expectAllRead();
  Compiled run(programText(file, recipe));
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
