// Arguments that set keys; see key_arguments.h.

#include "frontends/recipe/key_arguments.h"

#include "messages/message.h"
#include "recipe/settings.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace mlir;

namespace gradus::recipe {
namespace {

/// Whether these are options of the pass, as gradus-opt writes them.
bool arePassOptions(StringRef pass, StringRef options) {
  OpPassManager anywhere;
  std::string text = (pass + "{" + options + "}").str();
  return succeeded(parsePassPipeline(text, anywhere, llvm::nulls()));
}

} // namespace

KeyArguments::KeyArguments(const std::vector<char *> &arguments) {
  for (size_t at = 0; at < arguments.size();)
    at += readAt(arguments, at);
}

/// Reads the argument there, and returns how many words it has.
size_t KeyArguments::readAt(const std::vector<char *> &arguments, size_t at) {
  StringRef word = arguments[at];
  auto [option, value] = word.split('=');
  bool hasValue = word.contains('=');
  std::string name = option.ltrim('-').str();
  auto flag = std::ranges::find(flags_, "--" + name, &Flag::name);
  bool isFlag = option.starts_with("-") && flag != flags_.end();
  bool isSet = option.starts_with("-") && name == "set";
  bool isPass = PassInfo::lookup(name) != nullptr;
  if (option.starts_with("-"))
    notePass(name, value);
  if ((!isFlag && !isSet) ||
      (isPass && (!hasValue || arePassOptions(name, value)))) {
    others.push_back(arguments[at]);
    return 1;
  }
  size_t words = 1;
  if (!hasValue && (isSet || !flag->form.empty()) && at + 1 < arguments.size())
    value = arguments[at + words++];
  else if (!hasValue && isFlag && flag->form.empty())
    value = "true";
  if (isSet) {
    settings.emplace_back(value.str());
    return words;
  }
  auto read = settingsOf(flag->name, value.str());
  if (!read.ok())
    problem = std::string(read.status().message());
  else
    settings.insert(settings.end(), read->begin(), read->end());
  if (isPass)
    others.push_back(made_.emplace_back(flag->name).data());
  return words;
}

/// Notes the method of a pass; of one with several keys the one that its
/// options name, or the first.
void KeyArguments::notePass(const std::string &name, StringRef options) {
  std::optional<Switch> found;
  for (const Switch &each : switches()) {
    bool isNamed = llvm::is_contained(llvm::split(options, ' '),
                                      message("key=", each.field->key));
    if (each.pass == name && (!found || isNamed))
      found = each;
  }
  bool isNoted =
      !found || std::ranges::any_of(methods_, [&](const Method &known) {
        return known.its.path == found->path;
      });
  if (!isNoted)
    methods_.push_back({*found});
}

void KeyArguments::see(ProgramOp program) {
  for (Method &method : methods_) {
    method.isSeen = true;
    method.isOn |=
        !valueOf(program, *method.its.field, method.its.object).isNull();
  }
}

std::string KeyArguments::offPasses() const {
  std::string lines;
  for (const auto &[its, isSeen, isOn] : methods_)
    if (isSeen && !isOn)
      lines += message("gradus-opt: warning: --", its.pass,
                       " runs the pass, and no recipe has its key; --set ",
                       its.path, "=... would\n");
  return lines;
}

std::string KeyArguments::help() {
  std::string text = "\nKeys of the recipe, set before the first pass:\n\n"
                     "  --set KEY=VALUE\n";
  for (const Flag &flag : flags())
    text += message("  ", flag.name, flag.form.empty() ? "" : "=", flag.form,
                    "\n      ", flag.help, "\n");
  return text +
         "  A flag with the name of a pass runs the pass, too; alone, it "
         "sets no key.\n";
}

} // namespace gradus::recipe
