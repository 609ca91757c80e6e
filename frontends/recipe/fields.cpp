// The table of recipe keys. A new key is a line here; a method that becomes
// built loses its `builtOnly` or its `false`.

#include "frontends/recipe/fields.h"

namespace gradus::recipe {
namespace {

using enum Kind;

/// A value among `choices` or an alternative that is known but not built yet.
Choice later(std::string_view name) { return {name, {}, false}; }

Field patterns(std::string_view key, std::string_view fallback,
               std::string_view help) {
  return Field{key, list, fallback, help}.of(
      {{"", text, "\"\"", "a pattern; * stands for any text"}});
}

Field learningRate() {
  return Field{"learning_rate", number, "0.001", "step size"}.from(0);
}

Field weightDecay(std::string_view fallback) {
  return Field{"weight_decay", number, fallback,
               "L2 penalty (adamw: decoupled decay)"}
      .from(0);
}

Field compat(std::string_view fallback, std::string_view help) {
  return Field{"compat", choice, fallback, help}.among(
      {{"pytorch"}, later("mindspore"), later("singa"), later("timm")});
}

/// What every optimizer has beside its own.
Field ownCompat() {
  return compat("null", "for the optimizer alone; null: the recipe's");
}

Field maximize() {
  return {"maximize", boolean, "false", "climb instead of descend"};
}

std::vector<Field> sgd() {
  return {
      learningRate(),
      Field{"momentum", number, "0.0", "decay rate of the velocity"}.from(0),
      {"dampening", number, "0.0",
       "part of the gradient kept out of the velocity"},
      {"nesterov", boolean, "false", "look ahead along the velocity"},
      weightDecay("0.0"),
      maximize(),
      ownCompat()};
}

std::vector<Field> adam(std::string_view decay) {
  const Field rate = Field{"", number, "0", "a rate"}.from(0).below(1);
  return {
      learningRate(),
      Field{"betas", list, "[0.9, 0.999]", "decay rates of the two moments"}
          .of({rate})
          .times(2),
      Field{"epsilon", number, "1e-8", "added to the root of the second moment"}
          .from(0),
      weightDecay(decay),
      maximize(),
      ownCompat()};
}

Field optimizer() {
  return Field{"optimizer", variant, R"({"type": "adamw"})",
               "what moves the parameters"}
      .among({{"sgd", sgd()},
              {"adam", adam("0.0")},
              {"adamw", adam("0.01")},
              later("rmsprop"),
              later("adagrad"),
              later("lamb"),
              later("lars")});
}

Field loss() {
  const Field output = {"output", text, "null",
                        "the output that the loss takes; null: the only one"};
  const Field weight = {"weight", number, "1.0", "factor of this loss"};
  return Field{"loss", variant, R"({"type": "softmax_cross_entropy"})",
               "what training makes small"}
      .among(
          {{"softmax_cross_entropy",
            {output,
             {"class_axis", integer, "1",
              "the axis of the output along which the classes lie"},
             {"ignore_index", integer, "-100", "a label that does not count"},
             Field{"label_smoothing", number, "0.0",
                   "part of the target spread over all classes"}
                 .from(0)
                 .below(1),
             weight}},
           {"mse", {output, weight}}});
}

Field schedule() {
  const Field steps =
      Field{"steps", integer, "1000", "how long this piece lasts"}.from(1);
  const Field final =
      Field{"final", number, "0.0", "the factor at its end"}.from(0);
  const Field piece =
      Field{"", variant, R"({"type": "constant"})", "one piece of the schedule"}
          .among({{"constant", {steps}},
                  {"linear_warmup", {steps}},
                  {"linear", {steps, final}},
                  {"cosine", {steps, final}}});
  return Field{"schedule", object, "{}",
               "how hyperparameters change with the step"}
      .of({Field{"learning_rate", list, "[]", "pieces, one after the other"}.of(
          {piece})});
}

Field groups() {
  const Field group =
      Field{"", object, "{}", "parameters that are treated alike"}.of(
          {patterns("match", "[]", "the parameters of this group"),
           Field{"learning_rate", number, "null", "instead of the optimizer's"}
               .from(0),
           Field{"learning_rate_factor", number, "1.0",
                 "times the optimizer's learning rate"}
               .from(0),
           Field{"weight_decay", number, "null", "instead of the optimizer's"}
               .from(0)});
  return Field{"groups", list, "[]", "parameters with settings of their own"}
      .of({group});
}

Field clip() {
  const Field value =
      Field{"value", number, "1.0", "the largest allowed"}.from(0);
  return Field{"clip", variant, "null", "bounds the gradients"}
      .among({{"global_norm", {value}}, {"norm", {value}}, {"value", {value}}})
      .builtOnly("null");
}

Field lossScale() {
  const Field initial =
      Field{"initial", number, "65536", "the first scale"}.from(1);
  const Field interval = Field{"growth_interval", integer, "2000",
                               "steps without overflow until it doubles"}
                             .from(1);
  return Field{"loss_scale", variant, "null",
               "keeps small gradients above zero in f16"}
      .among({{"static", {initial}}, {"dynamic", {initial, interval}}})
      .builtOnly("null");
}

Field distribution() {
  return Field{"distribution", object, "{}", "training on several processes"}
      .of({Field{"mode", choice, "\"none\"", "how they share the work"}.among(
          {{"none"},
           later("data_parallel"),
           later("adasum"),
           later("half_reduce"),
           later("partial_reduce"),
           later("sparse_reduce")})});
}

Field movingAverage() {
  const Field decay =
      Field{"decay", number, "0.999", "of the average"}.from(0).below(1);
  return Field{"ema", object, "null", "a moving average of the parameters"}
      .of({decay})
      .builtOnly("null");
}

/// What the model's graph is taken for, and what is trained in it.
std::vector<Field> modelFields() {
  const Field dims =
      Field{"dims", sizes, "{}", "sizes of the model's symbolic dimensions"}
          .from(1);
  return {
      Field{"inputs", object, "{}", "the model's inputs"}.of({dims}),
      patterns("trainable", R"(["*"])", "parameters to train"),
      patterns("fixed", "[]",
               "parameters to keep as they are, though `trainable` names them"),
      Field{"freeze_batch_norm", boolean, "false",
            "use running statistics and leave them alone"},
      Field{"batch_norm_variance", choice, "\"pytorch\"",
            "running variance divided by N-1 (pytorch) or N (onnx)"}
          .among({{"pytorch"}, {"onnx"}})};
}

/// The methods: one key each.
std::vector<Field> methodFields() {
  const Field metric =
      Field{"", choice, "\"accuracy\"", "a metric"}.among({{"accuracy"}});
  return {loss(),
          Field{"metrics", list, "[]", "what is reported beside the loss"}.of(
              {metric}),
          optimizer(),
          schedule(),
          groups(),
          clip(),
          Field{"accumulation", integer, "1",
                "batches whose gradients are summed before an update"}
              .from(1)
              .builtOnly("1"),
          movingAverage(),
          Field{"precision", choice, "\"f32\"",
                "what forward and backward compute in"}
              .among({{"f32"}, later("bf16"), later("f16")}),
          lossScale(),
          Field{"boost", choice, "\"O0\"", "AutoBoost level"}.among(
              {{"O0"}, later("O1"), later("O2"), later("O3")}),
          distribution()};
}

/// How it runs.
std::vector<Field> runFields() {
  return {
      {"memory_limit", bytes, "null",
       "such as \"2GiB\", for state, arena, constants and code; parts of the "
       "model are computed twice until the step fits"},
      {"deterministic", boolean, "false",
       "the bits do not depend on the number of threads"},
      Field{"on_nonfinite", choice, "\"stop\"",
            "what happens when the loss is no number"}
          .among({{"stop"}, later("skip"), later("continue")}),
      Field{"seed", integer, "0", "of initial weights and of all random draws"}
          .from(0),
      compat("\"pytorch\"", "whose rule applies where frameworks differ")};
}

} // namespace

Choice::Choice(std::string_view name) : name(name) {}
Choice::Choice(std::string_view name, std::vector<Field> fields, bool built)
    : name(name), fields(std::move(fields)), built(built) {}

const Field &recipeField() {
  static const Field field = [] {
    std::vector<Field> all = modelFields();
    for (const auto &more : {methodFields(), runFields()})
      all.insert(all.end(), more.begin(), more.end());
    return Field{"", object, "{}", "How Gradus is to train a model"}.of(all);
  }();
  return field;
}

} // namespace gradus::recipe
