// Metrics in words.

#pragma once

#include "training/metric.h"

#include <string>
#include <vector>

namespace gradus::cli {

using training::Metric;

/// Metrics in words: "loss 0.1234  accuracy 0.9722", each name after `prefix`.
std::string metricsText(const std::vector<Metric> &metrics,
                        const std::string &prefix = "");

} // namespace gradus::cli
