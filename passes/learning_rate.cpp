// The learning-rate schedule as arithmetic of the step counter; see
// learning_rate.h. A new kind of piece is a function and a line of the table.

#include "passes/learning_rate.h"

#include <numbers>

using namespace mlir;
using namespace gradus;

namespace {

/// What a piece is computed from: all scalars of f64.
struct Piece {
  const Arithmetic &math;
  Value step;  // from the start of the piece, at most `steps`
  Value steps; // how long the piece is
  double final;

  Value number(double value) const { return math.number(value, step); }
  Value progress() const { return math.divide(step, steps); }
};

Value constant(const Piece &piece) { return piece.number(1); }

/// The first step moves already; the last one has the full rate.
Value linearWarmup(const Piece &piece) {
  Value next = piece.math.add(piece.step, piece.number(1));
  return piece.math.smaller(piece.math.divide(next, piece.steps),
                            piece.number(1));
}

Value linear(const Piece &piece) {
  Value change =
      piece.math.multiply(piece.number(piece.final - 1), piece.progress());
  return piece.math.add(piece.number(1), change);
}

Value cosine(const Piece &piece) {
  Value angle =
      piece.math.multiply(piece.number(std::numbers::pi), piece.progress());
  Value wave = piece.math.add(piece.number(1), piece.math.cosine(angle));
  Value part = piece.math.multiply(piece.number((1 - piece.final) / 2), wave);
  return piece.math.add(piece.number(piece.final), part);
}

struct Kind {
  StringRef name;
  Value (*factor)(const Piece &);
};
const Kind kinds[] = {{"constant", constant},
                      {"linear_warmup", linearWarmup},
                      {"linear", linear},
                      {"cosine", cosine}};

const Kind *findKind(const RecipeObject &piece) {
  std::string type = piece.text("type", "");
  SmallVector<StringRef> names;
  for (const Kind &kind : kinds) {
    if (kind.name == type)
      return &kind;
    names.push_back(kind.name);
  }
  piece.error("type") << "is \"" << type
                      << "\", expected one of: " << nearestFirst(type, names);
  return nullptr;
}

FailureOr<Value> pieceFactor(const Arithmetic &math, const RecipeObject &recipe,
                             Value step, int64_t first, int64_t steps) {
  const Kind *kind = findKind(recipe);
  if (!kind)
    return failure();
  Value since = math.subtract(step, math.number(first, step));
  Value length = math.number(steps, step);
  return kind->factor(
      {math, math.smaller(since, length), length, recipe.number("final", 0.0)});
}

} // namespace

FailureOr<Value> gradus::scheduleFactor(const Arithmetic &math,
                                        const RecipeObject &recipe,
                                        Value step) {
  Value factor = math.number(1, step);
  int64_t first = 0;
  auto pieces = recipe.object("schedule").objects("learning_rate");
  for (const RecipeObject &piece : pieces) {
    int64_t steps = piece.integer("steps", 0);
    if (steps <= 0)
      return piece.error("steps") << "is " << steps << ", expected 1 or more";
    FailureOr<Value> here = pieceFactor(math, piece, step, first, steps);
    if (failed(here))
      return failure();
    factor = first == 0 ? *here
                        : math.select(math.less(step, math.number(first, step)),
                                      factor, *here);
    first += steps;
  }
  return factor;
}
