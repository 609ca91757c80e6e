// The error for samples that fill no batch, with what can be done about it.

#pragma once

#include "tool/evaluate/data_outline.h"
#include "tool/failure.h"

#include <string>

namespace gradus::cli {

/// The error where the samples of a source, or those that `validation` leaves,
/// are too few for one batch.
Failure noWholeBatch(const data::Feed &feed, const std::string &source,
                     double validation, const BatchRanks &ranks);

} // namespace gradus::cli
