// Loss and metrics of a whole data set, computed by an artifact's graph
// `evaluate`.

#pragma once

#include "runtime/collectives/communication_thread.h"
#include "runtime/session/session.h"
#include "training/data/batches.h"
#include "training/test_means.h"

#include <functional>
#include <string>
#include <vector>

namespace gradus::training {

/// Called after each batch with the graph's inputs and the real samples. An
/// error ends the evaluation.
using AfterBatch = std::function<runtime::Status(
    std::span<const void *const> inputs, int64_t count)>;

/// Runs those samples once, prepared by `dataThreads`. Metrics are weighted
/// means: of the labels that are not ignored, with their weights for the loss,
/// or of the samples if labels cannot be ignored. The graph's scalars are such
/// means over the `count` real samples of a batch. A loss that is a sum is one
/// over all samples.
///
/// With `ranks`, all of them call this together, each does a part of the
/// batches, and all return the figures that one process computes, to the bit.
///
/// An error of `after`, as of the session, is one of its own rank, which tells
/// it to the others; these wait for it where they meet.
///
/// `*unreadable`, if given, says of a failure whether the data can no longer be
/// read (a file that was cut short, an image that was removed): the session and
/// its state are as they were. Then all ranks return the same failure, that of
/// the lowest that cannot read its batches.
runtime::StatusOr<std::vector<Metric>>
evaluate(runtime::Session &session, int graph, const data::Feed &feed,
         int dataThreads = 1, const AfterBatch &after = {},
         bool *unreadable = nullptr,
         runtime::CommunicationThread *ranks = nullptr);

} // namespace gradus::training
