// Lengths of pieces: what they need, and what they come to in a run.

#include "passes/optimizers/piece_lengths.h"

#include "passes/numbers.h"
#include "passes/optimizers/schedules.h"
#include "tests/passes/program_text.h"
#include "tests/recipe/piece_cases.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace gradus;
using gradus::testing::PassText;

namespace {

/// Pieces of the learning rate in a run of 1,000 updates, 97.75 an epoch.
struct Pieces {
  explicit Pieces(const std::string &text)
      : source("gradus.program @p attributes {recipe = {settable = false, "
               "schedule = {updates = 1000.0, updates_per_epoch = 97.75, "
               "learning_rate = " +
               text + "}}} {}") {
    recipe::valueOf(source.program(), scheduleKey())
        .at("learning_rate")
        .to(pieces);
  }

  std::string mistake() const {
    FoundMistake found = lengthMistake(pieces);
    return found ? found->path + ": " + found->words : "";
  }

  /// Returns the beginning and the length of each piece in whole updates; one
  /// that goes on has the length 0.
  std::vector<std::pair<double, double>> inUpdates() {
    EXPECT_EQ(mistake(), "");
    Block block;
    OpBuilder builder(source.program().getContext());
    builder.setInsertionPointToEnd(&block);
    Arithmetic math(builder, source.program().getLoc());
    RunLength run(math, source.program());
    Value zero = splat(builder, math.loc,
                       RankedTensorType::get({}, builder.getF64Type()), 0);
    std::vector<std::pair<double, double>> found;
    for (const PieceLength &length : pieceLengths(math, run, pieces, zero)) {
      Value updates;
      if (length.steps)
        updates = math.multiply(length.steps, length.unit);
      found.emplace_back(
          knownNumber(length.first).value_or(-2),
          updates ? std::floor(knownNumber(updates).value_or(-2) + 0.5) : 0);
    }
    EXPECT_EQ(source.messages, "");
    return found;
  }

  PassText source;
  std::vector<recipe::Value> pieces;
};

using Spans = std::vector<std::pair<double, double>>;

} // namespace

TEST(PieceLengths, ComeFromStepsEpochsFractionsAndTheRest) {
  for (const gradus::testing::PieceCase &each : gradus::testing::kPieceCases) {
    std::string text(each.pieces);
    std::ranges::replace(text, ':', '=');
    Spans spans;
    double begin = 0;
    for (double length : each.lengths) {
      spans.emplace_back(begin, length);
      begin += length;
    }
    EXPECT_EQ(Pieces(text).inUpdates(), spans) << each.pieces;
  }
}

TEST(PieceLengths, AreSaidOnceByPiecesThatNeedThem) {
  EXPECT_EQ(Pieces(R"([{type = "constant", steps = 1 : i64, epochs = 2.0}])")
                .mistake(),
            "schedule.learning_rate[0]: has steps and epochs, of which only "
            "one can say how long it is");
  EXPECT_EQ(Pieces(R"([{type = "cosine"}])").mistake(),
            "schedule.learning_rate[0]: does not say how long it is, expected "
            "steps, epochs, fraction or rest");
  EXPECT_EQ(Pieces(R"([{type = "constant"}, {type = "constant"}])").mistake(),
            "schedule.learning_rate[0]: does not say how long it is, expected "
            "steps, epochs, fraction or rest: only the last piece may go on");
  EXPECT_EQ(Pieces(R"([{type = "constant", rest = true}, {type = "constant"}])")
                .mistake(),
            "schedule.learning_rate[1]: does not say how long it is, expected "
            "steps, epochs, fraction or rest: the rest before it ends with the "
            "run");
}

/// An update counts where it begins, or where it ends; whole epochs are those
/// that are over then.
TEST(PieceLengths, CountUpdatesWhereTheyEndIfSaid) {
  Pieces pieces(R"([{type = "constant", interval = "smooth_epoch"},
                   {type = "constant", interval = "smooth_epoch", at_end = true},
                   {type = "constant", every = 10 : i64, at_end = true}])");
  Block block;
  OpBuilder builder(pieces.source.program().getContext());
  builder.setInsertionPointToEnd(&block);
  Arithmetic math(builder, pieces.source.program().getLoc());
  RunLength run(math, pieces.source.program());
  auto type = RankedTensorType::get({}, builder.getF64Type());
  auto since = [&](size_t piece, double update) {
    Value at = splat(builder, math.loc, type, update);
    auto lengths = pieceLengths(math, run, pieces.pieces[piece], at);
    return knownNumber(lengths.front().since(math, at)).value_or(-1);
  };
  EXPECT_EQ(since(0, 391), 4);
  EXPECT_EQ(since(1, 390), 4);
  EXPECT_EQ(since(1, 0), 1 / 97.75);
  EXPECT_EQ(since(2, 8), 0);
  EXPECT_EQ(since(2, 9), 1);
}

TEST(PieceLengths, DoNotExceedTheRun) {
  EXPECT_EQ(Pieces(R"([{type = "constant", rest = true},
                      {type = "cosine", rest = true}])")
                .mistake(),
            "schedule.learning_rate[1].rest: is true of two pieces, and what "
            "is left of the run can be given to one");
  EXPECT_EQ(Pieces(R"([{type = "constant", fraction = 0.6},
                      {type = "cosine", fraction = 0.6}])")
                .mistake(),
            "schedule.learning_rate[1].fraction: makes the fractions of the "
            "run more than 1 together");
}

TEST(PieceLengths, OfFactorsAreInUnitsOfTheirProduct) {
  Pieces pieces(R"([{type = "constant", epochs = 2.0},
                   {type = "constant", rest = true},
                   {type = "constant", steps = 2 : i64}])");
  auto mistake = [&](size_t piece, bool countsUpdates) {
    FoundMistake found =
        factorLengthMistake(pieces.pieces[piece], countsUpdates);
    return found ? found->words : "";
  };
  EXPECT_EQ(mistake(0, true), "");
  EXPECT_EQ(mistake(0, false),
            "counts epochs or a part of the run, expected steps: its product "
            "has every or interval");
  EXPECT_EQ(mistake(1, true),
            "is for pieces that follow one another, and factors run side by "
            "side");
  EXPECT_EQ(mistake(2, false), "");
}
