// Warnings tell which nodes training treats otherwise than the file.

#include "frontends/onnx/importer/training_notes.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

#include <gmock/gmock.h>

using namespace mlir;
using gradus::onnx::TrainingNotes;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

std::vector<std::string> told(const TrainingNotes &notes, const char *recipe) {
  MLIRContext context;
  std::vector<std::string> words;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    words.push_back(diagnostic.str());
  });
  notes.tell(cast<DictionaryAttr>(parseAttribute(recipe, &context)));
  return words;
}

/// One of each kind.
TrainingNotes all() {
  TrainingNotes notes;
  notes.addBatchNorm();
  notes.addDropout(0.5);
  notes.addDropout(std::nullopt);
  notes.addRounding();
  return notes;
}

} // namespace

TEST(TrainingNotes, AreALineForEachKind) {
  EXPECT_THAT(
      told(all(), R"({loss = {type = "mse"}})"),
      ElementsAre(HasSubstr("1 batch normalization is in inference form"),
                  HasSubstr("training drops by the stated ratio"),
                  HasSubstr("training drops nothing there"),
                  HasSubstr("1 value is rounded to integers")));
}

TEST(TrainingNotes, AreOfWhatTheRecipeLeavesOpen) {
  EXPECT_THAT(told(all(), R"({loss = {type = "mse"}, dropout = 0.0,
                              freeze_batch_norm = true})"),
              ElementsAre(HasSubstr("rounded to integers")));
  EXPECT_THAT(told(TrainingNotes(), R"({loss = {type = "mse"}})"), IsEmpty());
}

TEST(TrainingNotes, AreNoneWithoutALoss) {
  EXPECT_THAT(told(all(), "{}"), IsEmpty());
  all().tell(DictionaryAttr());
}

TEST(TrainingNotes, AreNoneOfADropoutThatDropsNothing) {
  TrainingNotes notes;
  notes.addDropout(0);
  EXPECT_THAT(told(notes, R"({loss = {type = "mse"}})"), IsEmpty());
}
