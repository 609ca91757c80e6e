// States that passes add to a program; see state.h.

#include "passes/state.h"

using namespace mlir;
using namespace gradus;

void gradus::ensureState(ProgramOp program, StringRef name,
                         RankedTensorType type, Role role) {
  if (program.getState(name))
    return;
  Block &body = program.getBody().front();
  auto builder = OpBuilder::atBlockBegin(&body);
  for (auto state : body.getOps<StateOp>())
    builder.setInsertionPointAfter(state);
  MLIRContext *context = program.getContext();
  StateOp::create(builder, program.getLoc(), builder.getStringAttr(name),
                  TypeAttr::get(type), RoleAttr::get(context, role),
                  InitAttr::get(context, Initializer::zeros, FloatAttr()),
                  /*value=*/ElementsAttr());
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
