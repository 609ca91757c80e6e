// Losses as recipe keys; see loss_fields.h. What they compute is in
// passes/losses.cpp, where a new loss has its formula.

#include "frontends/recipe/loss_fields.h"

namespace gradus::recipe {
namespace {

using enum Kind;

Field real(std::string_view key, std::string_view fallback,
           std::string_view help) {
  return {key, number, fallback, help};
}

Field flag(std::string_view key, std::string_view help) {
  return {key, boolean, "false", help};
}

Field numbers(std::string_view key, std::string_view help) {
  return Field{key, list, "null", help}.of(
      {real("", "1.0", "a number").from(0)});
}

Field reduction(std::vector<Choice> choices = {{"mean"}, {"sum"}}) {
  return Field{"reduction", choice, "\"mean\"",
               "how elements become one number"}
      .among(std::move(choices));
}

/// The keys of every loss that is computed from an output.
Fields ofOutput() {
  return {{"output", text, "null",
           "the output that the loss takes; null: the only one"},
          real("weight", "1.0", "factor of this loss")};
}

/// The keys of a loss that compares an output with labels.
Fields compared() {
  return ofOutput() + Fields{{"label", text, "null",
                              "the input that its labels come in, new or one "
                              "of the model's; null: `label`"}};
}

Field classAxis() {
  return {"class_axis", integer, "null",
          "the axis of the output along which the classes lie; null: 1, or of "
          "three axes the one that labels among the model's inputs, or "
          "class_weights, allow alone"};
}

Field classWeights() {
  return numbers("class_weights", "one for each class; null: 1");
}

/// The keys of losses whose labels are classes, of which one may be ignored.
Fields labelled() {
  return compared() + Fields{reduction(),
                             classAxis(),
                             {"ignore_index", integer, "-100",
                              "a label that does not count"},
                             classWeights()};
}

Fields crossEntropy() {
  return labelled() +
         Fields{real("label_smoothing", "0.0",
                     "part of the target spread over all classes")
                    .from(0)
                    .below(1),
                flag("soft_labels", "labels are probabilities of the classes, "
                                    "in the shape of the output")};
}

Fields multiMargin() {
  return compared() +
         Fields{reduction(), classAxis(), classWeights(),
                real("margin", "1.0", "the distance that costs nothing"),
                Field{"power", integer, "1", "of the distances, 1 or 2"}
                    .from(1)
                    .below(3)};
}

/// The keys of losses whose labels are numbers.
Fields ofNumbers() { return compared() + Fields{reduction()}; }

Fields hinge() {
  return ofNumbers() +
         Fields{real("margin", "1.0", "the distance that costs nothing")};
}

std::vector<Choice> losses() {
  return {
      {"softmax_cross_entropy", crossEntropy()},
      {"nll", labelled()},
      {"multi_margin", multiMargin()},
      {"bce_with_logits",
       ofNumbers() + Fields{numbers("pos_weight",
                                    "of labels that are 1: one number, or one "
                                    "for each of the last axis; null: 1")}},
      {"mse", ofNumbers()},
      {"l1", ofNumbers()},
      {"smooth_l1",
       ofNumbers() +
           Fields{real("beta", "1.0", "where the parabola ends").from(0)}},
      {"huber",
       ofNumbers() +
           Fields{real("delta", "1.0", "where the parabola ends").from(0)}},
      {"kl_div",
       compared() + Fields{reduction({{"mean"}, {"sum"}, {"batchmean"}}),
                           flag("log_target", "labels are logarithms")}},
      {"hinge", hinge()},
      {"hinge_embedding", hinge()},
      {"output", ofOutput() + Fields{reduction()}}};
}

} // namespace

Field loss() {
  const Field term =
      Field{"", variant, R"({"type": "softmax_cross_entropy"})", "one loss"}
          .among(losses())
          .definedAs("loss");
  std::vector<Choice> choices = losses();
  choices.push_back(
      {"sum",
       {Field{"of", list, "[]", "losses that are added up"}.of({term})}});
  return Field{"loss", variant, R"({"type": "softmax_cross_entropy"})",
               "what training makes small"}
      .among(choices);
}

} // namespace gradus::recipe
