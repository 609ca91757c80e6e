// Suggests rules of --init-map, ready to paste, if the weights of --init do not
// fit.

#pragma once

#include "runtime/safetensors.h"
#include "runtime/session/session.h"

#include <string>

namespace gradus::cli {

/// Advice for a file that has none of the parameters under the names that
/// `rename` gives: some of its names, and rules that would give the model's, if
/// any; "; it has resnet.fc.weight and 61 more; --init-map 'resnet.*=*' names
/// 62 of its tensors as the model does".
std::string adviceOnNames(const runtime::Safetensors &file,
                          const runtime::Rename &rename,
                          const runtime::Session &session);

/// Advice if some were found: only the rules; empty if none would name more.
std::string adviceOnRest(const runtime::Safetensors &file,
                         const runtime::Rename &rename,
                         const runtime::Session &session);

/// Advice for tensors of another shape than the model's: "; --init-map 'fc.*='
/// leaves them out". Empty if there are none.
std::string adviceOnShapes(const runtime::Safetensors &file,
                           const runtime::Rename &rename,
                           const runtime::Session &session);

} // namespace gradus::cli
