// Kinds of pieces: their names, which need a length, and what is refused.

#include "passes/optimizers/schedule_pieces.h"

#include "passes/optimizers/schedules.h"
#include "tests/passes/program_text.h"

using namespace mlir;
using namespace gradus;
using gradus::testing::PassText;

namespace {

/// A piece of the learning rate's schedule, and the mistake in it.
struct Piece {
  explicit Piece(const std::string &text)
      : source("gradus.program @p attributes {recipe = {schedule = "
               "{learning_rate = [{" +
               text + "}]}}} {}") {
    std::vector<recipe::Value> pieces;
    recipe::valueOf(source.program(), scheduleKey())
        .at("learning_rate")
        .to(pieces);
    needsLength = gradus::needsLength(pieces.at(0));
    if (FoundMistake found = pieceMistake(pieces.at(0)))
      mistake = found->path + ": " + found->words;
  }
  PassText source;
  bool needsLength = false;
  std::string mistake;
};

} // namespace

TEST(SchedulePieces, HaveAKindForEachChoice) {
  for (const recipe::Choice &choice : pieceChoices()) {
    recipe::Field field =
        recipe::Field{"", recipe::Kind::variant, "{}", ""}.among(
            pieceChoices());
    MLIRContext context;
    std::string type = "{\"type\": \"" + std::string(choice.name) + "\"}";
    recipe::Value piece(field, recipe::attributeOf(type, &context), "pytorch",
                        "", &context);
    EXPECT_EQ(pieceKindOf(piece).name, choice.name);
  }
}

TEST(SchedulePieces, NeedALengthThatTheirFormulaHas) {
  for (const char *type :
       {"linear_warmup", "linear", "cosine", "polynomial", "one_cycle"})
    EXPECT_TRUE(Piece("type = \"" + std::string(type) + "\"").needsLength)
        << type;
  EXPECT_FALSE(Piece(R"(type = "cosine", period = 7.0)").needsLength);
  EXPECT_FALSE(Piece(R"(type = "constant")").needsLength);
}

TEST(SchedulePieces, AreRefusedWithFactorsThatDoNotFit) {
  EXPECT_EQ(Piece(R"(type = "product", factors = [{type = "piecewise",
                   milestones = [4, 2], values = [1.0, 0.5]}])")
                .mistake,
            "schedule.learning_rate[0].factors[0].milestones: is not in "
            "ascending order");
  EXPECT_EQ(Piece(R"(type = "product", factors = [{type = "linear"}])").mistake,
            "schedule.learning_rate[0].factors[0]: does not say how long it "
            "is, expected steps, epochs, fraction or rest");
  EXPECT_EQ(Piece(R"(type = "list", values = [])").mistake,
            "schedule.learning_rate[0].values: is empty, expected a factor a "
            "step");
}

TEST(SchedulePieces, CountUpdatesWhereTheyEndOnce) {
  EXPECT_EQ(
      Piece(R"(type = "linear_warmup", steps = 5, at_end = true)").mistake,
      "schedule.learning_rate[0]: is a linear_warmup, which counts "
      "updates where they end, and so does at_end");
  EXPECT_EQ(Piece(R"(type = "product", at_end = true, factors = [
                   {type = "linear_warmup", steps = 5}])")
                .mistake,
            "schedule.learning_rate[0].factors[0]: is a linear_warmup, which "
            "counts updates where they end, and so does at_end of its product");
  EXPECT_EQ(Piece(R"(type = "product", at_end = true, factors = [
                   {type = "constant"}, {type = "step", at_end = true}])")
                .mistake,
            "schedule.learning_rate[0].factors[1].at_end: is true of its "
            "product, too: k would be 2 at the first update");
  EXPECT_EQ(Piece(R"(type = "product", factors = [
                   {type = "linear_warmup", steps = 5},
                   {type = "step", at_end = true}])")
                .mistake,
            "");
}
