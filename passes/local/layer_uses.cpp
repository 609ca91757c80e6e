// Joins parts of a weight's gradient to layers; see layer_uses.h.

#include "passes/local/layer_uses.h"

#include "ir/build.h"

#include <map>
#include <numeric>

using namespace mlir;

namespace gradus {
namespace {

using Uses = std::vector<LayerUse>;
using Side = UseSide LayerUse::*;

LayerUse useOf(const WeightPart &part) {
  const WeightProduct &product = part.product;
  auto window = dyn_cast<ConvolutionBackwardWeightsOp>(product.op);
  ConvolutionBackwardWeightsOp none;
  // A group's features are a part of the value's, and all groups are used.
  auto sideOf = [&](Value value, int64_t axis, const SideRange &range,
                    ConvolutionBackwardWeightsOp window) {
    SidePiece piece{value, range.from, range.to, range.size};
    if (product.groups > 1)
      piece.size = tensorType(value).getDimSize(axis);
    return UseSide{{piece}, axis, window, range};
  };
  return {product,
          sideOf(product.inputs, product.inputAxis, part.inputs,
                 product.isTransposed ? none : window),
          sideOf(product.outputs, product.outputAxis, part.outputs,
                 product.isTransposed ? window : none)};
}

//===-- uses of the same rows ---------------------------------------------===//

/// Whether two windows take the same patches, of however many channels.
bool isSameWindow(ConvolutionBackwardWeightsOp a,
                  ConvolutionBackwardWeightsOp b) {
  if (!a || !b)
    return !a && !b;
  auto taps = [](ConvolutionBackwardWeightsOp op) {
    return op.getType().getShape().drop_front(2);
  };
  return taps(a) == taps(b) && a.getStrides() == b.getStrides() &&
         a.getPadsBegin() == b.getPadsBegin() &&
         a.getPadsEnd() == b.getPadsEnd() &&
         a.getDilations() == b.getDilations();
}

/// Whether pieces of two sides can lie next to each other in the same rows.
bool isJoinable(const UseSide &a, const UseSide &b) {
  auto rowsOf = [](const UseSide &side) {
    auto type = tensorType(side.pieces.front().value);
    SmallVector<int64_t> shape(type.getShape());
    shape.erase(shape.begin() + side.axis);
    return std::pair(shape, type.getElementType());
  };
  return a.axis == b.axis && rowsOf(a) == rowsOf(b) &&
         isSameWindow(a.window, b.window);
}

/// Whether two uses have the same rows on `side` and may be joined on the
/// other.
bool hasSameRows(const LayerUse &a, const LayerUse &b, Side side, Side other) {
  const UseSide &mine = a.*side, &theirs = b.*side;
  return mine.pieces == theirs.pieces && mine.axis == theirs.axis &&
         mine.range.to == theirs.range.to &&
         isSameWindow(mine.window, theirs.window) &&
         isJoinable(a.*other, b.*other);
}

/// Whether sorted pieces are all of a side, each once or several times.
bool isWhole(ArrayRef<SidePiece> pieces, int64_t total) {
  int64_t end = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    bool isAgain = i > 0 && pieces[i].to == pieces[i - 1].to &&
                   pieces[i].size == pieces[i - 1].size;
    if (isAgain)
      continue;
    if (pieces[i].to != end)
      return false;
    end += pieces[i].size;
  }
  return end == total;
}

/// Joins uses with the same rows on `side`, where they are all of the other
/// side together.
Uses joined(const Uses &uses, Side side, Side other) {
  std::vector<Uses> sets;
  for (const LayerUse &use : uses) {
    auto same = llvm::find_if(sets, [&](const Uses &set) {
      return hasSameRows(set.front(), use, side, other);
    });
    if (same == sets.end())
      sets.push_back({use});
    else
      same->push_back(use);
  }
  Uses result;
  for (const Uses &set : sets) {
    LayerUse whole = set.front();
    UseSide &joint = whole.*other;
    for (const LayerUse &more : ArrayRef<LayerUse>(set).drop_front())
      llvm::append_range(joint.pieces, (more.*other).pieces);
    llvm::stable_sort(joint.pieces, [](const SidePiece &a, const SidePiece &b) {
      return a.to < b.to;
    });
    if (!isWhole(joint.pieces, joint.range.total)) {
      llvm::append_range(result, set);
      continue;
    }
    joint.range = {0, 0, joint.range.total, joint.range.total};
    result.push_back(whole);
  }
  return result;
}

bool areWhole(const Uses &uses, Side side) {
  return llvm::all_of(
      uses, [&](const LayerUse &use) { return (use.*side).range.isWhole(); });
}

//===-- layers of parts ---------------------------------------------------===//

/// Sorts uses into layers by the part of a side that they have. False if the
/// parts are not next to each other, or not multiples of the smallest.
bool cutInto(std::vector<LayerUses> &parts, int64_t &groups, const Uses &uses,
             Side side) {
  std::map<std::pair<int64_t, int64_t>, Uses> byPlace;
  for (const LayerUse &use : uses) {
    const SideRange &range = (use.*side).range;
    byPlace[{range.to, range.size}].push_back(use);
  }
  int64_t smallest = byPlace.begin()->first.second, end = 0;
  for (const auto &[place, part] : byPlace)
    smallest = std::min(smallest, place.second);
  for (const auto &[place, part] : byPlace) {
    auto [to, size] = place;
    if (to != end || size % smallest)
      return false;
    end += size;
    parts.push_back({size / smallest, part});
  }
  const SideRange &range = (uses.front().*side).range;
  groups = range.total / smallest;
  return end == range.total;
}

/// Says why uses of one weight are not of one layer; empty where they are.
std::string difference(ArrayRef<WeightPart> parts) {
  const WeightProduct &first = parts.front().product;
  for (const WeightPart &part : parts.drop_front()) {
    const WeightProduct &other = part.product;
    if (other.kind != first.kind)
      return ("it is used as " + nameOf(first.kind) + " and as " +
              nameOf(other.kind) + ", whose sides have other units")
          .str();
    if (other.axes != first.axes)
      return "what are inputs in one use are outputs in another";
    if (other.groups != first.groups ||
        other.isTransposed != first.isTransposed)
      return "it is the weight of convolutions of several forms";
  }
  return "";
}

} // namespace

