// The formula of each loss, in PyTorch's definition and in small ops that are
// stable for any input; see losses.h.
//
// A formula says what each element or label contributes and what that counts
// in a mean; one function makes a number of it. What is narrower than f32 is
// computed in f32.

#include "passes/model/losses.h"

#include "ir/arithmetic.h"
#include "ir/evaluator/evaluator.h"
#include "passes/model/loss_divisor.h"

#include <cmath>

using namespace mlir;
using namespace gradus;

namespace {

/// A loss before it is one number.
struct Terms {
  Value each;   // what is added up
  Value counts; // what each counts in the mean; null: 1
};

/// Where a loss is written, and from what.
struct Formula : Arithmetic {
  Formula(OpBuilder &builder, Location loc, const Loss &loss, Value output,
          Value label)
      : Arithmetic(builder, loc), loss(loss), settings(loss.formula),
        output(wide(output)), label(label) {
    if (label && isa<FloatType>(tensorType(label).getElementType()))
      this->label = wide(label);
  }

  Value wide(Value value) const {
    return convert(builder, loc, value,
                   computeType(tensorType(value).getElementType()));
  }
  Value scale(double factor, Value value) const {
    return multiply(value, number(factor, value));
  }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) const {
    return builder.createOrFold<arith::CmpFOp>(loc, predicate, a, b);
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) const {
    return builder.createOrFold<arith::CmpIOp>(loc, predicate, a, b);
  }
  /// `value`, or 0 where the condition does not hold.
  Value where(Value condition, Value value) const {
    return select(condition, value, number(0, value));
  }
  Value total(Value value) const {
    return sum(builder, loc, value, allAxes(tensorType(value).getRank()));
  }
  /// log(1 + exp(x)), without overflow.
  Value softplus(Value x) const {
    Value tail = exponential(negate(absolute(x)));
    return add(larger(x, number(0, x)),
               builder.createOrFold<math::Log1pOp>(loc, tail));
  }
  Value difference() const { return subtract(output, label); }

  const Loss &loss;
  const FormulaSettings &settings;
  Value output, label;
};

//===-- of classes --------------------------------------------------------===//

/// Labels that are classes, as formulas use them.
struct Classes {
  explicit Classes(const Formula &f) : f(f), axis(f.loss.classAxis) {
    Type number = tensorType(f.label).getElementType();
    Value numbers =
        iota(f.builder, f.loc, tensorType(f.output).clone(number), axis);
    isLabel = f.compare(arith::CmpIPredicate::eq, numbers, over(f.label));
    counted = f.compare(arith::CmpIPredicate::ne, f.label,
                        splat(f.builder, f.loc, f.label.getType(),
                              f.loss.settings.ignoreIndex));
  }

  /// A value a label, for all classes.
  Value over(Value value) const {
    return broadcastAlong(f.builder, f.loc, value,
                          tensorType(f.output).getShape(), {axis});
  }
  Value overClasses(Value value) const {
    return sum(f.builder, f.loc, value, {axis});
  }
  Value atLabel(Value value) const {
    return overClasses(f.where(isLabel, value));
  }
  /// For each label 1, NaN if it counts but is no class: a factor, which makes
  /// gradients NaN as well.
  Value nanOutside() const {
    // As an unsigned number, one below zero is large.
    Value isClass =
        f.compare(arith::CmpIPredicate::ult, f.label,
                  splat(f.builder, f.loc, f.label.getType(), f.loss.classes()));
    auto type =
        tensorType(f.label).clone(tensorType(f.output).getElementType());
    Value one = splat(f.builder, f.loc, type, 1);
    Value factor = f.select(isClass, one, f.number(std::nan(""), one));
    return f.select(counted, factor, one);
  }
  /// The weight of each label: 1, or that of its class; 0 if it is ignored.
  Value weights() const;

  const Formula &f;
  int64_t axis;
  Value isLabel; // of the output's shape
  Value counted; // of the labels' shape: not the one to ignore
};

/// A number for each class, in the shape of the output.
Value perClass(const Formula &f, ArrayRef<double> numbers, int64_t axis) {
  RankedTensorType type = tensorType(f.output);
  int64_t count = numbers.size();
  HostTensor values = zeros(ArrayRef<int64_t>(count));
  values.floats.assign(numbers.begin(), numbers.end());
  auto constant = arith::ConstantOp::create(
      f.builder, f.loc,
      toElements(values, RankedTensorType::get(count, type.getElementType())));
  return broadcast(f.builder, f.loc, constant, type.getShape(), {axis});
}

