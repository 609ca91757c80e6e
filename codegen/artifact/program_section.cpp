// Writes and reads attributes and types by callbacks of MLIR's bytecode, which
// keep the readers of its dialects from what a file says.

#include "codegen/artifact/program_section.h"

#include "codegen/artifact/bytecode_check.h"
#include "codegen/artifact/initial_values.h"
#include "codegen/artifact/own_process.h"
#include "ir/evaluator/values_in_place.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/StringSaver.h"

using namespace mlir;
using namespace gradus;

std::string gradus::compilerName() {
  return "gradus " GRADUS_VERSION " (MLIR " LLVM_VERSION_STRING ")";
}

namespace {

/// The forms of an attribute.
enum Form : uint64_t {
  text,     // as MLIR prints it
  elements, // of a tensor: its type, its bytes
  outside,  // the same, which were outside of the context
  state,    // the initial value of a state: its type, the state's name
};

} // namespace

//===-- writing -----------------------------------------------------------===//

/// Whether the weights section has the value of the state.
static bool isInWeights(StateOp state) {
  return state.getValueAttr() && !uniformValue(state) &&
         !state.getType().getElementType().isInteger(1);
}

/// Leaves out places in files: they name folders of the one who compiles, and
/// the same model elsewhere gives the same bytes.
static Location withoutFiles(Location location) {
  if (auto named = dyn_cast<NameLoc>(location))
    return NameLoc::get(named.getName(), withoutFiles(named.getChildLoc()));
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return CallSiteLoc::get(withoutFiles(call.getCallee()),
                            withoutFiles(call.getCaller()));
  if (auto fused = dyn_cast<FusedLoc>(location)) {
    SmallVector<Location> parts =
        llvm::map_to_vector(fused.getLocations(), withoutFiles);
    return FusedLoc::get(location.getContext(), parts);
  }
  return UnknownLoc::get(location.getContext());
}

namespace {

/// Takes the places in files from a program for its lifetime: locations that
/// differ by them alone are one location.
class WithoutFiles {
public:
  explicit WithoutFiles(Operation *root) {
    root->walk([&](Operation *op) {
      take(op);
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            take(argument);
    });
  }
  WithoutFiles(const WithoutFiles &) = delete;
  ~WithoutFiles() {
    for (auto &[op, location] : ops_)
      op->setLoc(location);
    for (auto &[argument, location] : arguments_)
      argument.setLoc(location);
  }

private:
  void take(Operation *op) {
    ops_.emplace_back(op, op->getLoc());
    op->setLoc(withoutFiles(op->getLoc()));
  }
  void take(BlockArgument argument) {
    arguments_.emplace_back(argument, argument.getLoc());
    argument.setLoc(withoutFiles(argument.getLoc()));
  }

  SmallVector<std::pair<Operation *, Location>> ops_;
  SmallVector<std::pair<BlockArgument, Location>> arguments_;
};

/// Writes attributes and types; owns the texts until the bytecode is written.
class Forms {
public:
  explicit Forms(const ProgramSection &section) {
    for (const auto &[name, value] : section.values)
      stateOf_.try_emplace(value, name);
  }

  LogicalResult write(Attribute attribute, DialectBytecodeWriter &writer) {
    if (auto state = stateOf_.find(attribute); state != stateOf_.end()) {
      begin(Form::state, cast<ElementsAttr>(attribute), writer);
      writer.writeOwnedString(state->second);
    } else if (isa<DenseIntOrFPElementsAttr>(attribute)) {
      writeElements(Form::elements, cast<ElementsAttr>(attribute), writer);
    } else if (isa<DenseResourceElementsAttr>(attribute)) {
      writeElements(Form::outside, cast<ElementsAttr>(attribute), writer);
    } else {
      writer.writeVarInt(Form::text);
      writer.writeOwnedString(textOf(attribute));
    }
    return success();
  }