std::optional<WeightLayers> layersOf(ArrayRef<WeightPart> parts,
                                     std::string &reason) {
  reason = difference(parts);
  if (!reason.empty())
    return {};
  const WeightProduct &first = parts.front().product;
  Uses uses;
  for (const WeightPart &part : parts)
    uses.push_back(useOf(part));
  uses = joined(uses, &LayerUse::inputs, &LayerUse::outputs);
  // Lookups of other indices are other rows, whatever comes back to them.
  if (!areWhole(uses, &LayerUse::inputs) && first.kind != WeightKind::embedding)
    uses = joined(uses, &LayerUse::outputs, &LayerUse::inputs);
  bool hasInputs = areWhole(uses, &LayerUse::inputs),
       hasOutputs = areWhole(uses, &LayerUse::outputs);
  WeightLayers layers{.kind = first.kind, .axes = first.axes};
  if (hasInputs && hasOutputs) {
    layers.groups = first.groups;
    layers.cutsInputs = layers.cutsOutputs = first.groups > 1;
    layers.groupsInputs = first.isTransposed && first.groups > 1;
    layers.parts.push_back({first.groups, uses});
    return layers;
  }
  if (first.kind == WeightKind::embedding)
    reason = uses.size() == 1 ? "a part of the table is read"
                              : "its uses read different parts of the table";
  else if (!hasInputs && !hasOutputs)
    reason = "its uses have parts of its inputs and of its outputs";
  else if (!cutInto(layers.parts, layers.groups, uses,
                    hasInputs ? &LayerUse::outputs : &LayerUse::inputs))
    reason = "its uses have parts of it that overlap, that leave gaps, or of "
             "which the smallest does not divide the others";
  if (!reason.empty())
    return {};
  layers.cutsInputs = layers.groupsInputs = !hasInputs;
  layers.cutsOutputs = hasInputs;
  return layers;
}

std::optional<WeightLayers> layersOf(ParameterUpdate update,
                                     const ForwardPass &forward,
                                     std::string &reason) {
  auto parts = weightParts(update.getGradientUse().get(), forward, reason);
  if (parts.empty())
    return {};
  return layersOf(parts, reason);
}

} // namespace gradus
