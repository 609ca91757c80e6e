// Pieces of a schedule and their lengths: the graph of a step and the tool come
// to the same.
#pragma once

#include <vector>

namespace gradus::testing {

/// Pieces in a run of 1,000 updates, 97.75 an epoch, as a list in JSON, which
/// is one in MLIR's text with `=` for `:`.
struct PieceCase {
  const char *pieces;
  std::vector<double> lengths; // in updates; 0 for one that goes on
};

inline const PieceCase kPieceCases[] = {
    {R"([{"type": "linear_warmup", "epochs": 2.0},
         {"type": "constant", "rest": true},
         {"type": "linear", "fraction": 0.2},
         {"type": "constant", "steps": 5, "every": 3}])",
     {196, 589, 200, 15}}, // 2 epochs are 195.5 updates
    // No piece is shorter than an update.
    {R"([{"type": "linear_warmup", "fraction": 1.0e-5}, {"type": "constant"}])",
     {1, 0}},
    {R"([{"type": "constant", "fraction": 0.9996},
         {"type": "cosine", "rest": true}])",
     {1000, 1}},
    {R"([{"type": "step", "steps": 4, "interval": "epoch"},
         {"type": "constant"}])",
     {391, 0}},
    {R"([{"type": "step", "steps": 3, "interval": "epoch", "every": 2},
         {"type": "cosine", "rest": true}])",
     {587, 413}}, // 586.5
    {R"([{"type": "linear", "steps": 2, "interval": "smooth_epoch"},
         {"type": "list", "values": [1.0, 0.5, 0.1]}])",
     {196, 0}},
};

} // namespace gradus::testing
