// Training methods as flags; see method_flags.h.

#include "frontends/cli/method_flags.h"

#include "frontends/cli/failure.h"

#include "absl/strings/str_replace.h"

namespace gradus::cli {
namespace {

struct MethodFlag {
  const char *name, *help;
};

constexpr MethodFlag kFlags[] = {
    {"--less-bn", "Take batch normalizations out of blocks that have several"},
    {"--fc-to-fn", "Normalize inputs and weights of the last dense layer"},
    {"--gradient-centralization",
     "Give the gradients of weights zero mean for each output"},
    {"--gradient-freeze",
     "Let a part of the steps train the last layers alone"}};

std::string underscored(const std::string &words) {
  return absl::StrReplaceAll(words, {{"-", "_"}});
}

/// Splits at commas outside of brackets and quotes.
std::vector<std::string> settingsIn(const std::string &value) {
  std::vector<std::string> parts(1);
  int depth = 0;
  bool isQuoted = false;
  for (char c : value) {
    isQuoted ^= c == '"';
    if (!isQuoted)
      depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    if (c == ',' && depth == 0 && !isQuoted)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// Parses "true", or `key=value,key=value`.
void addSettings(Settings &settings, const std::string &flag,
                 const std::string &value) {
  std::string key = underscored(flag.substr(2));
  if (flag == "--boost" || value == "true" || value == "false") {
    std::string origin = flag == "--boost" ? flag + " " + value : flag;
    settings.emplace_back(key + "=" + value, origin);
    return;
  }
  for (const std::string &setting : settingsIn(value)) {
    size_t equals = setting.find('=');
    if (equals == 0 || equals == setting.npos)
      throw badInput(flag, "=", value,
                     ": expected KEY=VALUE, and more of them behind commas");
    settings.emplace_back(key + "." + underscored(setting.substr(0, equals)) +
                              setting.substr(equals),
                          flag + "=" + value);
  }
}

} // namespace

void addMethodFlags(CLI::App &command, MethodFlags &flags) {
  command.add_option("--boost", flags["--boost"],
                     "MindSpore's AutoBoost level: O0, O1 or O2");
  for (const MethodFlag &flag : kFlags)
    command.add_flag(flag.name, flags[flag.name],
                     std::string(flag.help) + "; =KEY=VALUE,... sets its keys");
}

Settings settingsOf(const MethodFlags &flags) {
  Settings settings;
  for (const auto &[flag, value] : flags)
    if (!value.empty())
      addSettings(settings, flag, value);
  return settings;
}

} // namespace gradus::cli
