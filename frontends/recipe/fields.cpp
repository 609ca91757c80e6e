// The table of recipe keys. A new key is a line here; a method that becomes
// built loses its `later`.

#include "frontends/recipe/boost.h"
#include "frontends/recipe/loss_fields.h"
#include "frontends/recipe/method_fields.h"
#include "frontends/recipe/optimizer_fields.h"

namespace gradus::recipe {
namespace {

using enum Kind;

/// A value among `choices` or an alternative that is known but not built yet.
Choice later(std::string_view name) { return {name, {}, false}; }

Field clip() {
  const Field value =
      Field{"value", number, "1.0", "the largest allowed"}.from(0);
  const Field ratio = Field{"value", number, "0.01",
                            "the largest allowed, as part of the weights' norm"}
                          .from(0);
  const Field floor = Field{"epsilon", number, "0.001",
                            "the least norm that weights count with"}
                          .from(0);
  return Field{"clip", variant, "null", "bounds the gradients"}.among(
      {{"global_norm", {value}},
       {"norm", {value}},
       {"value", {value}},
       {"adaptive", {ratio, floor}}});
}

Field lossScale() {
  const Field initial =
      Field{"initial", number, "65536", "the first scale"}.from(1e-30);
  const Field factor = Field{"factor", number, "2.0",
                             "by which it grows, and shrinks after an overflow"}
                           .from(1);
  const Field interval = Field{"growth_interval", integer, "2000",
                               "steps without overflow until it grows"}
                             .from(1);
  const Field minimum =
      Field{"minimum", number, "1.0", "it does not shrink below"}.from(0);
  return Field{"loss_scale", variant, "null",
               "keeps small gradients above zero in f16; with that precision "
               "dynamic, unless null is written"}
      .among({{"static", {initial}},
              {"dynamic", {initial, factor, interval, minimum}}});
}

Field distribution() {
  const Field place = Field{"", integer, "0", "a place"}.from(0);
  const Field splits =
      Field{"gradient_splits", list, "null",
            "places in the list of trained parameters at which a new group of "
            "gradients begins; an empty list: in its middle"}
          .of({place});
  return Field{"distribution", object, "{}", "training on several processes"}
      .of({splits,
           Field{"mode", choice, "\"none\"", "how they share the work"}.among(
               {{"none"},
                later("data_parallel"),
                later("adasum"),
                later("half_reduce"),
                later("partial_reduce"),
                later("sparse_reduce")})});
}

Field addedPasses() {
  return Field{"passes", list, "null",
               "passes to run at the end of stages, as STAGE:PASS: those of "
               "plug-ins (--plugin), such as methods:gradient-noise{scale=0.1}"}
      .of({Field{"", text, "\"\"", "STAGE:PASS"}});
}

Field movingAverage() {
  const Field decay =
      Field{"decay", number, "0.999", "of the average"}.from(0).below(1);
  const Field warmup = {"warmup", boolean, "false",
                        "a smaller decay at first: (1 + n) / (10 + n) at the "
                        "n-th update, as long as that is smaller"};
  return Field{"ema", object, "null", "a moving average of the parameters"}.of(
      {decay, warmup});
}

/// What is done to an input's numbers before a step sees them.
Field normalize() {
  const Field number = {"", Kind::number, "0", "a number"};
  const Field mean = Field{"mean", list, "[0.0]",
                           "taken off: one number, or one for each channel"}
                         .of({number});
  const Field deviation =
      Field{"std", list, "[1.0]",
            "what remains is divided by: one number, or one for each channel"}
          .of({Field(number).from(1e-12)});
  return Field{"normalize", named, "{}",
               "by the name of an f32 input: its values become (value - mean) "
               "/ std in training, evaluation and prediction"}
      .of({Field{"", object, "{}", "of one input"}.of({mean, deviation})});
}

Field augment() {
  const Field crop = Field{"crop", integer, "0",
                           "pixels by which an image is moved at most; zeros "
                           "come in from outside"}
                         .from(0)
                         .below(65536);
  const Field bound = Field{"", number, "1.0", "a bound"}.from(1e-6);
  const Field part =
      Field{"resized_crop", object, "null",
            "take a random part of each image and scale it to the input, as "
            "torchvision's RandomResizedCrop; before the other two"}
          .of({Field{"scale", list, "[0.08, 1.0]",
                     "bounds of the part of the image's area"}
                   .of({bound})
                   .times(2),
               Field{"ratio", list, "[0.75, 1.3333333333333333]",
                     "bounds of its width / height"}
                   .of({Field(bound).below(1e6)})
                   .times(2)})
          .switched();
  const Field flip = {"flip", boolean, "false",
                      "mirror half of the images left to right"};
  return Field{"augment", named, "{}",
               "by the name of an input of images: how training changes them "
               "at random, by seed, epoch and sample"}
      .of({Field{"", object, "{}", "of one input"}.of({part, crop, flip})});
}

Field inputs() {
  const Field size = Field{"", integer, "1", "a size"}.from(1);
  const Field dims =
      Field{"dims", named, "{}", "sizes of the model's symbolic dimensions"}.of(
          {size});
  const Field last =
      Field{"last_batch", choice, "\"drop\"",
            "what training does with samples of an epoch that do not fill a "
            "batch: leave them out, or fill it up with samples whose labels "
            "are ignored"}
          .among({{"drop"}, {"mask"}});
  return Field{"inputs", object, "{}", "the model's inputs, and their data"}.of(
      {dims, normalize(), augment(), last});
}

/// What the model's graph is taken for, and what is trained in it.
std::vector<Field> modelFields() {
  return {
      inputs(),
      patterns("trainable", R"(["*"])", "parameters to train"),
      patterns("fixed", "[]",
               "parameters to keep as they are, though `trainable` names them"),
      Field{"freeze_batch_norm", boolean, "false",
            "use running statistics and leave them alone"},
      Field{"straight_through", boolean, "false",
            "rounding to integers and back (QuantizeLinear, DequantizeLinear) "
            "passes gradients on: 1 inside the range, 0 outside"},
      Field{"dropout", number, "null",
            "part of its elements that every dropout drops in training; null: "
            "as the model says"}
          .from(0)
          .below(1),
      Field{"batch_norm_variance", choice, "\"pytorch\"",
            "running variance divided by N-1 (pytorch) or N (onnx)"}
          .among({{"pytorch"}, {"onnx"}})};
}

/// The methods: one key each.
std::vector<Field> methodFields() {
  const Field metric = Field{"", choice, "\"accuracy\"", "a metric"}.among(
      {{"accuracy"}, {"top5"}, {"gradient_norm"}, {"learning_rate"}});
  return {loss(),
          Field{"metrics", list, "[]", "what is reported beside the loss"}.of(
              {metric}),
          optimizer(),
          schedule(),
          groups(),
          Field{"weight_decay_for", choice, "\"all\"",
                "matrices: none of biases, norms and other vectors, unless a "
                "group has its own"}
              .among({{"all"}, {"matrices"}}),
          clip(),
          Field{"accumulation", integer, "1",
                "batches whose gradients make one update, their mean"}
              .from(1),
          movingAverage(),
          Field{"precision", choice, "\"f32\"",
                "what forward and backward compute in"}
              .among({{"f32"}, {"bf16"}, {"f16"}}),
          lossScale(),
          lessBn(),
          fcToFn(),
          gradientCentralization(),
          gradientFreeze(),
          boost(),
          distribution(),
          addedPasses()};
}

/// How it runs.
std::vector<Field> runFields() {
  return {
      {"memory_limit", bytes, "null",
       "such as \"2GiB\", for state, arena, constants and code; parts of the "
       "model are computed twice until the step fits"},
      {"deterministic", boolean, "false",
       "the bits do not depend on the number of threads"},
      Field{
          "on_nonfinite", choice, "\"stop\"",
          "what happens when a number is none: the run stops, the step changes "
          "nothing, or training goes on as if it were one"}
          .among({{"stop"}, {"skip"}, {"continue"}}),
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
