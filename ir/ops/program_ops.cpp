// Programs, states and graphs: their text form, lookups and verifiers.
//
// A graph prints its inputs as SSA values whose names are the inputs' names;
// where a name is no identifier or is already used, `as "name"` follows the
// value.

#include "ir/gradus.h"
#include "ir/recipe_check.h"

#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace gradus;

//===-- program and state -------------------------------------------------===//

GraphOp ProgramOp::getGraph(StringRef name) {
  return mlir::SymbolTable::lookupNearestSymbolFrom<GraphOp>(
      *this, StringAttr::get(getContext(), name));
}

StateOp ProgramOp::getState(StringRef name) {
  return mlir::SymbolTable::lookupNearestSymbolFrom<StateOp>(
      *this, StringAttr::get(getContext(), name));
}

LogicalResult ProgramOp::verify() {
  const auto *recipe =
      (*this)->getDialect()->getRegisteredInterface<RecipeCheck>();
  return recipe ? recipe->check(*this) : success();
}

/// Whether a rule means nothing without a number.
static bool needsNumber(Initializer rule) {
  return rule == Initializer::constant || rule == Initializer::normal ||
         rule == Initializer::uniform;
}

/// The type that a state's value has: its own, or that of the tensor of which
/// each rank has a part (kPartOf of passes/state.h).
static Type typeOfValue(StateOp state) {
  auto whole = state->getAttrOfType<TypeAttr>("part_of");
  return whole ? whole.getValue() : Type(state.getType());
}

LogicalResult StateOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (!type.hasStaticShape())
    return emitOpError("has type ")
           << type << ", but a state's shape is static";
  if (!getInit() && !getValue())
    return emitOpError("needs an `init` or a `value`");
  if (Type wanted = typeOfValue(*this);
      getValue() && getValue()->getShapedType() != wanted)
    return emitOpError("has a value of type ")
           << getValue()->getShapedType() << ", but its type is " << wanted;
  if (getInit() && needsNumber(getInit()->getRule()) && !getInit()->getValue())
    return emitOpError("is initialized by `")
           << stringifyInitializer(getInit()->getRule())
           << "`, which needs a number";
  return success();
}

//===-- graph: text -------------------------------------------------------===//

namespace {
/// The parsed inputs and outputs of a graph.
struct Signature {
  SmallVector<OpAsmParser::Argument> inputs;
  SmallVector<Attribute> inputNames, outputNames;
  SmallVector<Type> outputTypes;
};
} // namespace

/// Parses `%image: type` or `%arg0 as "input.1": type`; a location follows the
/// value.
static ParseResult parseInput(OpAsmParser &parser, Signature &signature) {
  OpAsmParser::Argument &input = signature.inputs.emplace_back();
  if (parser.parseOperand(input.ssaName, /*allowResultNumber=*/false) ||
      parser.parseOptionalLocationSpecifier(input.sourceLoc))
    return failure();
  std::string name = input.ssaName.name.drop_front().str();
  if (succeeded(parser.parseOptionalKeyword("as")) && parser.parseString(&name))
    return failure();
  signature.inputNames.push_back(parser.getBuilder().getStringAttr(name));
  return parser.parseColonType(input.type);
}

/// Parses `loss: type` or `"a loss": type`.
static ParseResult parseOutput(OpAsmParser &parser, Signature &signature) {
  std::string name;
  if (parser.parseKeywordOrString(&name) ||
      parser.parseColonType(signature.outputTypes.emplace_back()))
    return failure();
  signature.outputNames.push_back(parser.getBuilder().getStringAttr(name));
  return success();
}

static ParseResult parseSignature(OpAsmParser &parser, Signature &signature) {
  using Delimiter = OpAsmParser::Delimiter;
  if (parser.parseCommaSeparatedList(
          Delimiter::Paren, [&] { return parseInput(parser, signature); },
          " in the graph's inputs"))
    return failure();
  if (failed(parser.parseOptionalArrow()))
    return success();
  return parser.parseCommaSeparatedList(
      Delimiter::Paren, [&] { return parseOutput(parser, signature); },
      " in the graph's outputs");
}

