// Trains one file of a recorded case by one of its runs.

#pragma once

#include "frontends/compiler/compiler.h"
#include "tool/check/comparison.h"

#include <string>
#include <vector>

namespace gradus::check {

struct Options {
  int threads = 0;            // 0: one per core
  std::string device = "cpu"; // a name as in runtime/session/devices.h
  /// Compares the step-0 gradients, too, which are the same for every run of a
  /// file.
  bool gradients = true;
  std::string convolutions = {}; // the recipe's key; empty: its default
};

struct Outcome {
  std::string file, run;
  /// Reasons why the run failed, one a line; empty if it passed.
  std::vector<std::string> failures;
  std::vector<std::string> warnings;
  Deviation largest;      // relative to its tolerance
  size_t comparisons = 0; // numbers that were compared
  double rounding = 1;    // allowed, in multiples of the case's tolerances
  double compileSeconds = 0, millisecondsPerStep = 0;
  uint64_t arenaBytes = 0;

  bool passed() const { return failures.empty(); }
};

/// The options' keys of a recipe, as flags of a compilation.
void addFlags(const Options &options, compiler::Request &request);

/// Compiles, runs and compares. Every error is in the outcome.
Outcome checkRun(compiler::Compiler &compiler, const RecordedCase &recorded,
                 const std::string &file, const std::string &run,
                 const Options &options);

} // namespace gradus::check
