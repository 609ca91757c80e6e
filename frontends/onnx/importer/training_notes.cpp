// Warnings of what nodes do in training; see training_notes.h.

#include "frontends/onnx/importer/training_notes.h"

#include "mlir/IR/Diagnostics.h"

namespace gradus::onnx {

using namespace mlir;

std::optional<double> numberOf(DictionaryAttr recipe, llvm::StringRef key) {
  Attribute value = recipe ? recipe.get(key) : Attribute();
  if (auto number = dyn_cast_or_null<FloatAttr>(value))
    return number.getValueAsDouble();
  return {};
}

static InFlightDiagnostic warning(DictionaryAttr recipe) {
  return emitWarning(UnknownLoc::get(recipe.getContext()));
}

void TrainingNotes::tell(DictionaryAttr recipe) const {
  if (!recipe || !recipe.contains("loss"))
    return;
  tellBatchNorms(recipe);
  tellDropouts(recipe);
  tellRoundings(recipe);
}

void TrainingNotes::tellBatchNorms(DictionaryAttr recipe) const {
  auto frozen = recipe.getAs<BoolAttr>("freeze_batch_norm");
  bool trains =
      recipe.getAs<DictionaryAttr>("loss") && (!frozen || !frozen.getValue());
  if (batchNorms_ && trains)
    warning(recipe) << batchNorms_
                    << (batchNorms_ == 1 ? " batch normalization is"
                                         : " batch normalizations are")
                    << " in inference form; training uses the "
                       "statistics of the batch (\"freeze_batch_norm\": true "
                       "keeps the running ones)";
}

/// Says nothing of dropouts where the recipe says what they drop.
void TrainingNotes::tellDropouts(DictionaryAttr recipe) const {
  if (numberOf(recipe, "dropout"))
    return;
  if (dropouts_)
    warning(recipe) << dropouts_
                    << (dropouts_ == 1 ? " dropout is" : " dropouts are")
                    << " in inference form; training drops by the stated ratio "
                       "(\"dropout\": 0 in the recipe drops nothing)";
  if (idleDropouts_)
    warning(recipe) << idleDropouts_
                    << (idleDropouts_ == 1 ? " dropout is" : " dropouts are")
                    << " in inference form without a ratio; training drops "
                       "nothing there (\"dropout\": 0.1 in the recipe lets "
                       "every dropout drop so much)";
}

void TrainingNotes::tellRoundings(DictionaryAttr recipe) const {
  if (roundings_)
    warning(recipe)
        << roundings_ << (roundings_ == 1 ? " value is" : " values are")
        << " rounded to integers (QuantizeLinear), which stops the gradient; "
           "\"straight_through\": true in the recipe passes it on to where "
           "DequantizeLinear takes them, 1 inside the range and 0 outside, as "
           "PyTorch's FakeQuantize does";
}

} // namespace gradus::onnx