ParseResult GraphOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  StringAttr name;
  Signature signature;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name),
                             result.attributes) ||
      parseSignature(parser, signature) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();

  auto inputTypes = llvm::map_to_vector(signature.inputs,
                                        [](auto &input) { return input.type; });
  result.addAttribute(getFunctionTypeAttrName(result.name),
                      TypeAttr::get(builder.getFunctionType(
                          inputTypes, signature.outputTypes)));
  result.addAttribute(getInputNamesAttrName(result.name),
                      builder.getArrayAttr(signature.inputNames));
  result.addAttribute(getOutputNamesAttrName(result.name),
                      builder.getArrayAttr(signature.outputNames));
  return parser.parseRegion(*result.addRegion(), signature.inputs);
}

/// Prints `%value`, and `as "name"` if the value does not say the name.
static void printInput(OpAsmPrinter &printer, BlockArgument input,
                       StringRef name) {
  std::string printed;
  llvm::raw_string_ostream stream(printed);
  printer.printOperand(input, stream);
  printer.printRegionArgument(input, /*argAttrs=*/{}, /*omitType=*/true);
  if (StringRef(printed).drop_front() != name) {
    printer << " as ";
    printer.printString(name);
  }
  printer << ": " << input.getType();
}

void GraphOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  llvm::interleaveComma(getBody().getArguments(), printer, [&](auto input) {
    printInput(printer, input, getInputName(input.getArgNumber()));
  });
  printer << ')';
  if (!getResultTypes().empty()) {
    printer << " -> (";
    llvm::interleaveComma(
        llvm::enumerate(getResultTypes()), printer, [&](auto output) {
          printer.printKeywordOrString(getOutputName(output.index()));
          printer << ": " << output.value();
        });
    printer << ')';
  }
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {getSymNameAttrName(), getFunctionTypeAttrName(),
                            getInputNamesAttrName(), getOutputNamesAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

void GraphOp::getAsmBlockArgumentNames(Region &region,
                                       OpAsmSetValueNameFn setName) {
  for (auto [input, name] :
       llvm::zip(region.getArguments(),
                 getInputNames().getAsValueRange<StringAttr>()))
    if (!name.empty())
      setName(input, name);
}

//===-- graph: what must hold ---------------------------------------------===//

/// Verifies that `names` differ, and that there are `expected` of them.
static LogicalResult verifyNames(GraphOp graph, ArrayAttr names,
                                 size_t expected, StringRef what) {
  if (names.size() != expected)
    return graph.emitOpError("has ")
           << expected << ' ' << what << "s, but names " << names.size();
  llvm::StringSet<> seen;
  for (StringRef name : names.getAsValueRange<StringAttr>())
    if (!seen.insert(name).second)
      return graph.emitOpError("has two ")
             << what << "s named \"" << name << '"';
  return success();
}

/// The name of the state that an op writes, or an empty name.
static StringRef writtenState(Operation &op) {
  if (auto write = dyn_cast<WriteOp>(op))
    return write.getState();
  if (auto update = dyn_cast<ParameterUpdate>(op))
    return update.getParameterName();
  return {};
}

/// An update behind a write is no second value: it moves the one written.
static LogicalResult verifyEachStateWrittenOnce(GraphOp graph) {
  llvm::StringMap<Operation *> writers;
  for (Operation &op : graph.getBody().front()) {
    StringRef state = writtenState(op);
    if (state.empty())
      continue;
    auto [first, isFirst] = writers.try_emplace(state, &op);
    if (isFirst)
      continue;
    if (isa<WriteOp>(first->second) && isa<ParameterUpdate>(op)) {
      first->second = &op;
      continue;
    }
    InFlightDiagnostic error = op.emitOpError("gives @")
                               << state << " a second value at exit";
    error.attachNote(first->second->getLoc())
        << "the first value is given here";
    return error;
  }
  return success();
}

LogicalResult GraphOp::verify() {
  if (failed(verifyNames(*this, getInputNames(), getArgumentTypes().size(),
                         "input")) ||
      failed(verifyNames(*this, getOutputNames(), getResultTypes().size(),
                         "output")))
    return failure();
  for (Type type :
       llvm::concat<const Type>(getArgumentTypes(), getResultTypes()))
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        !tensor || !tensor.hasStaticShape())
      return emitOpError("has an input or output of type ")
             << type << ", expected a tensor of static shape";
  return verifyEachStateWrittenOnce(*this);
}

