// Recognizes statistics by their role in a normalization, or by the names that
// PyTorch's normalizations give them.

#include "frontends/onnx/importer/trained_statistics.h"

#include "frontends/onnx/importer/importer.h"
#include "messages/message.h"
#include "recipe/patterns.h"

#include "llvm/ADT/SetVector.h"

namespace gradus::onnx {
namespace {

using namespace mlir;
using llvm::StringRef;
using Names = llvm::SetVector<StringRef>;

constexpr StringRef kStatistics[] = {"running_mean", "running_var"};

class Search {
public:
  Search(ProgramOp program, GraphOp graph) {
    for (StateOp state : program.getOps<StateOp>())
      if (state.getRole() == Role::parameter)
        parameters.insert(state.getSymName());
    for (StringRef name : parameters)
      if (llvm::any_of(kStatistics,
                       [&](StringRef end) { return name.ends_with(end); }))
        found.insert(name);
    graph.walk([&](BatchNormOp norm) {
      for (Value statistic : {norm.getMean(), norm.getVariance()})
        addSourcesOf(statistic);
    });
  }

  Names parameters, found;

private:
  /// Adds the parameters from which a value is computed, unless it also depends
  /// on inputs of the model.
  void addSourcesOf(Value statistic) {
    llvm::SetVector<Value> behind;
    behind.insert(statistic);
    Names sources;
    for (size_t i = 0; i < behind.size(); ++i) {
      Operation *maker = behind[i].getDefiningOp();
      if (!maker)
        return;
      auto read = dyn_cast<ReadOp>(maker);
      if (read && parameters.contains(read.getState()))
        sources.insert(read.getState());
      behind.insert_range(maker->getOperands());
    }
    found.insert_range(sources);
  }
};

/// Writes the patterns as a list in the recipe.
std::string listed(ArrayRef<std::string> patterns) {
  std::vector<std::string> texts;
  for (const std::string &pattern : patterns)
    texts.push_back("\"" + pattern + "\"");
  return message("\"fixed\": [", joined(texts), "]");
}

/// Turns `layer1.0.bn1.` into `layer*.*.bn*.`.
std::string withoutNumbers(StringRef text) {
  std::string pattern;
  for (char each : text)
    if (!llvm::isDigit(each))
      pattern += each;
    else if (pattern.empty() || pattern.back() != '*')
      pattern += '*';
  return pattern;
}

/// Finds modules with both statistics and other parameters; returns their name
/// prefixes.
Names wholeModules(const Search &search) {
  Names modules;
  for (StringRef name : search.found)
    for (StringRef end : kStatistics) {
      StringRef module = name;
      if (module.consume_back(end) && module.ends_with(".") &&
          search.parameters.contains((module + "weight").str()))
        modules.insert(module);
    }
  return modules;
}

/// Patterns that match all members of the modules and nothing else; one pattern
/// for several modules whose names differ only in numbers.
std::vector<std::string> patternsOf(const Names &modules,
                                    const Names &parameters) {
  auto isOfModules = [&](StringRef name) {
    return llvm::any_of(
        modules, [&](StringRef module) { return name.starts_with(module); });
  };
  std::vector<std::string> patterns;
  for (StringRef module : modules) {
    std::string wide = withoutNumbers(module) + "*";
    bool isTooWide = llvm::any_of(parameters, [&](StringRef name) {
      return matchesPattern(wide, name) && !isOfModules(name);
    });
    std::string pattern = isTooWide ? module.str() + "*" : wide;
    if (!llvm::is_contained(patterns, pattern))
      patterns.push_back(pattern);
  }
  return patterns;
}

/// One pattern for each of PyTorch's names of statistics, and each other name
/// itself.
std::vector<std::string> patternsOf(const Names &statistics) {
  std::vector<std::string> patterns;
  for (StringRef name : statistics) {
    std::string pattern = name.str();
    for (StringRef end : kStatistics)
      if (name.ends_with(end))
        pattern = ("*" + end).str();
    if (!llvm::is_contained(patterns, pattern))
      patterns.push_back(pattern);
  }
  return patterns;
}

} // namespace

std::string trainedStatistics(ProgramOp program, GraphOp graph,
                              ArrayRef<std::string> fixed) {
  Search search(program, graph);
  if (search.found.empty())
    return "";
  auto line = [&](const std::vector<std::string> &patterns) {
    std::vector<std::string> all(fixed);
    all.insert(all.end(), patterns.begin(), patterns.end());
    return listed(all);
  };
  std::vector<std::string> names;
  for (StringRef name : search.found)
    names.push_back("\"" + name.str() + "\"");
  std::string words = message(
      names.size(),
      names.size() == 1 ? " parameter stands" : " parameters stand",
      " for the mean or variance of a normalization (", few(names),
      ") and would be trained; to keep ",
      names.size() == 1 ? "it: " : "them: ", line(patternsOf(search.found)));
  Names modules = wholeModules(search);
  if (modules.empty())
    return words;
  return message(words,
                 ", or with scale and bias, as those of a frozen batch "
                 "normalization are: ",
                 line(patternsOf(modules, search.parameters)));
}

} // namespace gradus::onnx
