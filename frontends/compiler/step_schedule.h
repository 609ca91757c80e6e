// Finds out which variant of a step runs when, and the learning rate over time,
// by evaluating what the step will compute.
#pragma once

#include "frontends/compiler/compiler.h"
#include "ir/gradus.h"

namespace gradus::compiler {

/// Describes those schedules of a program that the list lacks or has with other
/// variants. If a state that the step writes selects the variant, the written
/// value is evaluated; call this before guards make it depend on gradients. The
/// turns of logical ranks, which make one step, are left out.
void updateStepSchedules(ProgramOp program,
                         std::vector<StepSchedule> &schedules);

/// The learning rate of the recipe's optimizer for steps from 0 to the end of
/// its schedule; one point if it is constant, none if the caller sets it.
RateCourse learningRates(ProgramOp program);

} // namespace gradus::compiler
