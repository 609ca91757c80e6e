// Runs the passes that the recipe's `passes` adds at the end of a stage.
//
// The pipeline has this pass after each of its stages. The entries are read and
// checked before the first stage (check_combinations.cpp); a pass that fails or
// leaves an invalid program is named, because no other verifier runs here.

#include "passes/added_passes.h"

#include "passes/pass_plugin.h"
#include "passes/passes.h"
#include "recipe/nearest.h"

#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

namespace gradus {
#define GEN_PASS_DEF_ADDEDPASSES
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

constexpr StringLiteral kKey = "passes";
/// An attribute of programs: the stages whose added passes have run.
constexpr StringLiteral kDone = "added_passes";

/// An entry `STAGE:PASS`, or what a key of a plug-in stands for.
struct AddedPass {
  explicit AddedPass(const std::string &entry, StringRef key = "")
      : entry(entry), key(key) {
    auto [before, after] = StringRef(this->entry).split(':');
    stage = before.trim().str();
    pipeline = after.trim().str();
  }
  std::string entry, stage, pipeline;
  StringRef key; // of a plug-in; empty: an entry
};

std::vector<AddedPass> addedPasses(ProgramOp program) {
  std::vector<AddedPass> all;
  for (const PluginKey &key : pluginKeys())
    if (key.isOn(program))
      for (const PluginKey::Part &part : key.parts)
        all.emplace_back(part.stage + ":" + part.pass, key.field.key);
  std::vector<std::string> entries;
  recipe::valueOf(program, addedPassesKey()).to(entries);
  for (const std::string &entry : entries)
    all.emplace_back(entry);
  return all;
}

InFlightDiagnostic errorOf(ProgramOp program, const AddedPass &added) {
  if (!added.key.empty())
    return recipe::keyError(program, kPluginsKey + ("." + added.key) + ":");
  return recipe::keyError(program, kKey) << "has \"" << added.entry << "\": ";
}

//===-- what is wrong with an entry ---------------------------------------===//

/// `; did you mean "x"?`, or nothing where none is near.
std::string suggestion(StringRef word, ArrayRef<std::string> known) {
  StringRef meant = nearest(word, known);
  return meant.empty() ? "" : "; did you mean \"" + meant.str() + "\"?";
}

std::string unknownPass(StringRef name) {
  std::vector<std::string> own = pluginPasses(), known = pipelinePasses();
  known.insert(known.end(), own.begin(), own.end());
  return "unknown pass \"" + name.str() + "\"" + suggestion(name, known) +
         (own.empty() ? "; no plug-in was loaded (--plugin FILE.so)"
                      : "; the plug-ins have " + llvm::join(own, ", "));
}

// MLIR's parser (parsePassPipeline) says what is wrong as text on a stream, in
// which an unknown pass looks like a wrong option, and the manager that it
// fills does not tell in which ops passes are nested. So the names are read
// here; the options of a pass are read by MLIR.

/// The parts of a pipeline's text between commas that no brackets enclose.
SmallVector<StringRef> elementsOf(StringRef pipeline) {
  SmallVector<StringRef> elements;
  size_t begin = 0;
  int depth = 0;
  for (auto [at, character] : llvm::enumerate(pipeline)) {
    if (character == '(' || character == '{')
      ++depth;
    else if (character == ')' || character == '}')
      --depth;
    else if (character == ',' && depth == 0) {
      elements.push_back(pipeline.slice(begin, at).trim());
      begin = at + 1;
    }
  }
  elements.push_back(pipeline.substr(begin).trim());
  return elements;
}

/// An element `NAME`, `PASS{OPTIONS}` or `OP(PASSES)`.
struct Element {
  explicit Element(StringRef text) {
    size_t open = text.find_first_of("({");
    name = text.take_front(open).trim();
    StringRef rest = text.substr(open);
    nests = rest.consume_front("(");
    bool hasOptions = rest.consume_front("{");
    isClosed = (!nests || rest.consume_back(")")) &&
               (!hasOptions || rest.consume_back("}"));
    inner = rest;
  }
  StringRef name, inner; // the options, or the passes that an op nests
  bool nests, isClosed;
};

/// Adds a registered pass; returns what is wrong with its options, or nothing.
std::string addPass(OpPassManager &manager, const PassRegistryEntry &entry,
                    StringRef options) {
  std::string said;
  auto note = [&](const Twine &words) {
    said = words.str();
    return failure();
  };
  if (succeeded(entry.addToPipeline(manager, options, note)))
    return "";
  StringRef words = said;
  words.consume_front("<Pass-Options-Parser>: ");
  return said.empty() ? "an option has a value that it does not take"
                      : words.trim().str();
}

/// Fills the manager; returns what is the matter, or nothing.
std::string fill(OpPassManager &manager, StringRef pipeline) {
  for (StringRef text : elementsOf(pipeline)) {
    Element element(text);
    const PassRegistryEntry *entry = PassPipelineInfo::lookup(element.name);
    if (!entry)
      entry = PassInfo::lookup(element.name);
    std::string problem;
    if (!element.isClosed)
      problem =
          ("expected PASS, PASS{OPTIONS} or OP(PASSES), found " + text).str();
    else if (element.nests)
      problem = fill(manager.nest(element.name), element.inner);
    else if (entry)
      problem = addPass(manager, *entry, element.inner);
    else
      problem = unknownPass(element.name);
    if (!problem.empty())
      return problem;
  }
  return "";
}

/// The ops that the text of a pipeline nests passes in, outermost.
SmallVector<StringRef> nestedIn(StringRef pipeline) {
  SmallVector<StringRef> ops;
  for (StringRef text : elementsOf(pipeline))
    if (Element element(text); element.nests)
      ops.push_back(element.name);
  return ops;
}

/// Says what is wrong with where passes are nested: in other ops than graphs
/// there is nothing for them to do.
std::string nestingProblem(OpPassManager &anywhere, StringRef pipeline) {
  StringRef onGraph = GraphOp::getOperationName();
  SmallVector<StringRef> ops = nestedIn(pipeline);
  for (StringRef op : ops)
    if (op != onGraph)
      return ("its passes are nested in " + op +
              "; expected them as they are, or in " + onGraph)
          .str();
  for (Pass &pass : anywhere.getPasses()) {
    bool nests = pass.getArgument().empty(); // What MLIR puts in for nesting.
    if (nests && ops.empty())
      return ("it nests passes in other ops than " + onGraph).str();
    if (pass.getArgument() == "added-passes")
      return "added-passes runs after each stage of its own accord";
  }
  return "";
}

/// The ops that passes are made for; none for those that run on any.
llvm::SetVector<StringRef> anchorsOf(OpPassManager &anywhere) {
  llvm::SetVector<StringRef> anchors;
  for (Pass &pass : anywhere.getPasses())
    if (std::optional<StringRef> name = pass.getOpName())
      anchors.insert(*name);
  return anchors;
}

/// Fills a manager that runs on programs, with passes on graphs nested in it.
/// Of other ops there may be none, and a pass on them would do nothing.
std::string fillForProgram(OpPassManager &manager, const AddedPass &added) {
  OpPassManager anywhere;
  if (std::string problem = fill(anywhere, added.pipeline); !problem.empty())
    return problem;
  if (std::string problem = nestingProblem(anywhere, added.pipeline);
      !problem.empty())
    return problem;
  StringRef onGraph = GraphOp::getOperationName(),
            onProgram = ProgramOp::getOperationName();
  llvm::SetVector<StringRef> anchors = anchorsOf(anywhere);
  if (anchors.size() > 1)
    return "its passes run on " + llvm::join(anchors, " and ") +
           "; add them one by one";
  StringRef anchor = anchors.empty() ? onProgram : anchors.front();
  if (anchor == onGraph)
    return fill(manager, (onGraph + "(" + added.pipeline + ")").str());
  if (anchor == onProgram)
    return fill(manager, added.pipeline);
  return ("it runs on " + anchor + ", expected " + onProgram + ", " + onGraph +
          " or any op")
      .str();
}

std::string problemOf(const AddedPass &added) {
  if (added.pipeline.empty())
    return "expected STAGE:PASS, such as methods:canonicalize";
  if (!llvm::is_contained(trainingStages(), added.stage))
    return unknownStage(added.stage, trainingStages());
  OpPassManager manager(ProgramOp::getOperationName());
  return fillForProgram(manager, added);
}

//===-- the pass ----------------------------------------------------------===//

struct AddedPassesPass : impl::AddedPassesBase<AddedPassesPass> {
  using Base::Base;

