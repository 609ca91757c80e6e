// Inputs for measurements: any values that a graph may meet.

#pragma once

#include "runtime/session/session.h"

#include <cstdint>
#include <span>
#include <vector>

namespace gradus::cli {

/// The bytes of an input: floats in [0, 1), labels in [0, classes), indices in
/// the range that the graph accepts, the input `count` as `batch`. Other
/// integers and booleans may be masks: mostly 1, and 1 where a row begins, so
/// that no row is masked completely. An input of the same name always has the
/// same values, another name has others.
std::vector<uint8_t> syntheticInput(const runtime::TensorInfo &input,
                                    int64_t classes, int64_t batch);

/// The bytes of all inputs of a graph; the batch is the largest first axis.
std::vector<std::vector<uint8_t>>
syntheticInputs(const runtime::Session &session, int graph);

/// Runs one step of a graph, each turn of it on the same inputs; the outputs
/// are those of the last.
runtime::Status runStep(runtime::Session &session, int graph,
                        std::span<const void *const> inputs,
                        std::span<void *const> outputs = {});

} // namespace gradus::cli
