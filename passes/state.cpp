// States that passes add to a program; see state.h.

#include "passes/state.h"

#include "recipe/run_settings.h"

using namespace mlir;
using namespace gradus;

static InitAttr initialValue(Builder &builder, double initial) {
  MLIRContext *context = builder.getContext();
  if (initial == 0)
    return InitAttr::get(context, Initializer::zeros, FloatAttr());
  return InitAttr::get(context, Initializer::constant,
                       builder.getF64FloatAttr(initial));
}

States::States(ProgramOp program)
    : program_(program), isSettable_(runSettings(program).isSettable) {
  for (auto state : program.getBody().getOps<StateOp>()) {
    byName_[state.getSymName()] = state;
    last_ = state;
  }
}

LogicalResult States::ensure(StringRef name, RankedTensorType type, Role role,
                             double initial) {
  StateOp &state = byName_[name];
  if (state) {
    if (state.getType() == type && state.getRole() == role)
      return success();
    return state.emitOpError()
           << "is the model's, but training keeps " << stringifyRole(role)
           << " of type " << type << " under that name; rename it in the model";
  }
  auto builder = OpBuilder::atBlockBegin(&program_.getBody().front());
  if (last_)
    builder.setInsertionPointAfter(last_);
  MLIRContext *context = program_.getContext();
  state = last_ =
      StateOp::create(builder, program_.getLoc(), builder.getStringAttr(name),
                      TypeAttr::get(type), RoleAttr::get(context, role),
                      initialValue(builder, initial), /*value=*/ElementsAttr(),
                      /*differs_along=*/ArrayAttr());
  return success();
}

LogicalResult gradus::ensureState(ProgramOp program, StringRef name,
                                  RankedTensorType type, Role role,
                                  double initial) {
  return States(program).ensure(name, type, role, initial);
}

void gradus::setInitial(StateOp state, double initial) {
  Builder builder(state.getContext());
  state.setInitAttr(initialValue(builder, initial));
}

/// An attribute of programs: the parameters that passes have taken out.
constexpr StringLiteral kTakenOut = "taken_out";

void gradus::dropIfUnused(ProgramOp program, StringRef name) {
  StateOp state = program.getState(name);
  if (!state || !SymbolTable::symbolKnownUseEmpty(state, program))
    return;
  if (state.getRole() == Role::parameter) {
    SmallVector<StringRef> names = takenOut(program);
    names.push_back(state.getSymName());
    program->setAttr(kTakenOut, Builder(program).getStrArrayAttr(names));
  }
  state.erase();
}

SmallVector<StringRef> gradus::takenOut(ProgramOp program) {
  SmallVector<StringRef> names;
  if (auto attribute = program->getAttrOfType<ArrayAttr>(kTakenOut))
    for (auto name : attribute.getAsRange<StringAttr>())
      names.push_back(name);
  return names;
}

Value gradus::readState(OpBuilder &builder, Location loc, StringRef name,
                        RankedTensorType type) {
  return ReadOp::create(builder, loc, type,
                        FlatSymbolRefAttr::get(builder.getContext(), name));
}

void gradus::writeState(OpBuilder &builder, Location loc, StringRef name,
                        Value value) {
  WriteOp::create(builder, loc,
                  FlatSymbolRefAttr::get(builder.getContext(), name), value);
}
