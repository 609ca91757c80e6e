// Optimizers, schedules and groups as recipe keys; see optimizer_fields.h. A
// new optimizer is a function and a line of optimizerChoices().

#include "frontends/recipe/optimizer_fields.h"

namespace gradus::recipe {
namespace {

using enum Kind;

//===-- keys that several have --------------------------------------------===//

/// A number that is not negative.
Field amount(std::string_view key, std::string_view fallback,
             std::string_view help) {
  return Field{key, number, fallback, help}.from(0);
}

/// A number in [0, 1).
Field rate(std::string_view key, std::string_view fallback,
           std::string_view help) {
  return amount(key, fallback, help).below(1);
}

Field flag(std::string_view key, std::string_view help) {
  return {key, boolean, "false", help};
}

Field learningRate(std::string_view fallback) {
  return amount("learning_rate", fallback, "step size");
}

Field weightDecay(std::string_view fallback) {
  return amount("weight_decay", fallback,
                "of the parameters, in units of the learning rate");
}

Field betas(std::string_view fallback) {
  return Field{"betas", list, fallback, "decay rates of the two moments"}
      .of({rate("", "0", "a rate")})
      .times(2);
}

Field epsilon(std::string_view fallback) {
  return amount("epsilon", fallback, "keeps a divisor above zero");
}

Field momentum(std::string_view fallback) {
  return amount("momentum", fallback, "decay rate of the velocity");
}

Field nesterov() { return flag("nesterov", "look ahead along the momentum"); }

Field decoupled() {
  return flag("decoupled_weight_decay",
              "take decay off the parameter instead of the gradient");
}

/// The keys that timm's optimizers add.
Fields careful() {
  return {flag("cautious", "leave out what would go against the gradient"),
          flag("corrected_weight_decay",
               "decay on its own falls with the square of the learning rate")};
}

Field numbers(std::string_view key, std::string_view fallback,
              std::string_view help) {
  return Field{key, list, fallback, help}.of({{"", number, "0", "a number"}});
}

/// The keys that every optimizer has.
Fields common() {
  return {flag("maximize", "climb instead of descend"),
          compat("for the optimizer alone; null: the recipe's")};
}

//===-- optimizers --------------------------------------------------------===//

Fields sgd() {
  return Fields{learningRate("0.001"),
                momentum("0.0"),
                {"dampening", number, "0.0",
                 "part of the gradient kept out of the velocity"},
                nesterov(),
                weightDecay("0.0")} +
         common();
}

Fields adam(std::string_view decay) {
  return Fields{learningRate("0.001"),
                betas("[0.9, 0.999]"),
                epsilon("1e-8"),
                weightDecay(decay),
                flag("amsgrad", "divide by the largest second moment so far"),
                nesterov()} +
         common();
}

Fields adamax() {
  return Fields{learningRate("0.002"), betas("[0.9, 0.999]"), epsilon("1e-8"),
                weightDecay("0.0")} +
         common();
}

Fields nadam() {
  return Fields{learningRate("0.002"),
                betas("[0.9, 0.999]"),
                epsilon("1e-8"),
                weightDecay("0.0"),
                amount("momentum_decay", "0.004",
                       "how fast the momentum warms up"),
                decoupled()} +
         common();
}

Fields radam() {
  return Fields{learningRate("0.001"), betas("[0.9, 0.999]"), epsilon("1e-8"),
                weightDecay("0.0"), decoupled()} +
         common();
}

Fields rmsprop() {
  return Fields{learningRate("0.01"),
                rate("decay_rate", "0.99", "of the mean square"),
                epsilon("1e-8"),
                momentum("0.0"),
                flag("centered", "divide by the deviation from the mean"),
                weightDecay("0.0")} +
         common();
}

Fields adagrad() {
  return Fields{learningRate("0.01"),
                amount("learning_rate_decay", "0.0",
                       "how much slower each step is"),
                epsilon("1e-10"),
                amount("initial_accumulator", "0.0",
                       "what the sum of squares starts from"),
                weightDecay("0.0")} +
         common();
}

Fields adadelta() {
  return Fields{learningRate("1.0"),
                rate("decay_rate", "0.9", "of the mean squares"),
                epsilon("1e-6"), weightDecay("0.0")} +
         common();
}

Fields adafactor() {
  return Fields{learningRate("0.01"),
                {"decay_power", number, "-0.8",
                 "of the step: the part of a new square in the average"},
                epsilon("1.1920928955078125e-07"),
                amount("minimum_scale", "0.001",
                       "least scale of a parameter that a step is made for"),
                amount("clip_threshold", "1.0", "longest step, in deviations"),
                weightDecay("0.0")} +
         common();
}

Fields asgd() {
  return Fields{learningRate("0.01"),
                amount("lambda", "0.0001", "decay of the parameters"),
                amount("power", "0.75", "how the learning rate falls"),
                amount("start", "1e6", "step from which on to average"),
                weightDecay("0.0")} +
         common();
}

Fields rprop() {
  return Fields{learningRate("0.01"),
                numbers("factors", "[0.5, 1.2]",
                        "by which step sizes shrink and grow")
                    .times(2),
                numbers("sizes", "[1e-6, 50.0]",
                        "the least and the largest step size")
                    .times(2)} +
         common();
}

Fields lamb() {
  return Fields{learningRate("0.001"),
                betas("[0.9, 0.999]"),
                epsilon("1e-6"),
                weightDecay("0.01"),
                {"bias_correction", boolean, "true",
                 "make up for moments that start at zero"},
                {"gradient_averaging", boolean, "true",
                 "a new gradient enters the first moment by 1 - beta1"},
                flag("trust_clip", "ratios of norms are at most 1"),
                flag("always_adapt", "scale also what has no weight decay"),
                decoupled()} +
         careful() + common();
}

Fields lars() {
  return Fields{learningRate("1.0"),
                momentum("0.0"),
                {"dampening", number, "0.0",
                 "part of the gradient kept out of the velocity"},
                nesterov(),
                weightDecay("0.0"),
                amount("trust_coefficient", "0.001",
                       "length of a step as part of the parameter's"),
                epsilon("1e-8"),
                flag("trust_clip", "the ratio over the learning rate is at "
                                   "most 1"),
                flag("always_adapt", "scale also what has no weight decay")} +
         common();
}

Fields lion() {
  return Fields{learningRate("0.0001"), betas("[0.9, 0.99]"),
                weightDecay("0.0")} +
         careful() + common();
}

Fields muon() {
  const Field others =
      Field{"others", variant, R"({"type": "adamw"})",
            "moves what is no matrix, and embeddings and heads"}
          .among({{"adamw", adam("0.01")}, {"sgd", sgd()}});
  return Fields{
             learningRate("0.001"),
             weightDecay("0.1"),
             momentum("0.95"),
             {"nesterov", boolean, "true", "look ahead along the momentum"},
             numbers("coefficients", "[3.4445, -4.775, 2.0315]",
                     "of the iteration that makes steps orthogonal")
                 .times(3),
             Field{"iterations", integer, "5", "how often it runs"}
                 .from(1)
                 .below(101),
             epsilon("1e-7"),
             Field{"adjust", choice, "\"original\"",
                   "how the learning rate depends on a matrix's shape"}
                 .among({{"original"}, {"match_rms_adamw"}}),
             patterns(
                 "others_match",
                 R"(["*embed*", "*wte*", "*wpe*", "*head*", "*classifier*"])",
                 "matrices that `others` moves"),
             others} +
         common();
}

std::vector<Choice> optimizerChoices() {
  return {{"sgd", sgd()},           {"adam", adam("0.0")},
          {"adamw", adam("0.01")},  {"adamax", adamax()},
          {"nadam", nadam()},       {"radam", radam()},
          {"rmsprop", rmsprop()},   {"adagrad", adagrad()},
          {"adadelta", adadelta()}, {"adafactor", adafactor()},
          {"asgd", asgd()},         {"rprop", rprop()},
          {"lamb", lamb()},         {"lars", lars()},
          {"lion", lion()},         {"muon", muon()}};
}

//===-- schedules ---------------------------------------------------------===//

Field pieceSteps(bool mayBeOpen) {
  return Field{"steps", integer, mayBeOpen ? "null" : "1000",
               mayBeOpen ? "how long this piece lasts; null, for the last: on "
                           "and on"
                         : "how long this piece lasts"}
      .from(1);
}

/// The keys of every piece: its length and its clock.
Fields timed(bool mayBeOpen) {
  return {pieceSteps(mayBeOpen),
          Field{"every", integer, "1",
                "steps that count as one, such as those of an epoch"}
              .from(1)};
}

Field finalFactor(std::string_view fallback = "0.0") {
  return amount("final", fallback, "the factor at its end");
}

Field period(std::string_view fallback, std::string_view help) {
  return Field{"period", number, fallback, help}.from(1);
}

Fields decaying(std::string_view rate, std::string_view help) {
  return timed(true) + Fields{amount("rate", rate, help),
                              period("1", "steps of one power of the rate"),
                              flag("staircase", "whole periods count")};
}

Fields oneCycle() {
  return timed(false) +
         Fields{rate("rise", "0.3", "part of the steps on the way up"),
                amount("initial", "0.04", "the factor at its start"),
                finalFactor("4e-6"),
                Field{"shape", choice, "\"cosine\"", "of its ways"}.among(
                    {{"cosine"}, {"linear"}}),
                flag("three_phase", "come down as far as the start first")};
}

Fields cyclic() {
  return timed(true) +
         Fields{
             Field{"rise", number, "2000", "steps up"}.from(1),
             Field{"fall", number, "null", "steps down; null: as many"}.from(1),
             amount("low", "0.1", "the factor at its start"),
             amount("high", "1.0", "the factor that it rises to"),
             flag("halve", "half as high each time"),
             amount("rate", "1.0", "of the height, a step")};
}

/// The pieces that may be factors of a product.
std::vector<Choice> factors() {
  const Field milestones =
      numbers("milestones", "[]", "steps at which it changes");
  return {
      {"constant", timed(true) + Fields{amount("value", "1.0", "the factor")}},
      {"linear_warmup", timed(false)},
      {"linear", timed(false) +
                     Fields{amount("initial", "1.0", "the factor at its start"),
                            finalFactor()}},
      {"cosine",
       timed(true) + Fields{period("null", "steps down; null: all of them"),
                            finalFactor()}},
      {"cosine_restarts",
       timed(true) +
           Fields{period("10", "steps until the first restart"),
                  Field{"growth", number, "1.0", "of the period at a restart"}
                      .from(1),
                  finalFactor()}},
      {"step", timed(true) + Fields{period("10", "steps between changes"),
                                    amount("rate", "0.1", "of a change")}},
      {"multi_step",
       timed(true) + Fields{milestones, amount("rate", "0.1", "of a change")}},
      {"exponential", decaying("0.9", "of a period")},
      {"natural_exponential", decaying("1.0", "the exponent, per period")},
      {"inverse_time", decaying("1.0", "what a period adds to the divisor")},
      {"polynomial",
       timed(true) + Fields{period("null", "steps down; null: all of them"),
                            amount("power", "1.0", "of what is left"),
                            finalFactor(),
                            flag("cycle", "the period grows to a multiple of "
                                          "itself instead of ending")}},
      {"one_cycle", oneCycle()},
      {"cyclic", cyclic()},
      {"piecewise",
       timed(true) + Fields{milestones, numbers("values", "[1.0]",
                                                "the factors between them")}},
      {"list",
       timed(true) + Fields{numbers("values", "[1.0]", "a factor a step")}}};
}

std::vector<Choice> pieces() {
  const Field factor =
      Field{"", variant, R"({"type": "constant"})", "one of the factors"}
          .among(factors())
          .definedAs("factor");
  std::vector<Choice> all = factors();
  all.push_back(
      {"product", timed(true) + Fields{Field{"factors", list, "[]",
                                             "pieces that run side by side"}
                                           .of({factor})}});
  all.push_back({"state", Fields{}});
  return all;
}

Field scheduleOf(std::string_view key) {
  return Field{key, list, "[]", "pieces, one after the other"}.of(
      {Field{"", variant, R"({"type": "constant"})",
             "one piece of the schedule"}
           .among(pieces())
           .definedAs("piece")});
}

} // namespace

Field optimizer() {
  return Field{"optimizer", variant, R"({"type": "adamw"})",
               "what moves the parameters"}
      .among(optimizerChoices())
      .definedAs("optimizer");
}

Field schedule() {
  return Field{"schedule", object, "{}",
               "how hyperparameters change with the step: factors on them"}
      .of({scheduleOf("learning_rate"), scheduleOf("momentum"),
           scheduleOf("dampening"), scheduleOf("weight_decay"),
           scheduleOf("epsilon"), scheduleOf("beta1"), scheduleOf("beta2"),
           scheduleOf("decay_rate")});
}

Field groups() {
  const Field own = Field{"optimizer", variant, "null",
                          "instead of the recipe's, with all its settings"}
                        .among(optimizerChoices())
                        .definedAs("optimizer");
  const Field group =
      Field{"", object, "{}", "parameters that are treated alike"}.of(
          {patterns("match", "[]", "the parameters of this group"),
           amount("learning_rate", "null", "instead of the optimizer's"),
           amount("learning_rate_factor", "1.0",
                  "times the optimizer's learning rate"),
           amount("weight_decay", "null", "instead of the optimizer's"),
           flag("frozen", "leave them as they are"), own});
  return Field{"groups", list, "[]", "parameters with settings of their own"}
      .of({group});
}

} // namespace gradus::recipe