  LogicalResult write(Type type, DialectBytecodeWriter &writer) {
    writer.writeOwnedString(textOf(type));
    return success();
  }

private:
  void begin(Form form, ElementsAttr values, DialectBytecodeWriter &writer) {
    writer.writeVarInt(form);
    writer.writeOwnedString(textOf(values.getShapedType()));
  }
  void writeElements(Form form, ElementsAttr values,
                     DialectBytecodeWriter &writer) {
    begin(form, values, writer);
    writer.writeOwnedBlob(bytesOfValues(values));
  }
  template <typename Printed> StringRef textOf(Printed printed) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    printed.print(stream);
    return texts_.save(text);
  }

  DenseMap<Attribute, StringRef> stateOf_;
  llvm::BumpPtrAllocator memory_;
  llvm::UniqueStringSaver texts_{memory_};
};

} // namespace

ProgramSection gradus::writeProgram(ProgramOp program) {
  ProgramSection section;
  for (StateOp state : program.getOps<StateOp>())
    if (isInWeights(state))
      section.values.emplace_back(state.getSymName(), state.getValueAttr());
  Forms forms(section);
  BytecodeWriterConfig config("gradus " GRADUS_VERSION);
  config.attachAttributeCallback(
      [&](Attribute attribute, std::optional<StringRef> &,
          DialectBytecodeWriter &writer) -> LogicalResult {
        return forms.write(attribute, writer);
      });
  config.attachTypeCallback(
      [&](Type type, std::optional<StringRef> &,
          DialectBytecodeWriter &writer) -> LogicalResult {
        return forms.write(type, writer);
      });
  WithoutFiles places(program->getParentOp());
  Attribute recipe = program.removeRecipeAttr();
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  // It fails for older versions of the format alone.
  (void)writeBytecodeToFile(program->getParentOp(), stream, config);
  if (recipe)
    program.setRecipeAttr(cast<DictionaryAttr>(recipe));
  section.bytes.assign(bytes.begin(), bytes.end());
  return section;
}

bool gradus::hasValues(ProgramOp program, const ProgramSection &section) {
  return llvm::all_of(section.values, [&](const auto &each) {
    StateOp state = program.getState(each.first);
    return state && state.getValueAttr() == each.second;
  });
}

//===-- reading -----------------------------------------------------------===//

/// Whether the parser of text, which calls itself for what is nested, takes it.
static bool isFlatEnough(StringRef text) {
  constexpr int kDeepest = 256;
  int depth = 0, deepest = 0;
  for (char each : text) {
    depth += StringRef("([{<").contains(each);
    depth -= StringRef(")]}>").contains(each) && depth > 0;
    deepest = std::max(deepest, depth);
  }
  return deepest <= kDeepest;
}

/// Whether products of the sizes, in any order, fit 64 bits. How large a tensor
/// may be is checked for the program as a whole.
static bool isCountable(RankedTensorType type) {
  constexpr int64_t kMost = int64_t{1} << 56;
  int64_t count = 1;
  for (int64_t size : type.getShape())
    if (size != 0 && llvm::MulOverflow(count, size, count))
      return false;
  return count <= kMost;
}

namespace {

/// Reads what Forms writes.
class FormReader {
public:
  explicit FormReader(ValueOfState values) : values_(values) {}

  LogicalResult read(DialectBytecodeReader &reader, Attribute &attribute) {
    uint64_t form = 0;
    if (failed(reader.readVarInt(form)))
      return failure();
    if (form == Form::text)
      return readText(reader, attribute);
    Type type;
    if (failed(read(reader, type)))
      return failure();
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape() || !isCountable(tensor))
      return reader.emitError("expected a tensor of elements, found ") << type;
    if (form == Form::state)
      return readState(reader, tensor, attribute);
    if (form == Form::elements || form == Form::outside)
      return readElements(reader, tensor, form == Form::outside, attribute);
    return reader.emitError("expected a form of attributes, found ") << form;
  }

  LogicalResult read(DialectBytecodeReader &reader, Type &type) {
    return readText(reader, type);
  }

private:
  /// Reads an attribute or a type that is text.
  template <typename Parsed>
  static LogicalResult readText(DialectBytecodeReader &reader, Parsed &parsed) {
    StringRef text;
    if (failed(reader.readString(text)) || !isFlatEnough(text))
      return failure();
    if constexpr (std::is_same_v<Parsed, Type>)
      parsed = parseType(text, reader.getContext());
    else
      parsed = parseAttribute(text, reader.getContext());
    return success(bool(parsed));
  }

