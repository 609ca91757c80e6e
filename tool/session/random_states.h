// States for measuring, with numbers as weights and optimizer slots have them
// during training. A step on zeros is faster: multiplying zeros takes less
// power, so a GPU's clock stays higher.

#pragma once

#include "runtime/session/session.h"

#include <cstdint>
#include <vector>

namespace gradus::cli {

/// Returns the bytes of a parameter or a slot of floats; nothing if the state
/// shall stay as it is. Weights of two axes or more are uniform in +-1 /
/// sqrt(numbers of a row), vectors called bias or beta in +-0.1, other vectors
/// in [0.5, 1.5), like factors of a normalization. Slots of more than one
/// number are in [0, 1e-6), so that optimizers can take their roots. The
/// numbers depend on the name of the state alone.
std::vector<uint8_t> randomState(const runtime::StateInfo &state);

/// Writes random numbers to all states that shall have them.
void randomizeStates(runtime::Session &session);

} // namespace gradus::cli
