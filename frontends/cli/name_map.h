// Names of tensors in a file as names of a model: --init-map FROM=TO of a
// trained file, --weights-map of the weights to compile with.

#pragma once

#include "runtime/session.h"

#include <string>
#include <vector>

namespace gradus::cli {

/// "encoder.*=backbone.*", "head.*=" (left out), "w=weight", "FILE.json" of
/// many. A pattern has at most one `*`, any text, which TO repeats.
struct NameRules {
  std::string option; // that gave them, for errors
  std::vector<std::string> texts;
};

/// Those of the texts that are files.
std::vector<std::string> ruleFiles(const NameRules &rules);

/// The first rule that fits counts; names that none fits stay. A mistake is a
/// Failure.
runtime::Rename nameMap(const NameRules &rules);

/// A Failure that names the first rule that fits none of the names `from`, of
/// `file`, and what is near.
void checkRulesFit(const NameRules &rules, const std::string &file,
                   const std::vector<std::string> &from);

/// The same of the first that gives only names that are not among `to`.
void checkNamesKnown(const NameRules &rules,
                     const std::vector<std::string> &from,
                     const std::vector<std::string> &to);

} // namespace gradus::cli
