// Compares the data sets of ranks, of which each reads a part of one.

#pragma once

#include "runtime/collectives/agreement.h"
#include "training/data/feed.h"

#include <string>

namespace gradus::cli {

/// The number of samples and a hash of a few of them, as facts of the "samples
/// to train on". Throws a Failure where these samples cannot be read.
runtime::Facts factsOf(const data::Feed &feed, const std::string &samples);

} // namespace gradus::cli