  LogicalResult readState(DialectBytecodeReader &reader, RankedTensorType type,
                          Attribute &attribute) const {
    StringRef name;
    if (failed(reader.readString(name)))
      return failure();
    attribute = values_(name, type);
    if (!attribute)
      return reader.emitError("the weights have no values of type ")
             << type << " for state \"" << name << "\"";
    return success();
  }

  static LogicalResult readElements(DialectBytecodeReader &reader,
                                    RankedTensorType type, bool isOutside,
                                    Attribute &attribute) {
    ArrayRef<char> bytes;
    if (failed(reader.readBlob(bytes)))
      return failure();
    Type element = type.getElementType();
    bool isSplat = false, fills = element.isIntOrFloat() &&
                                  element.getIntOrFloatBitWidth() % 8 == 0;
    uint64_t size =
        fills ? type.getNumElements() * (element.getIntOrFloatBitWidth() / 8)
              : 0;
    if (isOutside
            ? !fills || bytes.size() != size
            : !element.isIntOrFloat() ||
                  !DenseElementsAttr::isValidRawBuffer(type, bytes, isSplat))
      return reader.emitError("a tensor ")
             << type << " does not have " << bytes.size() << " bytes";
    attribute = isOutside ? outsideOf(type, bytes)
                          : DenseElementsAttr::getFromRawBuffer(type, bytes);
    return success();
  }

  static ElementsAttr outsideOf(RankedTensorType type, ArrayRef<char> bytes) {
    return DenseResourceElementsAttr::get(
        type, "values",
        HeapAsmResourceBlob::allocateAndCopyWithAlign(bytes, /*align=*/16));
  }

  ValueOfState values_;
};

} // namespace

/// Parses with the reader's errors collected in `errors`.
static OwningOpRef<ModuleOp> parse(ArrayRef<char> bytes, MLIRContext &context,
                                   ValueOfState values, std::string &errors) {
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    errors += (errors.empty() ? "" : "; ") + diagnostic.str();
    return success();
  });
  StringRef text(bytes.data(), bytes.size());
  FormReader forms(values);
  ParserConfig config(&context);
  config.getBytecodeReaderConfig().attachAttributeCallback(
      [&](DialectBytecodeReader &reader, StringRef,
          Attribute &attribute) -> LogicalResult {
        return forms.read(reader, attribute);
      });
  config.getBytecodeReaderConfig().attachTypeCallback(
      [&](DialectBytecodeReader &reader, StringRef,
          Type &type) -> LogicalResult { return forms.read(reader, type); });
  return parseSourceString<ModuleOp>(text, config);
}

static constexpr char kNotWhole[] = "it is not whole MLIR bytecode";

llvm::Expected<OwningOpRef<ModuleOp>> gradus::readProgram(ArrayRef<char> bytes,
                                                          MLIRContext &context,
                                                          ValueOfState values) {
  if (!isSoundBytecode(bytes))
    return llvm::createStringError(kNotWhole);
  std::string errors;
  // The reader ends the process where a count is huge.
  Trial trial = tryInOwnProcess([&] { parse(bytes, context, values, errors); });
  if (trial == Trial::untried)
    return llvm::createStringError(
        std::make_error_code(std::errc::resource_unavailable_try_again),
        "cannot be tried in a process of its own: no process could be started "
        "or waited for");
  if (trial == Trial::died)
    return llvm::createStringError(kNotWhole);
  OwningOpRef<ModuleOp> module = parse(bytes, context, values, errors);
  if (!module)
    return llvm::createStringError(errors.empty() ? kNotWhole : errors);
  if (!llvm::hasSingleElement(module->getOps<ProgramOp>()))
    return llvm::createStringError(
        "the module holds %d programs, expected one",
        static_cast<int>(llvm::range_size(module->getOps<ProgramOp>())));
  return module;
}
