// Inputs for measuring: any values that a graph may meet.

#pragma once

#include "runtime/session.h"

#include <cstdint>
#include <vector>

namespace gradus::cli {

/// The bytes of an input: floats in [0, 1), labels in [0, classes), indices in
/// the range that the graph reads by them, the input `count` as `batch`. Other
/// integers and booleans are masks, say: mostly 1, and 1 where a row begins, so
/// that no row is masked as a whole. The same each time for an input of a name,
/// others for one of another name.
std::vector<uint8_t> syntheticInput(const runtime::TensorInfo &input,
                                    int64_t classes, int64_t batch);

/// Those of all inputs of a graph; the batch is the largest first axis.
std::vector<std::vector<uint8_t>>
syntheticInputs(const runtime::Session &session, int graph);

} // namespace gradus::cli
