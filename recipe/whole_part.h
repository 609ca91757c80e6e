// The rule by which pieces of a schedule get their lengths from that of the run.
// The graph of a step follows it, and what a tool says of that step.
#pragma once

namespace gradus {

/// Returns `part` times `whole`, in whole updates to the nearest, at least one.
/// `Math` computes with `Amount`: Arithmetic with values of a graph.
template <typename Math, typename Amount>
Amount wholePart(const Math &math, double part, Amount whole) {
  Amount nearest =
      math.floor(math.add(math.scale(part, whole), math.number(0.5, whole)));
  return math.larger(nearest, math.number(1, whole));
}

/// Returns the updates that the other pieces leave of the run, at least one.
template <typename Math, typename Amount>
Amount restOf(const Math &math, Amount run, Amount others) {
  return math.larger(math.subtract(run, others), math.number(1, run));
}

} // namespace gradus
