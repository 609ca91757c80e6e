// Exceptions do not leave this folder: they become messages about the model.
#pragma once

#include "frontends/onnx/importer/folding_budget.h"
#include "messages/caught.h"

namespace gradus::onnx {

/// Describes the exception that is being handled, ours or a library's
/// (protobuf's, or of memory). Call it only in a `catch`.
inline std::string wordsOfThrown() {
  try {
    throw;
  } catch (const FoldingLimit &limit) {
    return limit.what();
  } catch (...) {
    return wordsOfCaught();
  }
}

} // namespace gradus::onnx
