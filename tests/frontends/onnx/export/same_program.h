// Whether two graphs compute the same, up to names: equal ops on equal values,
// in whatever order, and as often as they may stand there.

#pragma once

#include "frontends/onnx/writer/op_writer.h"

#include "ir/build.h"
#include "ir/evaluator/evaluator.h"
#include "ir/gradus.h"

#include "mlir/IR/Matchers.h"

#include <map>
#include <string>

namespace gradus::testing {

/// Numbers the values of graphs: equal expressions have equal numbers.
class Expressions {
public:
  int numberOf(mlir::Value value) {
    if (auto known = numbers_.find(value); known != numbers_.end())
      return known->second;
    int number = intern(keyOf(value));
    numbers_[value] = number;
    return number;
  }

  const std::string &key(int number) const { return keys_[number]; }

  /// Begins the next graph: its draws of random numbers are counted anew.
  void nextGraph() { streams_.clear(); }

private:
  int intern(const std::string &key) {
    auto [found, isNew] = known_.try_emplace(key, keys_.size());
    if (isNew)
      keys_.push_back(key);
    return found->second;
  }

  template <typename Printable> static std::string text(Printable printable) {
    std::string words;
    llvm::raw_string_ostream(words) << printable;
    return words;
  }

  static std::string elements(mlir::ElementsAttr values) {
    auto host = toHost(values);
    std::string words = text(values.getShapedType()) + " {";
    if (!mlir::succeeded(host))
      return text(values);
    const auto &floats = host->floats;
    const auto &integers = host->integers;
    bool isSplat = std::equal(floats.begin() + !floats.empty(), floats.end(),
                              floats.begin()) &&
                   std::equal(integers.begin() + !integers.empty(),
                              integers.end(), integers.begin());
    for (double number : floats) {
      words += std::to_string(std::bit_cast<uint64_t>(number)) + " ";
      if (isSplat)
        break;
    }
    for (int64_t number : integers) {
      words += std::to_string(number) + " ";
      if (isSplat)
        break;
    }
    return words + "}";
  }

  /// Reshapes that only add or remove dimensions of size 1 in front of a
  /// broadcast are part of it: [C] -> [C, 1, 1] -> [N, C, H, W].
  std::string broadcastKey(BroadcastOp op) {
    mlir::Value input = op.getInput();
    llvm::SmallVector<int64_t> dimensions(op.getDimensions()), kept;
    std::string sizes;
    llvm::ArrayRef<int64_t> shape = tensorType(input).getShape();
    for (auto [dimension, size] : llvm::zip(dimensions, shape))
      if (size != 1)
        sizes += std::to_string(dimension) + " ";
    while (auto reshape = input.getDefiningOp<ReshapeOp>()) {
      auto isOne = [](int64_t size) { return size == 1; };
      llvm::SmallVector<int64_t> before(
          tensorType(reshape.getInput()).getShape()),
          after(tensorType(input).getShape());
      llvm::erase_if(before, isOne);
      llvm::erase_if(after, isOne);
      if (before != after)
        break;
      input = reshape.getInput();
    }
    return "broadcast along " + sizes + "of " + bare(input) + " to " +
           text(op.getType());
  }

  /// A value without its dimensions of size 1.
  std::string bare(mlir::Value value) {
    mlir::DenseElementsAttr values;
    if (auto reshape = value.getDefiningOp<ReshapeOp>()) {
      std::string sizes;
      for (int64_t size : tensorType(value).getShape())
        sizes += size == 1 ? "" : std::to_string(size) + " ";
      return "reshape " + std::to_string(numberOf(reshape.getInput())) +
             " to " + sizes;
    }
    if (!mlir::matchPattern(value, mlir::m_Constant(&values)))
      return std::to_string(numberOf(value));
    llvm::SmallVector<int64_t> shape(values.getType().getShape());
    llvm::erase_if(shape, [](int64_t size) { return size == 1; });
    return elements(values.reshape(values.getType().clone(shape)));
  }

