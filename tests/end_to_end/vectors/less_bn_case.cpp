// Small residual networks that MindSpore's LessBN rewrote: the same batch
// normalizations go, and the losses and weights are the same.

#include "vector_file.h"

namespace gradus::vectors {
namespace {

/// The networks of the files, as their `what` says.
class Network {
public:
  Network(const Json &hyperparameters, ProgramBuilder &net)
      : h_(hyperparameters), net_(net) {}

  void build(const Shape &images) {
    Tensor x = net_.input("x", images);
    x = net_.relu(norm("bn0", convolution("conv0", x, h_.at("width"), 3)));
    x = net_.maxPool(x, {.size = {2, 2}, .strides = {2, 2}});
    int i = 0;
    for (const Json &plan : h_.at("plan"))
      x = block("blocks." + std::to_string(i++) + ".", x, plan[0], plan[1]);
    net_.output("output",
                net_.dense("fc", net_.globalAveragePool(x), h_.at("classes")));
  }

private:
  Tensor convolution(const std::string &name, Tensor x, int64_t channels,
                     int64_t size, int64_t stride = 1) {
    return net_.convolution(name, x, channels,
                            {.size = {size, size},
                             .strides = {stride, stride},
                             .pads = {size / 2, size / 2}},
                            /*bias=*/false);
  }
  Tensor norm(const std::string &name, Tensor x) {
    return net_.batchNorm(name, x);
  }

  Tensor block(const std::string &at, Tensor x, int64_t channels,
               int64_t stride) {
    bool isBasic = h_.at("block") == "basic";
    int64_t out = isBasic ? channels : 4 * channels;
    Tensor y = isBasic ? basic(at, x, channels, stride)
                       : bottleneck(at, x, channels, stride);
    if (stride != 1 || x.shape()[1] != out)
      x = norm(at + "dbn", convolution(at + "dconv", x, out, 1, stride));
    return net_.relu(net_.add(y, x));
  }

  Tensor basic(const std::string &at, Tensor x, int64_t channels,
               int64_t stride) {
    x = convolution(at + "conv1", x, channels, 3, stride);
    x = net_.relu(norm(at + "bn1", x));
    return norm(at + "bn2", convolution(at + "conv2", x, channels, 3));
  }

  Tensor bottleneck(const std::string &at, Tensor x, int64_t channels,
                    int64_t stride) {
    x = convolution(at + "conv1", x, channels, 1);
    x = net_.relu(norm(at + "bn1", x));
    x = convolution(at + "conv2", x, channels, 3, stride);
    x = net_.relu(norm(at + "bn2", x));
    return norm(at + "bn3", convolution(at + "conv3", x, 4 * channels, 1));
  }

  const Json &h_;
  ProgramBuilder &net_;
};

std::string programText(const VectorFile &file, const Json &recipe) {
  mlir::MLIRContext context;
  ProgramBuilder net(context, "network");
  Network(file.hyperparameters(), net).build(shapeOf(file.inputs().at("x")));
  return textOf(net, recipe);
}

/// "bn0.weight" of "bn0.gamma".
std::string ourName(std::string name) {
  for (auto [theirs, ours] : {std::pair(".gamma", ".weight"),
                              {".beta", ".bias"},
                              {".moving_mean", ".running_mean"},
                              {".moving_variance", ".running_var"}})
    if (llvm::StringRef stem = name; stem.consume_back(theirs))
      return stem.str() + ours;
  return name;
}

Json recipeOf(const VectorFile &file, bool lessBn) {
  const Json &h = file.hyperparameters();
  Json recipe = {{"loss", "softmax_cross_entropy"},
                 {"optimizer",
                  {{"type", "sgd"},
                   {"learning_rate", h.at("learning_rate")},
                   {"momentum", h.at("momentum")}}}};
  if (lessBn)
    recipe["boost"] = {
        {"level", "O1"},
        {"boost", {{"mode", "manual"}, {"grad_freeze", false}}},
        {"less_bn", {{"fn_flag", h.at("fn_flag")}, {"gc_flag", false}}}};
  return recipe;
}

/// Trains from the recorded weights and compares the losses; gives the states
/// at the end.
NamedTensors train(const VectorFile &file, bool lessBn, const Json &losses) {
  Compiled compiled(programText(file, recipeOf(file, lessBn)));
  NamedTensors states = compiled.states();
  for (const auto &[name, tensor] : file.inputs().at("parameters").items())
    if (states.contains(ourName(name)))
      compiled.setState(ourName(name), tensorOf(tensor, shapeOf(tensor)));
    else
      EXPECT_TRUE(lessBn) << name;
  const Json &x = file.inputs().at("x"), &y = file.inputs().at("y");
  for (int64_t step = 0; step < file.hyperparameters().at("steps"); ++step) {
    NamedTensors outputs =
        compiled.run("train", {{"x", tensorOf(x, shapeOf(x))},
                               {"label", tensorOf(y, shapeOf(y))}});
    file.expectLoss(step, outputs.at("loss").floats[0], losses);
  }
  return compiled.states();
}

} // namespace

void checkLessBn(const VectorFile &file) {
  const Json &expected = file.expected();
  train(file, /*lessBn=*/false, expected.at("loss_without_less_bn"));
  NamedTensors states = train(file, /*lessBn=*/true, expected.at("loss"));
  for (std::string norm : expected.at("batchnorm_removed"))
    EXPECT_FALSE(states.contains(norm + ".weight")) << norm;
  for (std::string norm : expected.at("batchnorm_kept"))
    EXPECT_TRUE(states.contains(norm + ".weight")) << norm;
  for (const auto &[name, tensor] :
       expected.at("parameters_after_last_step").items()) {
    ASSERT_TRUE(states.contains(ourName(name))) << name;
    file.expectNear(name, states[ourName(name)].floats, tensor);
  }
}

} // namespace gradus::vectors