  void runOnOperation() override {
    if (isDone())
      return;
    bool ran = false;
    for (const AddedPass &added : addedPasses(getOperation()))
      if (added.stage == stage.getValue()) {
        if (failed(run(added)))
          return signalPassFailure();
        ran = true;
      }
    if (ran)
      markDone();
  }

  LogicalResult run(const AddedPass &added) {
    ProgramOp program = getOperation();
    OpPassManager manager(ProgramOp::getOperationName());
    if (std::string problem = fillForProgram(manager, added); !problem.empty())
      return errorOf(program, added) << problem;
    loadDialects(manager);
    OperationFingerPrint before(program);
    if (failed(runPipeline(manager, program)))
      return errorOf(program, added) << "the pass failed";
    if (failed(verify(program)))
      return errorOf(program, added) << "the pass left an invalid program";
    if (OperationFingerPrint(program) == before)
      warnOfNoChange(added);
    return success();
  }

  /// Where it looks for what another stage makes, it finds nothing.
  void warnOfNoChange(const AddedPass &added) {
    mlir::emitWarning(UnknownLoc::get(&getContext()))
        << "the pass " << added.entry << " changed nothing; does stage "
        << added.stage << " have what it looks for (docs/add_a_pass.md)?"
        << keyThatIsOff(added);
  }

