// Optimizers of other frameworks: their hyperparameters as a recipe, and their
// recorded moves against those of a compiled step.

#include "vector_file.h"

#include <cmath>
#include <stdexcept>

namespace gradus::vectors {
namespace {

/// Where a hyperparameter goes: a key of the recipe's `optimizer`, or one that
/// is handled by place() below, or nowhere ("").
using Names = std::map<std::string, std::string>;

/// An optimizer of another framework.
struct Source {
  std::string type;
  Json defaults; // of the framework, under the recipe's names
  Names names;   // of hyperparameters; those of the recipe's own name left out
  Names slots;   // names of its state
  Json absent = Json::object(); // of the framework, under its own names
};

const Names kTorch = {{"lr", "learning_rate"}, {"eps", "epsilon"},
                      {"foreach", ""},         {"capturable", ""},
                      {"differentiable", ""},  {"fused", ""}};
const Names kTorchSlots = {{"momentum_buffer", "momentum"},
                           {"exp_avg", "first_moment"},
                           {"exp_avg_sq", "second_moment"},
                           {"max_exp_avg_sq", "largest_moment"},
                           {"exp_inf", "norm"},
                           {"mu_product", "momentum_product"},
                           {"sum", "sum_of_squares"},
                           {"square_avg", "mean_square"},
                           {"acc_delta", "mean_square_move"},
                           {"grad_avg", "mean"},
                           {"row_var", "rows"},
                           {"col_var", "columns"},
                           {"variance", "second_moment"},
                           {"prev", "last_gradient"},
                           {"step_size", "size"},
                           {"ax", "average"}};
const Names kMindSpore = {
    {"use_nesterov", "nesterov"}, {"beta1", "beta1"},
    {"beta2", "beta2"},           {"eps", "epsilon"},
    {"use_amsgrad", "amsgrad"},   {"use_locking", ""},
    {"update_slots", ""},         {"use_lazy", ""},
    {"use_offload", ""},          {"loss_scale", "loss_scale"}};
const Names kSinga = {{"lr", "learning_rate"},
                      {"dtype", ""},
                      {"rho", "decay_rate"},
                      {"beta_1", "beta1"},
                      {"beta_2", "beta2"}};
const Names kTimm = {{"lr", "learning_rate"},
                     {"eps", "epsilon"},
                     {"foreach", ""},
                     {"caution", "cautious"},
                     {"decoupled_decay", "decoupled_weight_decay"},
                     {"grad_averaging", "gradient_averaging"},
                     {"trust_coeff", "trust_coefficient"},
                     {"max_grad_norm", "max_grad_norm"}};

Names operator+(Names names, const Names &more) {
  for (const auto &[from, to] : more)
    names[from] = to;
  return names;
}

/// Settings of MindSpore's optimizers like Adam.
const Names kMindSporeMoments = {{"moment1", "first_moment"},
                                 {"moment2", "second_moment"},
                                 {"vhat", "largest_moment"}};

/// By api.
const std::map<std::string, Source> kSources = {
    {"torch.optim.SGD", {"sgd", {}, kTorch, kTorchSlots}},
    {"torch.optim.Adam",
     {"adam",
      {},
      kTorch + Names{{"decoupled_weight_decay", "decoupled"}},
      kTorchSlots}},
    {"torch.optim.AdamW",
     {"adamw",
      {},
      kTorch + Names{{"decoupled_weight_decay", "decoupled"}},
      kTorchSlots}},
    {"torch.optim.Adamax", {"adamax", {}, kTorch, kTorchSlots}},
    {"torch.optim.NAdam", {"nadam", {}, kTorch, kTorchSlots}},
    {"torch.optim.RAdam", {"radam", {}, kTorch, kTorchSlots}},
    {"torch.optim.RMSprop",
     {"rmsprop", {}, kTorch + Names{{"alpha", "decay_rate"}}, kTorchSlots}},
    {"torch.optim.Adagrad",
     {"adagrad",
      {},
      kTorch + Names{{"lr_decay", "learning_rate_decay"},
                     {"initial_accumulator_value", "initial_accumulator"}},
      kTorchSlots}},
    {"torch.optim.Adadelta",
     {"adadelta", {}, kTorch + Names{{"rho", "decay_rate"}}, kTorchSlots}},
    {"torch.optim.Adafactor",
     {"adafactor",
      {},
      kTorch + Names{{"beta2_decay", "decay_power"},
                     {"d", "clip_threshold"},
                     {"eps", "adafactor_epsilons"}},
      kTorchSlots}},
    {"torch.optim.ASGD",
     {"asgd",
      {},
      kTorch + Names{{"lambd", "lambda"}, {"alpha", "power"}, {"t0", "start"}},
      kTorchSlots + Names{{"eta", ""}, {"mu", ""}}}},
    {"torch.optim.Muon",
     {"muon",
      {{"others_match", Json::array()}},
      kTorch + Names{{"ns_coefficients", "coefficients"},
                     {"ns_steps", "iterations"},
                     {"adjust_lr_fn", "adjust"}},
      kTorchSlots}},
    {"torch.optim.SparseAdam", {"adam", {}, kTorch, kTorchSlots}},
    {"torch.optim.Rprop",
     {"rprop",
      {},
      kTorch + Names{{"etas", "factors"}, {"step_sizes", "sizes"}},
      kTorchSlots}},
    {"singa.opt.SGD",
     {"sgd", {{"learning_rate", 0.1}}, kSinga, {{"moments", "momentum"}}}},
    {"singa.opt.RMSProp",
     {"rmsprop",
      {{"learning_rate", 0.1}, {"decay_rate", 0.9}},
      kSinga,
      {{"running_average", "mean_square"}}}},
    {"singa.opt.AdaGrad",
     {"adagrad",
      {{"learning_rate", 0.1}, {"epsilon", 1e-8}},
      kSinga,
      {{"history", "sum_of_squares"}}}},
    {"singa.opt.Adam",
     {"adam",
      {{"learning_rate", 0.1}},
      kSinga,
      {{"m", "first_moment"}, {"v", "second_moment"}}}},
    {"mindspore.nn.SGD",
     {"sgd", {{"learning_rate", 0.1}}, kMindSpore, {{"accum", "momentum"}}}},
    {"mindspore.nn.Momentum",
     {"sgd", {}, kMindSpore, {{"moments", "momentum"}}}},
    {"mindspore.nn.Adam", {"adam", {}, kMindSpore, kMindSporeMoments}},
    {"mindspore.nn.LazyAdam", {"adam", {}, kMindSpore, kMindSporeMoments}},
    {"mindspore.nn.AdaMax",
     {"adamax",
      {{"learning_rate", 0.001}},
      kMindSpore,
      {{"moment1", "first_moment"}, {"moment2", "norm"}}}},
    {"mindspore.nn.Adadelta",
     {"adadelta",
      {},
      kMindSpore + Names{{"rho", "decay_rate"}},
      {{"accum", "mean_square"}, {"accum_update", "mean_square_move"}}}},
    {"mindspore.nn.ASGD",
     {"asgd",
      {{"learning_rate", 0.1}},
      kMindSpore +
          Names{{"lambd", "lambda"}, {"alpha", "power"}, {"t0", "start"}},
      {{"ax", "average"}, {"eta", ""}, {"mu", ""}}}},
    {"mindspore.nn.Rprop",
     {"rprop",
      {{"learning_rate", 0.1}},
      kMindSpore + Names{{"etas", "factors"}, {"step_sizes", "sizes"}},
      {{"prev", "last_gradient"}, {"step_size", "size"}}}},
    {"mindspore.nn.AdamWeightDecay",
     {"adamw",
      {{"epsilon", 1e-6}, {"weight_decay", 0.0}},
      kMindSpore,
      {{"moments1", "first_moment"}, {"moments2", "second_moment"}}}},
    {"mindspore.nn.RMSProp",
     {"rmsprop",
      {{"learning_rate", 0.1}, {"decay_rate", 0.9}, {"epsilon", 1e-10}},
      kMindSpore + Names{{"decay", "decay_rate"}},
      {{"ms", "mean_square"}, {"mg", "mean"}, {"moment", "momentum"}}}},
    {"mindspore.nn.Adagrad",
     {"adagrad",
      {{"learning_rate", 0.001}, {"initial_accumulator", 0.1}},
      kMindSpore + Names{{"accum", "initial_accumulator"}},
      {{"accum", "sum_of_squares"}}}},
    {"timm.optim.Lamb",
     {"lamb", {}, kTimm, kTorchSlots, {{"max_grad_norm", 1.0}}}},
    {"timm.optim.Lars",
     {"lars",
      {},
      kTimm + Names{{"caution", "never"},
                    {"decoupled_decay", "never"},
                    {"corrected_weight_decay", "never"}},
      kTorchSlots}},
    {"timm.optim.Lion", {"lion", {}, kTimm, {{"exp_avg", "momentum"}}}}};

std::string compatOf(const std::string &api) {
  for (const char *framework : {"mindspore", "singa", "timm"})
    if (api.find(framework) == 0)
      return framework;
  return "pytorch";
}

/// SINGA's only schedule, as one of ours and its first value.
double placeSchedule(Json &recipe, const std::string &key,
                     const Json &exponential) {
  recipe["schedule"][key] = {
      {{"type", "exponential"},
       {"period", exponential.at(1)},
       {"rate", exponential.at(2)},
       {"staircase", exponential.size() > 3 && exponential.at(3) == true}}};
  return exponential.at(0);
}

/// Zero, but with the slot that other values have: MindSpore's Momentum keeps
/// it then, too.
void placeNoMomentum(Json &recipe) {
  recipe["optimizer"]["momentum"] = 1.0;
  recipe["schedule"]["momentum"] = {{{"type", "constant"}, {"value", 0.0}}};
}

/// Writes one hyperparameter into the recipe.
void place(Json &recipe, const std::string &key, Json value) {
  Json &optimizer = recipe["optimizer"];
  if (value.is_object() && value.contains("ExponentialDecay"))
    value = placeSchedule(recipe, key, value["ExponentialDecay"]);
  bool isOff = value.is_null() || value == false;
  if (key == "never" && !isOff)
    throw std::runtime_error("the test knows no optimizer with " +
                             value.dump());
  if (key.empty() || value.is_null() || key == "never")
    return;
  if (key == "learning_rate" && value.is_array()) {
    recipe["schedule"][key] = {{{"type", "list"}, {"values", value}}};
    optimizer[key] = 1.0;
  } else if (key == "beta1" || key == "beta2") {
    if (!optimizer.contains("betas"))
      optimizer["betas"] = {0.9, 0.999};
    optimizer["betas"][key == "beta2"] = value;
  } else if (key == "loss_scale") {
    if (value != 1)
      recipe["loss_scale"] = {{"type", "static"}, {"initial", value}};
  } else if (key == "max_grad_norm") {
    recipe["clip"] = {{"type", "global_norm"}, {"value", value}};
  } else if (key == "adafactor_epsilons") {
    if (!value.at(0).is_null())
      optimizer["epsilon"] = value.at(0);
    optimizer["minimum_scale"] = value.at(1);
  } else if (key == "decoupled") {
    optimizer["type"] = value.get<bool>() ? "adamw" : "adam";
  } else {
    optimizer[key] = value;
  }
}

/// SparseAdam adds epsilon to the uncorrected root of the second moment: our
/// epsilon times the correction that we divide by.
void placeSparseEpsilon(Json &recipe, int64_t steps) {
  Json &optimizer = recipe["optimizer"], factors = Json::array();
  double beta2 = optimizer.contains("betas")
                     ? optimizer["betas"].at(1).get<double>()
                     : 0.999;
  for (int64_t step = 1; step <= steps; ++step)
    factors.push_back(1 / std::sqrt(1 - std::pow(beta2, step)));
  recipe["schedule"]["epsilon"] = {{{"type", "list"}, {"values", factors}}};
}

/// What belongs together, once all is placed.
void finish(Json &recipe, const std::string &api, const VectorFile &file) {
  if (api == "mindspore.nn.Momentum" &&
      recipe["optimizer"].value("momentum", 1.0) == 0)
    placeNoMomentum(recipe);
  if (api == "torch.optim.SparseAdam")
    placeSparseEpsilon(
        recipe,
        file.inputs().at("gradients").begin().value().at("shape").at(0));
}

} // namespace

std::string optimizerOf(const VectorFile &file) {
  std::string api = file.api();
  std::string last = api.substr(api.find_last_of(" ") + 1);
  for (const std::string &name :
       {api, api.substr(0, api.find(' ')), last, "mindspore.nn." + last})
    if (kSources.contains(name))
      return name;
  return api;
}

Json optimizerRecipe(const VectorFile &file, const std::string &api,
                     const std::vector<std::string> &ignored) {
  Json recipe;
  auto found = kSources.find(api);
  if (found == kSources.end())
    throw std::runtime_error("optimizer \"" + api +
                             "\" is not known to this test");
  const Source &source = found->second;
  recipe["compat"] = compatOf(api);
  recipe["optimizer"] =
      source.defaults.is_null() ? Json::object() : source.defaults;
  recipe["optimizer"]["type"] = source.type;
  Json values = source.absent;
  for (const auto &[name, value] : file.hyperparameters().items())
    if (!llvm::is_contained(ignored, name))
      values[name] = value;
  for (const auto &[name, value] : values.items()) {
    auto known = source.names.find(name);
    place(recipe, known == source.names.end() ? name : known->second, value);
  }
  finish(recipe, api, file);
  return recipe;
}

namespace {

std::string typeText(const Json &tensor) {
  std::string type = "tensor<";
  for (int64_t extent : shapeOf(tensor))
    type += std::to_string(extent) + "x";
  return type + "f32>";
}

/// A parameter under a name that neither training nor a graph has.
std::string stateOf(const std::string &parameter) {
  for (const char *taken : {"step", "accepted_steps", "skipped_steps",
                            "good_steps", "loss_scale", "train", "predict"})
    if (parameter == taken)
      return "parameter " + parameter;
  return parameter;
}

/// A program whose graph @train takes a gradient for each parameter; `model` is
/// the text of other graphs.
std::string programText(const Json &parameters, const Json &recipe,
                        const std::string &model = "") {
  std::string states, inputs, updates;
  int number = 0;
  for (const auto &[name, tensor] : parameters.items()) {
    std::string type = typeText(tensor),
                input = "%g" + std::to_string(number++);
    states += "gradus.state @\"" + stateOf(name) + "\" : " + type +
              " {role = #gradus.role<parameter>, init = #gradus.init<zeros>}\n";
    inputs += (inputs.empty() ? "" : ", ") + input + " as \"gradient of " +
              name + "\": " + type;
    updates += "gradus.update @\"" + stateOf(name) + "\", " + input + " : " +
               type + "\n";
  }
  return "gradus.program @p attributes {recipe = " + recipeText(recipe) +
         "} {\n" + states + model + "gradus.graph @train(" + inputs + ") {\n" +
         updates + "gradus.return\n}\n}";
}

/// Of a tensor's largest element: what f32 may move any element of a sum over
/// steps by, as of terms that cancel. The files' limits were measured on
/// parameters alone.
constexpr double kRounding = 0x1p-22;

/// torch.optim.ASGD's `eta`, the rate of the next step, and `mu`, the part of
/// the next parameters in their mean; ours are made of the step where they are
/// needed.
double rateOfDescent(const std::string &slot, const Json &optimizer,
                     double steps) {
  if (slot == "mu")
    return 1 / std::max(1.0, steps - optimizer.value("start", 1e6));
  double rate = optimizer.value("learning_rate", 0.01);
  return rate / std::pow(1 + optimizer.value("lambda", 1e-4) * rate * steps,
                         optimizer.value("power", 0.75));
}

/// What the optimizer remembers of a parameter under a framework's name.
std::vector<double> remembered(const NamedTensors &states,
                               const std::string &slot, const Json &optimizer,
                               const Names &slots,
                               const std::string &parameter) {
  auto steps = [&] { return double(states.at("step").integers.at(0)); };
  if (slot == "step" || slot == "global_step")
    return {steps()};
  auto name = slots.find(slot);
  if (name == slots.end())
    throw std::runtime_error("state \"" + slot +
                             "\" is not known to this test");
  if (name->second.empty())
    return {rateOfDescent(slot, optimizer, steps())};
  auto found = states.find(optimizer.at("type").get<std::string>() + "/" +
                           name->second + "/" + stateOf(parameter));
  return found == states.end() ? std::vector<double>() : found->second.floats;
}

/// Compares what the optimizer remembers at the end. What ours has no state for
/// is all zeros.
void checkState(const VectorFile &file, const NamedTensors &states,
                const Json &optimizer, const Names &slots) {
  const Json last = file.expected().value("final_state", Json::object());
  for (const auto &[slot, tensors] : last.items())
    for (const auto &[parameter, tensor] : tensors.items()) {
      std::vector<double> found =
          remembered(states, slot, optimizer, slots, parameter);
      if (found.empty())
        found.resize(numbersOf(tensor).size());
      file.expectNear(slot + " of " + parameter, found, tensor, -1, kRounding);
    }
}

} // namespace

/// Feeds the gradients step by step and compares the parameters; gives the
/// states at the end.
static NamedTensors follow(const VectorFile &file, const Json &recipe,
                           const std::string &model = "") {
  const Json &parameters = file.inputs().at("parameters");
  const Json &gradients = file.inputs().at("gradients");
  Compiled compiled(programText(parameters, recipe, model));
  for (const auto &[name, tensor] : parameters.items())
    compiled.setState(stateOf(name), tensorOf(tensor, shapeOf(tensor)));
  int64_t steps = gradients.begin().value().at("shape").at(0);
  for (int64_t step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
    NamedTensors inputs;
    for (const auto &[name, tensor] : parameters.items())
      inputs["gradient of " + name] =
          tensorOf(gradients.at(name), shapeOf(tensor), step);
    compiled.run("train", inputs);
    NamedTensors states = compiled.states();
    for (const auto &[name, tensor] : parameters.items())
      file.expectNear(name, states[stateOf(name)].floats,
                      file.expected().at("parameters_after_step").at(name),
                      step);
  }
  return compiled.states();
}

void checkOptimizer(const VectorFile &file) {
  Json recipe = optimizerRecipe(file, file.api(), {});
  NamedTensors states = follow(file, recipe);
  checkState(file, states, recipe["optimizer"], kSources.at(file.api()).slots);
}

void checkTrajectory(const VectorFile &file) { follow(file, file.recipe()); }

/// A graph @predict in which parameters of rank 2 are dense weights, those of
/// rank 4 convolutions, depthwise ones where they have one input channel.
static std::string modelText(const Json &parameters) {
  std::string inputs, body, outputs, values, types;
  int number = 0;
  for (const auto &[name, tensor] : parameters.items()) {
    std::vector<int64_t> shape = shapeOf(tensor);
    if (shape.size() < 2)
      continue;
    std::string i = std::to_string(number++), type = typeText(tensor);
    bool isDense = shape.size() == 2;
    int64_t groups = !isDense && shape[1] == 1 ? shape[0] : 1;
    Json x = {{"shape", {2, shape[1] * groups}}},
         y = {{"shape", {2, shape[0]}}};
    for (size_t axis = 2; axis < shape.size(); ++axis) {
      x["shape"].push_back(shape[axis]);
      y["shape"].push_back(1);
    }
    inputs += (inputs.empty() ? "%x" : ", %x") + i + ": " + typeText(x);
    outputs += (outputs.empty() ? "y" : ", y") + i + ": " + typeText(y);
    values += (values.empty() ? "%y" : ", %y") + i;
    types += (types.empty() ? "" : ", ") + typeText(y);
    body += "%w" + i + " = gradus.read @\"" + name + "\" : " + type + "\n%y" +
            i + (isDense ? " = gradus.matmul %x" : " = gradus.convolution %x") +
            i + ", %w" + i +
            (isDense ? " transposed"
                     : " strides [1, 1] pads [0, 0] to [0, 0] dilations [1, "
                       "1] groups " +
                           std::to_string(groups)) +
            " : " + typeText(x) + ", " + type + " -> " + typeText(y) + "\n";
  }
  return "gradus.graph @predict(" + inputs + ") -> (" + outputs + ") {\n" +
         body + "gradus.return " + values + " : " + types + "\n}\n";
}

void checkCentralization(const VectorFile &file) {
  Json recipe =
      optimizerRecipe(file, optimizerOf(file), {"flagged", "centralized"});
  recipe["gradient_centralization"] = Json::object();
  follow(file, recipe, modelText(file.inputs().at("parameters")));
}

void checkLossScale(const VectorFile &file) {
  bool isMindSpore = file.api().find("mindspore") != std::string::npos;
  for (const Json &each : file.expected().at("cases")) {
    Json recipe = {{"optimizer", {{"type", "sgd"}}},
                   {"compat", isMindSpore ? "mindspore" : "pytorch"},
                   {"loss_scale",
                    {{"type", "dynamic"},
                     {"initial", each.at("init")},
                     {"factor", each.at("scale_factor")},
                     {"growth_interval", each.at("scale_window")}}}};
    Json parameters = {{"w", {{"shape", Json::array()}}}};
    Compiled compiled(programText(parameters, recipe));
    std::string pattern = each.at("overflow");
    Json scales = each.at("scale_after_step");
    if (scales.is_object())
      scales = scales.at("data");
    for (size_t step = 0; step < pattern.size(); ++step) {
      HostTensor gradient = zeros(llvm::ArrayRef<int64_t>{});
      gradient.floats[0] = pattern[step] == '1' ? INFINITY : 1;
      compiled.run("train", {{"gradient of w", gradient}});
      EXPECT_EQ(compiled.states().at("loss_scale").floats[0],
                static_cast<float>(numberOf(scales.at(step))))
          << "after step " << step << " of " << each.dump();
    }
  }
}

void checkGroupLossScale(const VectorFile &file) {
  const Json &initial = file.hyperparameters().at("init");
  Json parameters, groups = Json::array();
  for (size_t group = 0; group < initial.size(); ++group) {
    std::string name = "w" + std::to_string(group);
    parameters[name] = {{"shape", Json::array()}};
    groups.push_back({name});
  }
  Json recipe = {
      {"optimizer", {{"type", "sgd"}}},
      {"loss_scale",
       {{"type", "group"}, {"groups", groups}, {"initial", initial}}}};
  Compiled compiled(programText(parameters, recipe), {.device = file.device()});
  double skipped = 0;
  std::vector<double> used = initial;
  for (size_t step = 0; step < file.inputs().at("overflow").size(); ++step) {
    std::string pattern = file.inputs().at("overflow").at(step);
    NamedTensors gradients;
    for (size_t group = 0; group < initial.size(); ++group) {
      HostTensor &gradient =
          gradients["gradient of w" + std::to_string(group)] =
              zeros(llvm::ArrayRef<int64_t>{});
      gradient.floats[0] = pattern[group] == '1' ? INFINITY : 1;
    }
    NamedTensors before = compiled.states(),
                 outputs = compiled.run("train", gradients),
                 after = compiled.states();
    std::vector<double> scales = {1}; // The input's and the loss's are 1.
    for (size_t group = 0; group < initial.size(); ++group) {
      std::string name = "loss_scale/" + std::to_string(group);
      EXPECT_EQ(outputs.at(name).floats[0], used[group]) << name;
      used[group] = after.at(name).floats[0];
      scales.push_back(used[group]);
      std::string parameter = "w" + std::to_string(group);
      bool isSkipped = pattern.find('1') != pattern.npos;
      EXPECT_EQ(after.at(parameter).floats == before.at(parameter).floats,
                isSkipped)
          << parameter << " after step " << step;
    }
    scales.push_back(1);
    file.expectNear("scales", scales, file.expected().at("scales_after_step"),
                    step);
    skipped += pattern.find('1') != pattern.npos;
    EXPECT_EQ(after.at("skipped_steps").integers[0], skipped);
  }
}

} // namespace gradus::vectors
