// Adds a file of directions to a program, as fixed states; see basis.h.
// The values stay in the file, which lives as long as they are needed.

#include "frontends/compiler/basis.h"

#include "frontends/compiler/program.h"
#include "ir/evaluator/values_in_place.h"
#include "messages/message.h"
#include "passes/methods/dim_reduce.h"
#include "passes/optimizers/parameters.h"
#include "passes/state.h"

#include <cstring>
#include <set>

using namespace mlir;

namespace gradus::compiler {
namespace {

/// `basis` is what a user knows it by.
absl::Status refusal(const std::string &basis, const std::string &words) {
  return invalid(basis, ": ", words);
}

std::vector<std::string> statesOfBasis(ProgramOp program) {
  std::vector<std::string> names;
  for (auto state : program.getBody().getOps<StateOp>())
    if (state.getSymName().starts_with(kBasis))
      names.push_back(state.getSymName().str());
  return names;
}

/// Removes the states of a basis that no graph reads; returns one that is read.
std::string dropBasis(ProgramOp program) {
  std::string read;
  for (const std::string &name : statesOfBasis(program)) {
    dropIfUnused(program, name);
    if (program.getState(name))
      read = name;
  }
  return read;
}

int64_t elementsOf(ArrayRef<int64_t> shape) {
  return ShapedType::getNumElements(shape);
}

/// The bytes of the first directions.
ArrayRef<char> bytesOf(const Weight &part, int64_t components) {
  int64_t count = components * elementsOf(ArrayRef(part.shape).drop_front());
  return {reinterpret_cast<const char *>(part.bytes.data()),
          count * sizeof(float)};
}

/// The states that no step trains. A basis may have nothing of them, or zeros,
/// which then take no memory.
std::set<std::string> untrained(ProgramOp program) {
  std::set<std::string> names;
  for (auto state : program.getBody().getOps<StateOp>())
    names.insert(state.getSymName().str());
  for (StateOp state : trainedParameters(program))
    names.erase(state.getSymName().str());
  // A text may have updates of its own, which ask no key.
  program.walk([&](ParameterUpdate update) {
    names.erase(update.getParameterName().str());
  });
  return names;
}

bool isZero(ArrayRef<char> bytes) {
  for (; !bytes.empty(); bytes = bytes.drop_front(sizeof(float))) {
    float number;
    std::memcpy(&number, bytes.data(), sizeof(number));
    if (number != 0)
      return false;
  }
  return true;
}

/// Adds the first `components` directions of a parameter.
void addPart(OpBuilder &builder, ProgramOp program, const Weight &part,
             int64_t components, std::shared_ptr<const void> owner) {
  SmallVector<int64_t> shape(part.shape.begin(), part.shape.end());
  shape.front() = components;
  auto type = RankedTensorType::get(shape, builder.getF32Type());
  std::string name = (kBasis + part.name).str();
  ElementsAttr values = valuesInPlace(type, bytesOf(part, components), name,
                                      [owner = std::move(owner)] {});
  auto state = StateOp::create(
      builder, program.getLoc(), builder.getStringAttr(name),
      TypeAttr::get(type), RoleAttr::get(program.getContext(), Role::slot),
      InitAttr(), values, /*differs_along=*/ArrayAttr());
  state->setAttr(kFixed, builder.getUnitAttr());
}

/// "2x3xf32"
std::string shown(ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t size : shape)
    text += message(size, "x");
  return text + "f32";
}

/// Checks a basis against the model by its names and shapes, without its
/// values. A name that the model lacks may be of a parameter that a pass adds,
/// as fc_to_fn does; all these are not more numbers than the model has.
absl::Status checkShapes(ProgramOp program, const BasisFile &basis) {
  int64_t own = 0, others = 0;
  for (auto state : program.getBody().getOps<StateOp>())
    own += cast<RankedTensorType>(state.getType()).getNumElements();
  for (const Weight &part : basis.parts) {
    StateOp state = program.getState(part.name);
    ArrayRef<int64_t> found = part.shape;
    if (!state) {
      others += elementsOf(found.drop_front());
      if (others > own)
        return invalid("has ", part.name,
                       ", which is no parameter of the model");
      continue;
    }
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(state.getType()).getShape();
    SmallVector<int64_t> expected{found.front()};
    llvm::append_range(expected, shape);
    if (found != ArrayRef(expected))
      return invalid("has ", shown(found), " for ", part.name, ", expected ",
                     shown(expected),
                     ": the shape of the parameter for each of ", found.front(),
                     " directions");
  }
  return absl::OkStatus();
}

using Check = std::function<absl::Status()>;

absl::StatusOr<Check> addFile(ProgramOp program,
                              const DimReduceSettings &settings,
                              const Request &request) {
  std::string name = request.givenBasis.empty()
                         ? "recipe: dim_reduce.basis " + *settings.basis
                         : request.givenBasis;
  if (!request.openBasis)
    return refusal(name, "is not read here; `gradus compile` reads it");
  absl::StatusOr<BasisFile> basis = request.openBasis(*settings.basis);
  if (!basis.ok())
    return refusal(name, std::string(basis.status().message()));
  int64_t directions = basis->parts.front().shape.front(),
          components = settings.components.value_or(directions);
  if (components > directions)
    return refusal(name, message("has ", directions,
                                 " directions, and dim_reduce.components is ",
                                 components));
  if (absl::Status status = checkShapes(program, *basis); !status.ok())
    return refusal(name, std::string(status.message()));
  if (std::string read = dropBasis(program); !read.empty())
    return refusal(name, message("comes too late for this program, whose steps "
                                 "have a basis already: they read ",
                                 read));
  auto builder = OpBuilder::atBlockBegin(&program.getBody().front());
  for (auto state : program.getBody().getOps<StateOp>())
    builder.setInsertionPointAfter(state);
  std::set<std::string> still = untrained(program);
  for (const Weight &part : basis->parts)
    if (!still.count(part.name) || !isZero(bytesOf(part, components)))
      addPart(builder, program, part, components, basis->owner);
  return [name, verify = basis->verify]() -> absl::Status {
    absl::Status status = verify();
    return status.ok() ? status : refusal(name, std::string(status.message()));
  };
}

} // namespace

absl::StatusOr<Check> addBasis(ProgramOp program, const Request &request) {
  auto settings = dimReduction().of(program);
  if (!settings) {
    dropBasis(program);
    return Check();
  }
  // A memory limit, say, that an artifact gets is no recipe.
  bool isSettled = request.carried || !saysRecipe(request);
  std::vector<std::string> own = statesOfBasis(program);
  if (settings->basis && isSettled && !own.empty() &&
      !request.givenBasis.empty())
    return refusal(request.givenBasis,
                   message(request.model, " has a basis already, as ",
                           own.front(), ", and no other recipe is given"));
  if (!settings->basis || (isSettled && !own.empty()))
    return Check();
  return addFile(program, *settings, request);
}

} // namespace gradus::compiler
