// Parses the options of the emulated GPU as users write them.
#pragma once

#include "runtime/emulated/fake_driver.h"

#include <string_view>

namespace gradus::runtime::cuda {

/// "memory=65536 lost-at=3": the bytes of the GPU, and the launch that loses
/// it.
StatusOr<FakeOptions> readFakeOptions(std::string_view text);

} // namespace gradus::runtime::cuda