LogicalResult ReturnOp::verify() {
  auto graph = cast<GraphOp>((*this)->getParentOp());
  ArrayRef<Type> expected = graph.getResultTypes();
  if (getOutputs().size() != expected.size())
    return emitOpError("returns ")
           << getOutputs().size() << " values, but graph @"
           << graph.getSymName() << " has " << expected.size() << " outputs";
  for (auto [index, output] : llvm::enumerate(getOutputs()))
    if (output.getType() != expected[index])
      return emitOpError("returns ") << output.getType() << " as output \""
                                     << graph.getOutputName(index)
                                     << "\", which is " << expected[index];
  return success();
}

//===-- graph: editing ----------------------------------------------------===//

OperandRange GraphOp::getReturned() {
  return cast<ReturnOp>(getBody().front().getTerminator()).getOutputs();
}

static ArrayAttr append(ArrayAttr names, StringRef name) {
  SmallVector<Attribute> all(names.begin(), names.end());
  all.push_back(StringAttr::get(names.getContext(), name));
  return ArrayAttr::get(names.getContext(), all);
}

static SmallVector<Type> append(ArrayRef<Type> types, Type type) {
  SmallVector<Type> all(types);
  all.push_back(type);
  return all;
}

BlockArgument GraphOp::addInput(StringRef name, Type type, Location loc) {
  setInputNamesAttr(append(getInputNames(), name));
  setFunctionType(FunctionType::get(
      getContext(), append(getArgumentTypes(), type), getResultTypes()));
  return getBody().addArgument(type, loc);
}

void GraphOp::addOutput(StringRef name, Value value) {
  setOutputNamesAttr(append(getOutputNames(), name));
  setFunctionType(FunctionType::get(getContext(), getArgumentTypes(),
                                    append(getResultTypes(), value.getType())));
  auto terminator = cast<ReturnOp>(getBody().front().getTerminator());
  terminator.getOutputsMutable().append(value);
}

//===-- state in a graph --------------------------------------------------===//

/// Verifies that `name` is a state of this type.
static LogicalResult verifyStateUse(Operation *op, FlatSymbolRefAttr name,
                                    Type type, SymbolTableCollection &symbols) {
  auto state = symbols.lookupNearestSymbolFrom<StateOp>(op, name);
  if (!state)
    return op->emitOpError("names ")
           << name << ", but the program has no such state";
  if (state.getType() == type)
    return success();
  InFlightDiagnostic error = op->emitOpError("has a value of type ")
                             << type << ", but state " << name << " is "
                             << state.getType();
  error.attachNote(state.getLoc()) << "the state is declared here";
  return error;
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyStateUse(*this, getStateAttr(), getType(), symbols);
}

/// Verifies that `name` is a state of this type that steps may change.
static LogicalResult verifyChange(Operation *op, FlatSymbolRefAttr name,
                                  Type type, SymbolTableCollection &symbols) {
  if (failed(verifyStateUse(op, name, type, symbols)))
    return failure();
  auto state = symbols.lookupNearestSymbolFrom<StateOp>(op, name);
  if (!state->hasAttr("fixed")) // passes/state.h
    return success();
  return op->emitOpError("changes ")
         << name << ", which is fixed: graphs only read it";
}