/// The weight of each class, in the shape of the output; null if all are 1.
Value classWeights(const Formula &f) {
  return f.loss.settings.classWeights.empty()
             ? Value()
             : perClass(f, f.loss.settings.classWeights, f.loss.classAxis);
}

Value Classes::weights() const {
  Value weights = classWeights(f);
  if (!weights)
    return convert(f.builder, f.loc, counted,
                   tensorType(f.output).getElementType());
  return f.where(counted, atLabel(weights));
}

Value weighed(const Formula &f, Value value) {
  Value weights = classWeights(f);
  return weights ? f.multiply(value, weights) : value;
}

/// `-w_l log p_l` at a label l, smoothed:
/// `-(1 - e) w_l log p_l - e / C sum_c w_c log p_c`; counts w_l.
Terms likelihood(const Formula &f, Value logs) {
  Classes classes(f);
  double smoothing = f.settings.labelSmoothing;
  Value weights = classes.weights();
  // No class is at a label outside, so its loss needs the factor as well as
  // the gradients of its classes.
  Value inside = classes.nanOutside();
  logs = f.multiply(logs, classes.over(inside));
  Value atLabel = f.multiply(classes.atLabel(logs), inside);
  Value each = f.multiply(f.where(classes.counted, atLabel),
                          f.scale(smoothing - 1, weights));
  if (smoothing > 0) {
    Value all = classes.overClasses(weighed(f, logs));
    Value spread = f.scale(-smoothing / f.loss.classes(), all);
    each = f.add(each, f.where(classes.counted, spread));
  }
  return {each, weights};
}

/// `-sum_c w_c t_c log p_c` for probabilities t, smoothed:
/// `(1 - e) t + e / C` in place of t.
Terms softLikelihood(const Formula &f, Value logs) {
  double smoothing = f.settings.labelSmoothing;
  Value target = f.label;
  if (smoothing > 0)
    target = f.add(f.scale(1 - smoothing, target),
                   f.number(smoothing / f.loss.classes(), target));
  Value products = f.multiply(target, weighed(f, logs));
  return {f.negate(sum(f.builder, f.loc, products, {f.loss.classAxis})), {}};
}

Terms softmaxCrossEntropy(const Formula &f) {
  Value logs = SoftmaxOp::create(f.builder, f.loc, /*log=*/true, f.output,
                                 f.loss.classAxis);
  return f.loss.labels() == Labels::classes ? likelihood(f, logs)
                                            : softLikelihood(f, logs);
}

Terms negativeLogLikelihood(const Formula &f) {
  return likelihood(f, f.output);
}

/// `w_l / C sum over c != l of max(0, margin - x_l + x_c)^power`; counts 1.
Terms multiMargin(const Formula &f) {
  Classes classes(f);
  Value ahead = f.subtract(f.output, classes.over(classes.atLabel(f.output)));
  Value gap = f.add(ahead, f.number(f.settings.margin, ahead));
  Value cost = f.settings.power == 2 ? f.multiply(gap, gap) : gap;
  Value zero = f.number(0, cost);
  cost =
      f.select(classes.isLabel, zero, f.select(f.less(zero, gap), cost, zero));
  cost = f.multiply(cost, classes.over(classes.nanOutside()));
  Value total = f.where(classes.counted, classes.overClasses(cost));
  Value each =
      f.multiply(total, f.scale(1.0 / f.loss.classes(), classes.weights()));
  return {each, convert(f.builder, f.loc, classes.counted,
                        tensorType(f.output).getElementType())};
}

//===-- of values ---------------------------------------------------------===//

/// `(x - t)^2`
Terms meanSquaredError(const Formula &f) {
  Value difference = f.difference();
  return {f.multiply(difference, difference), {}};
}

/// `|x - t|`
Terms absoluteError(const Formula &f) {
  return {f.absolute(f.difference()), {}};
}

/// With d = |x - t|: `square d^2 / 2` below the bend, `slope (d - bend / 2)`
/// above.
Terms bentError(const Formula &f, double bend, double square, double slope) {
  Value d = f.absolute(f.difference());
  Value near = f.multiply(f.scale(square / 2, d), d);
  Value far = f.scale(slope, f.subtract(d, f.number(bend / 2, d)));
  return {f.select(f.less(d, f.number(bend, d)), near, far), {}};
}

/// `d^2 / (2 beta)` below beta, `d - beta / 2` above
Terms smoothAbsoluteError(const Formula &f) {
  double beta = f.settings.bend;
  return beta == 0 ? absoluteError(f) : bentError(f, beta, 1 / beta, 1);
}

