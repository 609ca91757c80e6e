// A small artifact for tests, and the writer that makes a file of it.
//
// The program `adder`: states `total` (8 floats, starts as 0, 1, ... 7),
// `scale` (4 bf16, starts as 1) and `step`; a graph `train` with input `x` and
// outputs `sum` and `shifted`:
//   total += x; sum = total; shifted = total + constant (10, 11, ...); ++step
// and a graph `evaluate` that only gives `sum`. Tests change the tables, then
// call bytes().

#pragma once

#include "library_ops.h"
#include "runtime/artifact_hash.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gradus::test {

constexpr int64_t kSize = 8; // elements of total, x, sum and shifted

/// Numbers of the buffers of the plan.
enum Buffer : uint32_t {
  kTotal,
  kScale,
  kStep,
  kX,
  kSum,
  kShifted,
  kConstant,
  kScratch
};

struct TestArtifact {
  TestArtifact();

  artifact::HeaderT header;
  artifact::CodeHeaderT kernels;
  std::vector<uint8_t> constants, weights, code;

  artifact::PlanT &plan() { return *header.plans[0]; }
  artifact::GraphPlanT &train() { return *plan().graphs[0]; }
  artifact::CommandT &command(size_t i) { return *train().commands[i]; }

  /// Adds a command to `train`.
  template <typename Command> Command &add(std::string name, Command command) {
    auto table = std::make_unique<artifact::CommandT>();
    table->name = std::move(name);
    table->kind.Set(std::move(command));
    train().commands.push_back(std::move(table));
    return *static_cast<Command *>(train().commands.back()->kind.value);
  }

  /// A buffer of that many floats at the end of the arena; its number.
  uint32_t addArena(int64_t floats);

  /// Makes it an artifact of two logical ranks, which one process computes in
  /// two turns: `train_partial` keeps `x` in the state `waiting`, then
  /// `train_final` adds it and `x` to `total`.
  void addTurns();
  /// Adds a state of one number that each rank has of its own.
  void addOwn(const char *name, double number);
  /// Adds a number of the recipe, from 0 to below 10.
  void addNumber(const char *path, double number);
  /// Adds the fixed state `rows` of two numbers.
  void addFixed(double number);

  /// A second plan, for GPUs: the same commands, and an image of each kind.
  artifact::PlanT &addGpuPlan();

  /// The file: header, sections, hashes.
  std::vector<uint8_t> bytes() const;

private:
  /// A state at the end of those that there are; the number of its buffer.
  uint32_t addState(const char *name, artifact::Role role,
                    const artifact::TensorTypeT &type, uint64_t bytes);
  /// A variant of `train` with other commands.
  artifact::GraphPlanT &addVariant(const char *name);
};

/// Computes every hash of a file again, as far as its header can be read.
void reseal(std::vector<uint8_t> &file);

/// Writes bytes to a fresh file; its path.
std::string writeFile(const std::vector<uint8_t> &bytes,
                      const std::string &name);
std::string temporaryPath(const std::string &name);

} // namespace gradus::test