LogicalResult WriteOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyChange(*this, getStateAttr(), getValue().getType(), symbols);
}

LogicalResult UpdateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyChange(*this, getParameterAttr(), getGradient().getType(),
                      symbols);
}

/// Blocks of one size for each side, or a vector of the rows of an embedding.
static LogicalResult verifySide(FactorsOp op, Value side, StringRef name) {
  auto type =
      side ? cast<RankedTensorType>(side.getType()) : RankedTensorType();
  if (!side ||
      (type.getRank() == 3 && type.getDimSize(1) == type.getDimSize(2)))
    return success();
  if (type.getRank() == 1 && side == op.getInputs() &&
      op.getKind() == "embedding")
    return success();
  return op.emitOpError() << "has " << name << " of type " << type
                          << ", expected square blocks [count, n, n]";
}

/// The vector of an embedding has a number for each of the table's rows.
static LogicalResult verifyRows(FactorsOp op, RankedTensorType table) {
  Value inputs = op.getInputs();
  if (!inputs || cast<RankedTensorType>(inputs.getType()).getRank() != 1)
    return success();
  int64_t found = cast<RankedTensorType>(inputs.getType()).getDimSize(0),
          rows = 1;
  for (int64_t axis : op.getAxes())
    rows *= table.getDimSize(axis);
  if (found == rows)
    return success();
  return op.emitOpError("has ")
         << found << " numbers as inputs, but " << op.getParameterAttr()
         << " has " << rows << " rows";
}

LogicalResult FactorsOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto state =
      symbols.lookupNearestSymbolFrom<StateOp>(*this, getParameterAttr());
  if (!state)
    return emitOpError("names ")
           << getParameterAttr() << ", but the program has no such state";
  auto weight = cast<RankedTensorType>(state.getType());
  int64_t rank = weight.getRank();
  for (int64_t axis : getAxes())
    if (axis < 0 || axis >= rank)
      return emitOpError("has axis ") << axis << ", but " << getParameterAttr()
                                      << " has " << rank << " axes";
  if (failed(verifySide(*this, getInputs(), "inputs")) ||
      failed(verifySide(*this, getOutputs(), "outputs")))
    return failure();
  return verifyRows(*this, weight);
}

LogicalResult GuardOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!getAlways())
    return success();
  for (auto name : getAlways()->getAsRange<FlatSymbolRefAttr>())
    if (!symbols.lookupNearestSymbolFrom<StateOp>(*this, name))
      return emitOpError("names ")
             << name << ", but the program has no such state";
  return success();
}

bool GuardOp::exempts(FlatSymbolRefAttr state) {
  return getAlways() && llvm::is_contained(*getAlways(), Attribute(state));
}

/// A value that is read is named like its state.
void ReadOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), getState());
}

StringRef UpdateOp::getParameterName() { return getParameter(); }

OpOperand &UpdateOp::getGradientUse() { return getGradientMutable(); }

//===-- schedule ----------------------------------------------------------===//

static LogicalResult verifyGraphUse(Operation *op, FlatSymbolRefAttr name,
                                    SymbolTableCollection &symbols) {
  if (symbols.lookupNearestSymbolFrom<GraphOp>(op, name))
    return success();
  return op->emitOpError("names ")
         << name << ", but the program has no such graph";
}

LogicalResult ScheduleOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(verifyGraphUse(*this, getGraphAttr(), symbols)))
    return failure();
  auto counter = RankedTensorType::get({}, IntegerType::get(getContext(), 64));
  return getCounterAttr()
             ? verifyStateUse(*this, getCounterAttr(), counter, symbols)
             : success();
}

LogicalResult VariantOp::verify() {
  if (getAt() < getEvery())
    return success();
  return emitOpError("runs at ") << getAt() << " of every " << getEvery()
                                 << " steps, expected a smaller number";
}

LogicalResult VariantOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyGraphUse(*this, getGraphAttr(), symbols);
}
