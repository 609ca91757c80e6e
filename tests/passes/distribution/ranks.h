// Runs training steps of several ranks by the reference evaluator, in f64: each
// rank in a thread of its own, which meets the others at every sum.
#pragma once

#include "passes/distribution.h"
#include "passes/passes.h"
#include "runtime/well_known.h"
#include "tests/passes/program_text.h"

#include "ir/evaluator/settling.h"

#include "mlir/Pass/PassManager.h"

#include <barrier>
#include <functional>
#include <map>
#include <random>
#include <thread>

namespace gradus::testing {

using Inputs = std::vector<HostTensor>;
using Outputs = std::map<std::string, HostTensor>;

/// Adds what the ranks bring to a sum.
class Meeting {
public:
  explicit Meeting(int ranks) : brought_(ranks), barrier_(ranks) {}

  void sum(int rank, HostTensor &own) {
    brought_[rank] = own;
    barrier_.arrive_and_wait();
    HostTensor total = sumOf(brought_);
    barrier_.arrive_and_wait();
    own = total;
  }

private:
  /// Adds neighbours first, as sums over ranks do.
  static HostTensor sumOf(std::vector<HostTensor> parts) {
    while (parts.size() > 1) {
      std::vector<HostTensor> sums;
      for (size_t i = 0; i < parts.size(); i += 2) {
        sums.push_back(parts[i]);
        if (i + 1 < parts.size())
          add(sums.back(), parts[i + 1]);
      }
      parts = std::move(sums);
    }
    return parts[0];
  }
  static void add(HostTensor &total, const HostTensor &other) {
    for (size_t i = 0; i < total.floats.size(); ++i)
      total.floats[i] += other.floats[i];
    for (size_t i = 0; i < total.integers.size(); ++i)
      total.integers[i] += other.integers[i];
  }

  std::vector<HostTensor> brought_;
  std::barrier<> barrier_;
};

/// One rank's evaluation.
class RankRun : public Settling {
public:
  RankRun(Meeting &meeting, int rank) : meeting_(meeting), rank_(rank) {}
  void made(mlir::Value value, HostTensor &tensor) override {
    if (mlir::Operation *op = value.getDefiningOp(); op && isOverRanks(op))
      meeting_.sum(rank_, tensor);
    bound(value, tensor);
  }

private:
  /// Makes what f16 cannot hold infinite.
  static void bound(mlir::Value value, HostTensor &tensor) {
    if (mlir::getElementTypeOrSelf(value.getType()).isF16())
      for (double &number : tensor.floats)
        if (std::abs(number) > 65504)
          number = std::copysign(HUGE_VAL, number);
  }

  Meeting &meeting_;
  int rank_;
};

/// A program that was compiled up to the end of the pipeline, on some ranks.
class Ranks {
public:
  Ranks(const std::string &text, int count) : text_(text), states_(count) {
    mlir::PassManager passes(&text_.context);
    buildTrainingPipeline(passes);
    EXPECT_TRUE(mlir::succeeded(passes.run(*text_.module))) << text_.messages;
    for (int rank = 0; rank < count; ++rank)
      for (auto state : text_.program().getBody().getOps<StateOp>())
        states_[rank][state.getSymName()] = initial(state, rank);
    if (auto logical = distributionOf(program()).logicalRanks)
      turns_ = *logical / count;
    for (int rank = 0; rank < count; ++rank) {
      set(rank, well_known::kRank, rank * turns_);
      set(rank, well_known::kRanks, count);
      set(rank, well_known::kTurn, turns_ - 1);
    }
  }

  ProgramOp program() { return text_.program(); }
  int count() const { return states_.size(); }
  StateMap &states(int rank) { return states_[rank]; }
  int turns() const { return turns_; }
  std::string variant(int rank) { return variantOf(states_[rank]).str(); }

  /// Runs a step with each rank's inputs.
  std::vector<Outputs> step(const std::vector<Inputs> &inputs) {
    Meeting meeting(count());
    std::vector<Outputs> outputs(count());
    std::vector<std::thread> threads;
    for (int rank = 0; rank < count(); ++rank)
      EXPECT_EQ(variant(rank), variant(0)) << "rank " << rank << " would hang";
    for (int rank = 0; rank < count(); ++rank)
      threads.emplace_back(
          [&, rank] { outputs[rank] = run(meeting, rank, inputs[rank]); });
    for (std::thread &thread : threads)
      thread.join();
    return outputs;
  }

  /// Runs a step with the inputs of each logical rank, and returns the outputs
  /// of its last turn.
  std::vector<Outputs> stepInTurns(const std::vector<Inputs> &inputs) {
    std::vector<Outputs> outputs;
    for (int turn = 0; turn < turns_; ++turn) {
      std::vector<Inputs> parts;
      for (int rank = 0; rank < count(); ++rank)
        parts.push_back(inputs[rank * turns_ + turn]);
      outputs = step(parts);
    }
    return outputs;
  }

private:
  void set(int rank, llvm::StringRef name, int64_t number) {
    if (auto state = states_[rank].find(name); state != states_[rank].end())
      state->second.integers[0] = number;
  }

  /// A rank's part of a value, of which it has the first axis; zeros behind its
  /// end.
  static HostTensor partOf(const HostTensor &whole, int rank,
                           mlir::RankedTensorType type) {
    HostTensor part = zeros(type);
    for (size_t i = 0, size = part.floats.size(); i < size; ++i)
      if (size_t at = rank * size + i; at < whole.floats.size())
        part.floats[i] = whole.floats[at];
    return part;
  }

  /// Parameters are drawn by their names.
  static HostTensor initial(StateOp state, int rank) {
    auto type = mlir::cast<mlir::RankedTensorType>(state.getType());
    if (auto value = state.getValue())
      return state->hasAttr(kPartOf) ? partOf(*toHost(*value), rank, type)
                                     : *toHost(*value);
    HostTensor tensor = zeros(type);
    double constant = 0;
    if (auto init = state.getInitAttr(); init && init.getValue())
      constant = init.getValue().getValueAsDouble();
    std::mt19937 bits(std::hash<std::string>()(state.getSymName().str()));
    std::uniform_real_distribution<double> uniform(-0.5, 0.5);
    for (double &number : tensor.floats)
      number = state.getRole() == Role::parameter ? uniform(bits) : constant;
    for (int64_t &number : tensor.integers)
      number = int64_t(constant);
    return tensor;
  }

  llvm::StringRef variantOf(StateMap &states) {
    llvm::StringRef chosen = well_known::kTrain;
    for (auto schedule : program().getBody().getOps<ScheduleOp>()) {
      int64_t step =
          states[schedule.getCounter().value_or(well_known::kStep)].integers[0];
      for (auto variant : schedule.getBody().getOps<VariantOp>())
        if (step % int64_t(variant.getEvery()) == int64_t(variant.getAt()))
          chosen = variant.getGraph();
    }
    return chosen;
  }

  Outputs run(Meeting &meeting, int rank, const Inputs &inputs) {
    RankRun settling(meeting, rank);
    GraphOp graph = program().getGraph(variantOf(states_[rank]));
    auto results =
        evaluateSettling(graph, inputs, states_[rank], nullptr, settling);
    EXPECT_TRUE(mlir::succeeded(results)) << text_.messages;
    Outputs outputs;
    if (succeeded(results))
      for (size_t i = 0; i < results->size(); ++i)
        outputs[graph.getOutputName(i).str()] = (*results)[i];
    return outputs;
  }

  PassText text_;
  std::vector<StateMap> states_;
  int turns_ = 1; // of the logical ranks of each
};

} // namespace gradus::testing
