// Kinds of pieces: their names, their lengths and what is refused.

#include "passes/schedule_pieces.h"

#include "passes/schedules.h"
#include "program_text.h"

using namespace mlir;
using namespace gradus;
using gradus::testing::PassText;

namespace {

/// What is said of a piece of the learning rate's schedule, and its length.
struct Piece {
  explicit Piece(const std::string &text, bool isLast = true)
      : source("gradus.program @p attributes {recipe = {schedule = "
               "{learning_rate = [{" +
               text + "}]}}} {}") {
    std::vector<recipe::Value> pieces;
    recipe::valueOf(source.program(), scheduleKey())
        .at("learning_rate")
        .to(pieces);
    length = pieceLength(source.program(), pieces.at(0), isLast);
  }
  PassText source;
  FailureOr<std::optional<double>> length = failure();
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

TEST(SchedulePieces, GoOnWhereTheyAreLastAndNeedNoLength) {
  EXPECT_EQ(**Piece(R"(type = "cosine", steps = 7 : i64)").length, 7);
  EXPECT_FALSE((*Piece(R"(type = "cosine", period = 7.0)").length).has_value());
  EXPECT_FALSE((*Piece(R"(type = "constant")").length).has_value());
}

TEST(SchedulePieces, MustSayTheLengthThatTheirFormulaHas) {
  Piece cosine(R"(type = "cosine")");
  EXPECT_TRUE(failed(cosine.length));
  EXPECT_NE(cosine.source.messages.find(
                "recipe: schedule.learning_rate[0].steps is missing, expected "
                "how long this piece is\n"),
            std::string::npos)
      << cosine.source.messages;
  Piece first(R"(type = "constant")", /*isLast=*/false);
  EXPECT_NE(first.source.messages.find("only the last one may go on"),
            std::string::npos)
      << first.source.messages;
}

TEST(SchedulePieces, AreRefusedWithFactorsThatDoNotFit) {
  Piece product(R"(type = "product", factors = [{type = "piecewise",
                   milestones = [4, 2], values = [1.0, 0.5]}])");
  EXPECT_TRUE(failed(product.length));
  EXPECT_NE(product.source.messages.find("schedule.learning_rate[0].factors[0]"
                                         ".milestones is not in ascending"),
            std::string::npos)
      << product.source.messages;
}
