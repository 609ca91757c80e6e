// Keys that several optimizers have; see keys.h.

#include "passes/optimizers/keys.h"

using namespace gradus;
using namespace gradus::recipe;
using enum gradus::recipe::Kind;

Field gradus::amount(std::string_view key, std::string_view fallback,
                     std::string_view help) {
  return Field{key, number, fallback, help}.from(0);
}

Field gradus::rate(std::string_view key, std::string_view fallback,
                   std::string_view help) {
  return amount(key, fallback, help).below(1);
}

Field gradus::flag(std::string_view key, std::string_view help) {
  return {key, boolean, "false", help};
}

Field gradus::numbers(std::string_view key, std::string_view fallback,
                      std::string_view help, size_t count) {
  return Field{key, list, fallback, help}
      .of(Fields{{"", number, "0", "a number"}})
      .times(count);
}

Field gradus::learningRate(std::string_view fallback) {
  return amount("learning_rate", fallback, "step size")
      .into(&OptimizerSettings::learningRate);
}

Field gradus::weightDecay(std::string_view fallback) {
  return amount("weight_decay", fallback,
                "of the parameters, in units of the learning rate")
      .into(&OptimizerSettings::weightDecay);
}

Field gradus::decoupled() {
  return flag("decoupled_weight_decay",
              "take decay off the parameter instead of the gradient")
      .into(&OptimizerSettings::decouplesDecay);
}

Fields gradus::careful() {
  return {flag("cautious", "leave out what would go against the gradient")
              .into(&OptimizerSettings::isCautious),
          flag("corrected_weight_decay",
               "decay on its own falls with the square of the learning rate")
              .into(&OptimizerSettings::correctsDecay)};
}

Fields gradus::commonKeys() {
  return {flag("maximize", "climb instead of descend")
              .into(&OptimizerSettings::maximize),
          flag("single_precision", "round its numbers to f32")
              .under({"singa", "mindspore"}, "true")
              .into(&OptimizerSettings::isSingle),
          compat("for the optimizer alone; null: the recipe's")};
}

Field gradus::betas(std::string_view fallback) {
  return Field{"betas", list, fallback, "decay rates of the two moments"}
      .of(Fields{rate("", "0", "a rate")})
      .times(2);
}

Field gradus::epsilon(std::string_view fallback) {
  return amount("epsilon", fallback, "keeps a divisor above zero");
}

Field gradus::momentum(std::string_view fallback) {
  return amount("momentum", fallback, "decay rate of the velocity");
}

Field gradus::nesterov(std::string_view fallback) {
  return {"nesterov", boolean, fallback, "look ahead along the momentum"};
}
