// The subcommands of `gradus`, one file each. Each function adds its command to
// the app; the command runs while the app parses, and throws Failure.

#pragma once

#include <CLI/CLI.hpp>

namespace gradus::cli {

void addCompile(CLI::App &app);
void addTrain(CLI::App &app);
void addEvaluate(CLI::App &app);
void addPredict(CLI::App &app);
void addRun(CLI::App &app);
void addInspect(CLI::App &app);
void addCheck(CLI::App &app);
void addVerify(CLI::App &app);
void addExport(CLI::App &app);
void addBasis(CLI::App &app);
void addBench(CLI::App &app);
void addCompare(CLI::App &app);
void addTune(CLI::App &app);
void addDoctor(CLI::App &app);
void addRecipe(CLI::App &app);

} // namespace gradus::cli