/// `d^2 / 2` below delta, `delta (d - delta / 2)` above
Terms huber(const Formula &f) {
  double delta = f.settings.bend;
  return bentError(f, delta, 1, delta);
}

/// `-(w t log s(x) + (1 - t) log(1 - s(x)))`, s the sigmoid, as
/// `(1 - t) x + (1 + (w - 1) t) softplus(-x)`
Terms binaryCrossEntropy(const Formula &f) {
  Value one = f.number(1, f.output), weight = one;
  auto weights = f.settings.positiveWeights;
  for (double &number : weights)
    number -= 1;
  if (weights.size() == 1)
    weight = f.add(one, f.scale(weights[0], f.label));
  else if (!weights.empty())
    weight = f.add(one, f.multiply(perClass(f, weights,
                                            tensorType(f.output).getRank() - 1),
                                   f.label));
  Value linear = f.multiply(f.subtract(one, f.label), f.output);
  Value log = f.softplus(f.negate(f.output));
  return {f.add(linear, f.multiply(weight, log)), {}};
}

/// `t (log t - x)`, 0 for t = 0; `exp(t) (t - x)` for logarithms t
Terms divergence(const Formula &f) {
  if (f.settings.hasLogTarget)
    return {f.multiply(f.exponential(f.label), f.negate(f.difference())), {}};
  Value isZero =
      f.compare(arith::CmpFPredicate::OEQ, f.label, f.number(0, f.label));
  Value entropy = f.select(isZero, f.number(0, f.label),
                           f.multiply(f.label, f.logarithm(f.label)));
  return {f.subtract(entropy, f.multiply(f.label, f.output)), {}};
}

/// `max(0, margin - t x)` for t = 1 or -1
Terms hinge(const Formula &f) {
  Value product = f.multiply(f.label, f.output);
  Value gap = f.subtract(f.number(f.settings.margin, product), product);
  Value zero = f.number(0, gap);
  return {f.select(f.less(gap, zero), zero, gap), {}};
}

/// `x` for t = 1, `max(0, margin - x)` for t = -1
Terms hingeEmbedding(const Formula &f) {
  auto labelIsNot = [&](double number) {
    return f.compare(arith::CmpFPredicate::UNE, f.label,
                     f.number(number, f.label));
  };
  Value zero = f.number(0, f.output);
  Value gap = f.subtract(f.number(f.settings.margin, f.output), f.output);
  gap = f.select(f.less(gap, zero), zero, gap);
  return {f.add(f.where(labelIsNot(1), gap), f.where(labelIsNot(-1), f.output)),
          {}};
}

Terms itself(const Formula &f) { return {f.output, {}}; }

} // namespace

//===-- keys --------------------------------------------------------------===//

