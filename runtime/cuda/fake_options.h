// The options of the emulated card as a user writes them.
#pragma once

#include "runtime/cuda/fake_driver.h"

#include <string_view>

namespace gradus::runtime::cuda {

/// "memory=65536 lost-at=3": the card's bytes, and which launch loses it.
StatusOr<FakeOptions> readFakeOptions(std::string_view text);

} // namespace gradus::runtime::cuda
