// Checks the recipe's groups against the model, and keeps their scales; see
// loss_scale_groups.h.

#include "passes/loss_scale_groups.h"

#include "passes/state.h"
#include "recipe/nearest.h"
#include "runtime/well_known.h"

#include "llvm/Support/Format.h"

using namespace mlir;
using namespace gradus;

std::string gradus::groupScaleName(size_t group) {
  return std::string(well_known::kLossScale) + "/" + std::to_string(group);
}

/// `loss_scale.groups[1]`
static std::string keyOf(size_t group) {
  return "loss_scale.groups[" + std::to_string(group) + "]";
}

std::optional<ScaleGroups> ScaleGroups::of(ProgramOp program) {
  auto settings = lossScale().of(program);
  if (!settings || settings->type != LossScaleSettings::Type::group)
    return std::nullopt;
  return ScaleGroups(program, std::move(*settings));
}

ScaleGroups::ScaleGroups(ProgramOp program, LossScaleSettings settings)
    : program_(program), settings_(std::move(settings)) {
  for (const std::vector<std::string> &group : settings_.groups)
    patterns_.emplace_back(group);
}

std::optional<size_t> ScaleGroups::groupOf(StringRef parameter) const {
  for (const auto &[index, patterns] : llvm::enumerate(patterns_))
    if (patterns.match(parameter))
      return index;
  return std::nullopt;
}

/// A number as people write it: 0.5, 16777216.
static std::string textOf(double number) {
  std::string digits;
  llvm::raw_string_ostream(digits) << llvm::format("%.9g", number);
  return digits;
}

//===-- checks ------------------------------------------------------------===//

LogicalResult ScaleGroups::verify(ArrayRef<StateOp> trained) const {
  if (patterns_.empty())
    return recipe::keyError(program_, "loss_scale.groups")
           << "is empty; expected a list of patterns of parameters for each "
              "group, such as [[\"conv*\"], [\"fc*\"]]";
  if (failed(verifyNumbers()) || failed(verifyPatterns()))
    return failure();
  return verifyMembers(trained);
}

LogicalResult ScaleGroups::verifyNumbers() const {
  const LossScaleSettings &own = settings_;
  if (own.minimum > own.maximum)
    return recipe::keyError(program_, "loss_scale.minimum")
           << "is " << textOf(own.minimum)
           << ", above loss_scale.maximum, which is " << textOf(own.maximum);
  size_t given = own.initials.size();
  if (given != 1 && given != size())
    return recipe::keyError(program_, "loss_scale.initial")
           << "has " << given << " numbers for " << size()
           << " groups; expected one for each, or one for all";
  for (double initial : own.initials)
    if (initial < own.minimum || initial > own.maximum)
      return recipe::keyError(program_, "loss_scale.initial")
             << "is " << textOf(initial) << ", outside of loss_scale.minimum "
             << textOf(own.minimum) << " to loss_scale.maximum "
             << textOf(own.maximum);
  return success();
}

LogicalResult ScaleGroups::verifyPatterns() const {
  SmallVector<StringRef> names;
  for (auto state :
       const_cast<ProgramOp &>(program_).getBody().getOps<StateOp>())
    if (state.getRole() == Role::parameter)
      names.push_back(state.getSymName());
  SmallVector<StringRef> known = names;
  llvm::append_range(known, takenOut(program_));
  for (const auto &[index, patterns] : llvm::enumerate(patterns_)) {
    for (const std::string &pattern : patterns.texts())
      if (llvm::none_of(known, [&](StringRef name) {
            return matchesPattern(pattern, name);
          }))
        return recipe::keyError(program_, keyOf(index))
               << "has \"" << pattern
               << "\", which names no parameter of the model"
               << (names.empty() ? ""
                                 : "; it has, nearest first: " +
                                       nearestNames(pattern, names));
  }
  return success();
}

LogicalResult ScaleGroups::verifyMembers(ArrayRef<StateOp> trained) const {
  SmallVector<bool> isUsed(size(), false);
  for (StateOp parameter : trained) {
    StringRef name = parameter.getSymName();
    std::optional<size_t> group = groupOf(name);
    if (!group)
      return reportMissing(name);
    isUsed[*group] = true;
    for (size_t other = *group + 1; other < size(); ++other)
      if (patterns_[other].match(name))
        return recipe::keyError(program_, keyOf(other))
               << "has \"" << name << "\", which " << keyOf(*group)
               << " has, too; a parameter is in one group";
  }
  for (const auto &[index, used] : llvm::enumerate(isUsed))
    if (!used)
      return recipe::keyError(program_, keyOf(index))
             << "has no trained parameter, and a scale without gradients means "
                "nothing; leave the group out";
  return success();
}

LogicalResult ScaleGroups::reportMissing(StringRef parameter) const {
  return recipe::keyError(program_, "loss_scale.groups")
         << "has no group for \"" << parameter
         << "\"; each trained parameter needs one";
}

//===-- scales ------------------------------------------------------------===//

Value ScaleGroups::read(OpBuilder &builder, Location loc, size_t group) const {
  auto type = RankedTensorType::get({}, builder.getF32Type());
  const std::vector<double> &initials = settings_.initials;
  double initial = group < initials.size() ? initials[group]
                   : initials.empty()      ? 1
                                           : initials.front();
  std::string name = groupScaleName(group);
  if (failed(ensureState(program_, name, type, Role::hyperparameter, initial)))
    return {};
  return readState(builder, loc, name, type);
}

Value ScaleGroups::next(const Arithmetic &math, Value scale,
                        Value without) const {
  Value larger = math.smaller(math.scale(settings_.growth, scale),
                              math.number(settings_.maximum, scale));
  Value smaller = math.larger(math.scale(settings_.reduction, scale),
                              math.number(settings_.minimum, scale));
  return math.select(without, larger, smaller);
}