namespace {

using recipe::Choice;
using recipe::Field;
using recipe::Fields;
using enum recipe::Kind;
using S = LossSettings;
using F = FormulaSettings;

Field real(std::string_view key, std::string_view fallback,
           std::string_view help) {
  return {key, number, fallback, help};
}

Field flag(std::string_view key, std::string_view help) {
  return {key, boolean, "false", help};
}

Field amounts(std::string_view key, std::string_view help) {
  return Field{key, list, "null", help}.of(
      Fields{real("", "1.0", "a number").from(0)});
}

Field reduction(std::vector<Choice> choices = {{"mean"}, {"sum"}}) {
  return Field{"reduction", choice, "\"mean\"",
               "how elements become one number"}
      .among(std::move(choices))
      .into(&S::reduction);
}

/// The keys of every loss that is computed from an output.
Fields ofOutput() {
  return {Field{"output", text, "null",
                "the output that the loss takes; null: the only one"}
              .into(&S::output),
          real("weight", "1.0", "factor of this loss").into(&S::weight)};
}

/// The keys of a loss that compares an output with labels.
Fields compared() {
  return ofOutput() +
         Fields{Field{"label", text, "null",
                      "the input that its labels come in, new or one of the "
                      "model's; null: `label`"}
                    .into(&S::label)};
}

Field classAxis() {
  return Field{"class_axis", integer, "null",
               "the axis of the output along which the classes lie; null: 1, "
               "or of three axes the one that labels among the model's inputs, "
               "or class_weights, allow alone"}
      .into(&S::classAxis);
}

Field weightsOfClasses() {
  return amounts("class_weights", "one for each class; null: 1")
      .into(&S::classWeights);
}

/// The keys of losses whose labels are classes, of which one may be ignored.
Fields labelled() {
  return compared() + Fields{reduction(), classAxis(),
                             Field{"ignore_index", integer, "-100",
                                   "a label that does not count"}
                                 .into(&S::ignoreIndex),
                             weightsOfClasses()};
}

Fields keysOfCrossEntropy() {
  return labelled() +
         Fields{real("label_smoothing", "0.0",
                     "part of the target spread over all classes")
                    .from(0)
                    .below(1)
                    .into(&F::labelSmoothing),
                flag("soft_labels", "labels are probabilities of the classes, "
                                    "in the shape of the output")
                    .into(&F::hasSoftLabels)};
}

Field margin() {
  return real("margin", "1.0", "the distance that costs nothing")
      .into(&F::margin);
}

Fields keysOfMultiMargin() {
  return compared() +
         Fields{reduction(), classAxis(), weightsOfClasses(), margin(),
                Field{"power", integer, "1", "of the distances, 1 or 2"}
                    .from(1)
                    .below(3)
                    .into(&F::power)};
}

/// The keys of losses whose labels are numbers.
Fields ofNumbers() { return compared() + Fields{reduction()}; }

/// `key` is where a parabola ends.
Fields bent(std::string_view key) {
  return ofNumbers() + Fields{real(key, "1.0", "where the parabola ends")
                                  .from(0)
                                  .into(&F::bend)};
}

Fields keysOfBinaryCrossEntropy() {
  return ofNumbers() +
         Fields{amounts("pos_weight",
                        "of labels that are 1: one number, or one for each of "
                        "the last axis; null: 1")
                    .into(&F::positiveWeights)};
}

Fields keysOfDivergence() {
  return compared() + Fields{reduction({{"mean"}, {"sum"}, {"batchmean"}}),
                             flag("log_target", "labels are logarithms")
                                 .into(&F::hasLogTarget)};
}

} // namespace

//===-- the table ---------------------------------------------------------===//

struct gradus::LossType {
  std::string_view name;
  Labels labels;
  Terms (*terms)(const Formula &);
  Fields keys;
};

static const std::vector<LossType> &types() {
  static const std::vector<LossType> all = {
      {"softmax_cross_entropy", Labels::classes, softmaxCrossEntropy,
       keysOfCrossEntropy()},
      {"nll", Labels::classes, negativeLogLikelihood, labelled()},
      {"multi_margin", Labels::classes, multiMargin, keysOfMultiMargin()},
      {"bce_with_logits", Labels::values, binaryCrossEntropy,
       keysOfBinaryCrossEntropy()},
      {"mse", Labels::values, meanSquaredError, ofNumbers()},
      {"l1", Labels::values, absoluteError, ofNumbers()},
      {"smooth_l1", Labels::values, smoothAbsoluteError, bent("beta")},
      {"huber", Labels::values, huber, bent("delta")},
      {"kl_div", Labels::values, divergence, keysOfDivergence()},
      {"hinge", Labels::values, hinge, ofNumbers() + Fields{margin()}},
      {"hinge_embedding", Labels::values, hingeEmbedding,
       ofNumbers() + Fields{margin()}},
      {"output", Labels::none, itself, ofOutput() + Fields{reduction()}}};
  return all;
}

const Field &gradus::lossKey() {
  static const Field key = [] {
    std::vector<Choice> choices;
    for (const LossType &type : types())
      choices.emplace_back(type.name, type.keys);
    Field term =
        Field{"", variant, R"({"type": "softmax_cross_entropy"})", "one loss"}
            .among(choices)
            .definedAs("loss");
    choices.emplace_back(
        "sum", Fields{Field{"of", list, "[]", "losses that are added up"}.of(
                   Fields{term})});
    return Field{"loss", variant, R"({"type": "softmax_cross_entropy"})",
                 "what training makes small"}
        .among(choices);
  }();
  return key;
}

Loss::Loss(ProgramOp program, const recipe::Value &own)
    : program(program), path(own.where()), settings(own.as<LossSettings>()),
      formula(own.as<FormulaSettings>()), type(&types()[own.choice()]) {}

StringRef Loss::typeName() const { return type->name; }

Labels Loss::labels() const {
  return formula.hasSoftLabels ? Labels::values : type->labels;
}

RankedTensorType Loss::labelType() const {
  if (labels() == Labels::none)
    return {};
  if (labels() == Labels::values)
    return outputType;
  SmallVector<int64_t> shape(outputType.getShape());
  shape.erase(shape.begin() + classAxis);
  return RankedTensorType::get(shape,
                               IntegerType::get(outputType.getContext(), 64));
}

