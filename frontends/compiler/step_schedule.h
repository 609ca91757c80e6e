// Which variant of a step runs when, and the learning rate over time: worked
// out by evaluating what the step will compute.
#pragma once

#include "frontends/compiler/compiler.h"
#include "ir/gradus.h"

namespace gradus::compiler {

/// Describes those schedules of a program that the list lacks or has with
/// other variants. Where a state that the step writes says which variant is
/// next, what it writes is evaluated: call this before guards make that depend
/// on gradients.
void updateStepSchedules(ProgramOp program,
                         std::vector<StepSchedule> &schedules);

/// The learning rate of the recipe's optimizer at steps from 0 to where its
/// schedule ends; one point where it does not change, none where the program's
/// caller sets it.
std::vector<RatePoint> learningRates(ProgramOp program);

} // namespace gradus::compiler