  /// A pass that has a key reads its settings there.
  std::string keyThatIsOff(const AddedPass &added) {
    StringRef name = StringRef(added.pipeline).split('{').first;
    for (const PluginKey &key : pluginKeys())
      if (key.switches(name) && !key.isOn(getOperation()))
        return (" The recipe does not have its key " + Twine(kPluginsKey) +
                "." + StringRef(key.field.key))
            .str();
    return "";
  }

  /// Known only now, so the pipeline could not ask for them.
  void loadDialects(OpPassManager &manager) {
    DialectRegistry needed;
    manager.getDependentDialects(needed);
    getContext().appendDialectRegistry(needed);
    for (StringRef name : needed.getDialectNames())
      getContext().getOrLoadDialect(name);
  }

  //===-- stages whose passes ran -----------------------------------------===//

  SmallVector<Attribute> done() {
    auto list = getOperation()->getAttrOfType<ArrayAttr>(kDone);
    return list ? SmallVector<Attribute>(list.getValue())
                : SmallVector<Attribute>();
  }
  Attribute own() { return StringAttr::get(&getContext(), stage.getValue()); }
  bool isDone() { return llvm::is_contained(done(), own()); }
  void markDone() {
    SmallVector<Attribute> stages = done();
    stages.push_back(own());
    getOperation()->setAttr(kDone, ArrayAttr::get(&getContext(), stages));
  }
};

} // namespace
} // namespace gradus

mlir::LogicalResult gradus::checkAddedPasses(ProgramOp program) {
  bool isWrong = false;
  for (const AddedPass &added : addedPasses(program))
    if (std::string problem = problemOf(added); !problem.empty()) {
      errorOf(program, added) << problem;
      isWrong = true;
    }
  return mlir::failure(isWrong);
}

const gradus::recipe::Field &gradus::addedPassesKey() {
  using enum recipe::Kind;
  static const recipe::Field key =
      recipe::Field{kKey, list, "null",
                    "passes to run at the end of stages, as STAGE:PASS: those "
                    "of plug-ins (--plugin), such as "
                    "methods:sign-descent"}
          .of(recipe::Fields{recipe::Field{"", text, "\"\"", "STAGE:PASS"}});
  return key;
}
