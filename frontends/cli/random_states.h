// States for measuring: what weights and slots look like while a model trains.
// A step on zeros is faster than one that trains: multipliers of zeros take
// less power, so a card's clock stays higher, and sums of zeros stay zero.

#pragma once

#include "runtime/session.h"

#include <cstdint>
#include <vector>

namespace gradus::cli {

/// The bytes of a parameter or a slot in floats; empty where a state is to stay
/// as it is. Weights of two axes or more are even in +-1 / sqrt(numbers of a
/// row), vectors that are called a bias (or beta) in +-0.1, others in
/// [0.5, 1.5), as factors of a normalization; slots of more than one number are
/// below 1e-6 and not negative, so that roots of them exist. The same each time
/// for a state of a name, others for one of another name.
std::vector<uint8_t> randomState(const runtime::StateInfo &state);

/// Writes those of all states.
void randomizeStates(runtime::Session &session);

} // namespace gradus::cli