  std::string keyOf(mlir::Value value) {
    if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(value))
      return "input " + std::to_string(argument.getArgNumber()) + " " +
             text(value.getType());
    mlir::Operation *op = value.getDefiningOp();
    mlir::DenseElementsAttr values;
    if (mlir::matchPattern(value, mlir::m_Constant(&values)))
      return elements(values);
    if (auto read = mlir::dyn_cast<ReadOp>(op))
      return stateKey(read);
    if (auto broadcast = mlir::dyn_cast<BroadcastOp>(op))
      return broadcastKey(broadcast);
    std::string key = text(op->getName());
    for (mlir::NamedAttribute each : op->getAttrs())
      key += " " + each.getName().str() + "=" +
             (each.getName() == "stream"
                  ? std::to_string(
                        streams_
                            .try_emplace(text(each.getValue()), streams_.size())
                            .first->second)
                  : text(each.getValue()));
    for (mlir::Value operand : op->getOperands())
      key += " #" + std::to_string(numberOf(operand));
    unsigned result = mlir::cast<mlir::OpResult>(value).getResultNumber();
    return key + " -> " + std::to_string(result) + " " + text(value.getType());
  }

  std::string stateKey(ReadOp read) {
    StateOp state =
        read->getParentOfType<ProgramOp>().getState(read.getState());
    std::string key = "state " + read.getState().str() + " " +
                      stringifyRole(state.getRole()).str() + " " +
                      text(state.getType());
    if (auto value = state.getValue())
      key += " = " + elements(*value);
    return key;
  }

  std::map<std::string, int> known_, streams_;
  std::vector<std::string> keys_;
  llvm::DenseMap<mlir::Value, int> numbers_;
};

/// The value that a broadcast repeats, without dimensions of size 1.
inline mlir::Value repeatedBy(BroadcastOp op) {
  mlir::Value input = op.getInput();
  while (auto reshape = input.getDefiningOp<ReshapeOp>())
    input = reshape.getInput();
  return input;
}

/// The first expressions, seen from the outputs, in which two values differ;
/// empty if they are the same.
inline std::string difference(Expressions &all, mlir::Value a, mlir::Value b) {
  if (all.numberOf(a) == all.numberOf(b))
    return "";
  auto left = a.getDefiningOp(), right = b.getDefiningOp();
  auto wide = a.getDefiningOp<BroadcastOp>(),
       other = b.getDefiningOp<BroadcastOp>();
  if (wide && other)
    if (std::string found =
            difference(all, repeatedBy(wide), repeatedBy(other));
        !found.empty())
      return found;
  if (left && right &&
      left->getName().getStringRef() == right->getName().getStringRef() &&
      left->getNumOperands() == right->getNumOperands())
    for (unsigned i = 0; i < left->getNumOperands(); ++i)
      if (std::string found =
              difference(all, left->getOperand(i), right->getOperand(i));
          !found.empty())
        return found;
  auto shown = [&](mlir::Value value) {
    std::string words = all.key(all.numberOf(value)).substr(0, 400);
    if (mlir::Operation *op = value.getDefiningOp())
      words += " at " + onnx::nodeName(op);
    return words;
  };
  return shown(a) + "\nbecame " + shown(b);
}

/// Returns what differs between two graphs; empty if nothing does.
inline std::string difference(GraphOp before, GraphOp after) {
  auto names = [](GraphOp graph) {
    std::string words;
    llvm::raw_string_ostream(words)
        << graph.getInputNames() << " -> " << graph.getOutputNames();
    return words;
  };
  if (names(before) != names(after))
    return names(before) + "\nbecame " + names(after);
  Expressions all;
  for (mlir::Value output : before.getReturned())
    all.numberOf(output);
  all.nextGraph();
  for (auto [a, b] : llvm::zip(before.getReturned(), after.getReturned()))
    if (std::string found = difference(all, a, b); !found.empty())
      return found;
  return "";
}

} // namespace gradus::testing