//===-- to one number -----------------------------------------------------===//

/// A mask: true where the sample of an element of `type` is one of the first
/// `count`.
static Value realSamples(OpBuilder &builder, Location loc,
                         RankedTensorType type, Value count) {
  auto indices = type.clone(builder.getI64Type());
  Value sample = iota(builder, loc, indices, /*axis=*/0);
  Value limit = broadcastScalar(builder, loc, count, type.getShape());
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, sample,
                               limit);
}

Value gradus::maskLabels(OpBuilder &builder, Location loc, const Loss &loss,
                         Value label, Value count) {
  if (loss.labels() != Labels::classes || tensorType(label).getRank() == 0)
    return label;
  Value real = realSamples(builder, loc, tensorType(label), count);
  Value padding = splatLike(builder, label, loss.settings.ignoreIndex);
  return arith::SelectOp::create(builder, loc, real, label, padding);
}

/// The divisor of a mean over equal parts, whose elements `each` has.
static Value divisor(const Formula &f, Value each, Value total, Value count) {
  int64_t elements = tensorType(each).getNumElements(),
          samples = tensorType(each).getDimSize(0);
  double perSample = f.loss.settings.reduction == LossReduction::batchMean
                         ? 1
                         : double(elements) / samples;
  if (!count)
    return f.number(perSample * samples, total);
  Value real =
      convert(f.builder, f.loc, count, tensorType(total).getElementType());
  return f.scale(perSample, real);
}

static Value reduceTerms(const Formula &f, Terms terms, Value count,
                         LossRanks ranks) {
  RankedTensorType type = tensorType(terms.each);
  if (type.getRank() == 0 && !terms.counts)
    return terms.each;
  if (count && !terms.counts)
    terms.each =
        f.where(realSamples(f.builder, f.loc, type, count), terms.each);
  Value total = f.total(terms.each);
  if (f.loss.settings.reduction == LossReduction::sum)
    return total;
  if (!terms.counts)
    return f.divide(total, divisor(f, terms.each, total, count));
  return meanOfTerms(f, total, {f.total(terms.counts), type.getNumElements()},
                     ranks);
}

/// Losses that are one op, with a gradient rule of its own; null for others.
static Value oneOp(const Formula &f, Value output, Value label, Value count) {
  OpBuilder &builder = f.builder;
  RankedTensorType type = f.loss.outputType;
  auto scalar = RankedTensorType::get({}, type.getElementType());
  if (f.loss.settings.reduction != LossReduction::mean)
    return {};
  if (f.loss.typeName() == "mse" && !count)
    return MeanSquaredErrorOp::create(builder, f.loc, scalar, output, label);
  if (f.loss.typeName() != "softmax_cross_entropy" ||
      f.loss.labels() != Labels::classes ||
      !f.loss.settings.classWeights.empty())
    return {};
  return SoftmaxCrossEntropyOp::create(
      builder, f.loc, scalar, output, label,
      builder.getI64IntegerAttr(f.loss.classAxis),
      builder.getI64IntegerAttr(f.loss.settings.ignoreIndex),
      builder.getF64FloatAttr(f.settings.labelSmoothing));
}

Value gradus::shareMean(OpBuilder &builder, Location loc, const Loss &loss,
                        Value label, Value mean, LossRanks ranks) {
  ranks.mean = LossMean::global;
  return scaleToAll(Arithmetic(builder, loc), mean,
                    {countLabels(builder, loc, loss, label),
                     tensorType(label).getNumElements()},
                    ranks);
}

Value gradus::buildLoss(OpBuilder &builder, Location loc, const Loss &loss,
                        Value output, Value label, Value count,
                        LossRanks ranks) {
  Formula f(builder, loc, loss, output, label);
  Value value = oneOp(f, output, label, count);
  if (value && ranks.count && loss.labels() == Labels::classes)
    value = scaleToAll(
        f, value,
        {f.total(Classes(f).weights()), tensorType(label).getNumElements()},
        ranks);
  if (!value)
    value =
        convert(builder, loc, reduceTerms(f, loss.type->terms(f), count, ranks),
                loss.outputType.getElementType());
  if (ranks.count && loss.settings.reduction == LossReduction::sum)
    value = timesRanks(f, value, ranks);
  return loss.settings.weight == 1 ? value
                                   : f.scale(loss.settings.weight, value);
}
