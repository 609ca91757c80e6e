// The two numbers of a run's length; see run_length.h.

#include "passes/optimizers/run_length.h"

#include "passes/numbers.h"
#include "passes/optimizers/schedules.h"
#include "recipe/run_settings.h"
#include "runtime/well_known.h"

using namespace mlir;
using namespace gradus;
using recipe::Field;
using recipe::Number;

const recipe::Keys<RunLengthSettings> &gradus::runLengthKeys() {
  static const recipe::Keys<RunLengthSettings> keys = {
      Field{"updates", recipe::Kind::number, "null",
            "of the whole run, for pieces by fraction and rest; null: training "
            "sets it when it starts"}
          .from(1)
          .into(&RunLengthSettings::updates),
      Field{"updates_per_epoch", recipe::Kind::number, "null",
            "of one epoch, for pieces by epochs; null: training sets it when "
            "it starts"}
          .from(1e-9)
          .into(&RunLengthSettings::updatesPerEpoch)};
  return keys;
}

RunLength::RunLength(const Arithmetic &math, ProgramOp program)
    : math_(math), program_(program),
      settings_(
          recipe::valueOf(program, scheduleKey()).as<RunLengthSettings>()) {}

Value RunLength::updates() const {
  return read(runLengthKeys()[0], well_known::kUpdates, settings_.updates);
}

Value RunLength::updatesPerEpoch() const {
  return read(runLengthKeys()[1], well_known::kUpdatesPerEpoch,
              settings_.updatesPerEpoch);
}

Value RunLength::read(const Field &key, StringRef path,
                      const std::optional<Number> &said) const {
  // 0 is out of the key's range: a session waits for a number.
  Number number =
      said.value_or(Number{0, path.str(), key.range.minimum, key.range.limit});
  Value value;
  if (said || runSettings(program_).isSettable)
    value = readNumber(math_.builder, math_.loc, program_, number);
  else
    recipe::keyError(program_, path)
        << "is null, expected a number: with \"settable\": false it cannot be "
           "set when training starts";
  failed_ |= !value;
  auto type = RankedTensorType::get({}, math_.builder.getF64Type());
  return value ? value : splat(math_.builder, math_.loc, type, 1);
}

/// An object of the recipe with a number in place of null.
static void fill(NamedAttrList &object, std::string_view key, double number,
                 MLIRContext *context) {
  Attribute said = object.get(key);
  if (!said || isa<UnitAttr>(said))
    object.set(key, FloatAttr::get(Float64Type::get(context), number));
}

DictionaryAttr gradus::withRunLength(ProgramOp program, double updates,
                                     double updatesPerEpoch) {
  MLIRContext *context = program.getContext();
  NamedAttrList recipe(program.getRecipeAttr());
  NamedAttrList schedule(
      dyn_cast_or_null<DictionaryAttr>(recipe.get(scheduleKey().key)));
  fill(schedule, runLengthKeys()[0].key, updates, context);
  fill(schedule, runLengthKeys()[1].key, updatesPerEpoch, context);
  recipe.set(scheduleKey().key, schedule.getDictionary(context));
  recipe.set(settableKey().key, BoolAttr::get(context, false));
  return recipe.getDictionary(context);
}
