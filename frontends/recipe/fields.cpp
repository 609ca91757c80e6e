// The recipe's keys in order: those of methods are in passes/methods.def.

#include "frontends/recipe/fields.h"

#include "frontends/recipe/boost.h"
#include "frontends/recipe/thor.h"
#include "messages/message.h"
#include "passes/added_passes.h"
#include "passes/clock.h"
#include "passes/distribution.h"
#include "passes/gradients/train_batch_norm.h"
#include "passes/gradients/train_dropout.h"
#include "passes/model/losses.h"
#include "passes/optimizers/parameters.h"
#include "passes/pass_plugin.h"
#include "recipe/run_settings.h"

#include <algorithm>
#include <map>
#include <mutex>

namespace gradus {
#define GRADUS_METHOD(Settings, method, pass)                                  \
  struct Settings;                                                             \
  const recipe::Method<Settings> &method();
#define GRADUS_KEY(key) const recipe::Field &key();
#include "passes/methods.def"
#undef GRADUS_METHOD
#undef GRADUS_KEY
} // namespace gradus

namespace gradus::recipe {
namespace {

using enum Kind;

/// The keys of all plug-ins that are loaded.
Field plugins() {
  std::vector<Field> keys;
  for (const PluginKey &key : pluginKeys())
    keys.push_back(key.field);
  return Field{
      kPluginsKey, object, "{}",
      "keys of plug-ins (--plugin), each of which switches its pass on"}
      .of(keys);
}

/// The normalization of an input's numbers before a step reads them.
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
                   .times(2),
               Field{"decode", choice, "\"scaled\"",
                     "how JPEG files are decoded: at the smallest of the "
                     "scales 1/8, 1/4, 1/2 and 1 at which the part has as many "
                     "pixels as the input, or in full"}
                   .among({{"scaled"}, {"full"}})})
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

/// The key of that name among those that a pass has.
template <typename Keys>
const Field &fieldNamed(std::string_view name, const Keys &keys) {
  return *std::ranges::find(keys, name, &Field::key);
}

/// Keys about the model: its inputs, and which parts of it are trained.
std::vector<Field> modelFields() {
  return {
      inputs(),
      fieldNamed("trainable", trainedKeys()),
      fieldNamed("fixed", trainedKeys()),
      fieldNamed("freeze_batch_norm", batchNormKeys()),
      Field{"straight_through", boolean, "false",
            "rounding to integers and back (QuantizeLinear, DequantizeLinear) "
            "passes gradients on: 1 inside the range, 0 outside"},
      fieldNamed("dropout", dropoutKeys()),
      fieldNamed("batch_norm_variance", batchNormKeys())};
}

/// The methods: one key each.
std::vector<Field> methodFields() {
  return {lossKey(),
          metricsKey(),
          withThor(fieldNamed("optimizer", movingKeys())).flagged(),
          scheduleKey(),
          fieldNamed("groups", movingKeys()),
          fieldNamed("weight_decay_for", movingKeys()),
#define GRADUS_METHOD(Settings, method, pass) method().field,
#define GRADUS_KEY(key) key(),
#include "passes/methods.def"
#undef GRADUS_METHOD
#undef GRADUS_KEY
          boost(),
          distributionKey(),
          addedPassesKey(),
          plugins()};
}

/// Keys about how a step runs.
std::vector<Field> runFields() {
  return {fieldNamed("memory_limit", runKeys()),
          fieldNamed("deterministic", runKeys()),
          fieldNamed("convolutions", runKeys()),
          nonfiniteKey(),
          fieldNamed("seed", runKeys()),
          fieldNamed("settable", runKeys()),
          compatKey()};
}

Field allFields() {
  std::vector<Field> all = modelFields();
  for (const auto &more : {methodFields(), runFields()})
    all.insert(all.end(), more.begin(), more.end());
  return Field{"", object, "{}", "How Gradus is to train a model"}.of(all);
}

} // namespace

std::string frameworkIn(const nlohmann::ordered_json &object,
                        const std::string &around) {
  if (!object.is_object())
    return around;
  auto own = object.find(compatKey().key);
  return own != object.end() && own->is_string() ? own->get<std::string>()
                                                 : around;
}

std::string frameworkOf(const nlohmann::ordered_json &recipe,
                        const nlohmann::ordered_json &object) {
  std::string fallback = nlohmann::json::parse(compatKey().fallback);
  return frameworkIn(object, frameworkIn(recipe, fallback));
}

const Field &recipeField() {
  // The map, by the number of plug-ins' keys, is never destroyed: these have
  // functions of libraries that end earlier.
  static auto &made = *new std::map<size_t, Field>;
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  size_t count = pluginKeys().size();
  auto found = made.find(count);
  return found == made.end() ? made.emplace(count, allFields()).first->second
                             : found->second;
}

std::vector<Flagged> flaggedKeys() {
  std::vector<Flagged> all;
  for (const Field &field : recipeField().fields) {
    if (field.hasFlag)
      all.push_back({&field, std::string(field.key)});
    if (field.key == kPluginsKey)
      for (const Field &key : field.fields)
        if (key.hasFlag)
          all.push_back({&key, message(kPluginsKey, ".", key.key)});
  }
  return all;
}

std::vector<Switch> switches() {
  std::vector<Switch> all = {
#define GRADUS_METHOD(Settings, method, pass)                                  \
  {pass, std::string(method().field.key), &method().field, ""},
#define GRADUS_KEY(key)
#include "passes/methods.def"
#undef GRADUS_METHOD
#undef GRADUS_KEY
  };
  for (const PluginKey &key : pluginKeys())
    for (const PluginKey::Part &part : key.parts)
      all.push_back({part.pass, message(kPluginsKey, ".", key.field.key),
                     &key.field, kPluginsKey});
  return all;
}

} // namespace gradus::recipe
