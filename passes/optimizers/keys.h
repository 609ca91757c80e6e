// Keys that several optimizers have, and the settings that all of them have.
#pragma once

#include "recipe/settings.h"

namespace gradus {

struct OptimizerSettings {
  recipe::Number learningRate, weightDecay;
  bool maximize = false;       // climb instead of descend
  bool isSingle = false;       // numbers are rounded to f32
  bool decouplesDecay = false; // decay passes no gradient
  bool isCautious = false, correctsDecay = false;
};

/// Decay rates of the first and the second moment.
using Betas = std::array<recipe::Number, 2>;

/// A number that is not negative, and one in [0, 1).
recipe::Field amount(std::string_view key, std::string_view fallback,
                     std::string_view help);
recipe::Field rate(std::string_view key, std::string_view fallback,
                   std::string_view help);
/// A boolean that is false by default.
recipe::Field flag(std::string_view key, std::string_view help);
/// A list of `count` numbers.
recipe::Field numbers(std::string_view key, std::string_view fallback,
                      std::string_view help, size_t count = 0);

/// Keys of OptimizerSettings.
recipe::Field learningRate(std::string_view fallback);
recipe::Field weightDecay(std::string_view fallback);
recipe::Field decoupled();
/// The keys that timm's optimizers add: `cautious`, `corrected_weight_decay`.
recipe::Fields careful();
/// The keys that every optimizer has.
recipe::Fields commonKeys();

/// Keys of an optimizer's own settings.
recipe::Field betas(std::string_view fallback);
recipe::Field epsilon(std::string_view fallback);
recipe::Field momentum(std::string_view fallback);
recipe::Field nesterov(std::string_view fallback = "false");

} // namespace gradus
