// Names of tensors in a file as names of a model: --init-map FROM=TO of a
// trained file, --weights-map of the weights to compile with.

#pragma once

#include "frontends/cli/output_files.h"

#include <memory>
#include <string>
#include <vector>

namespace gradus::cli {

/// Rules "encoder.*=backbone.*", "head.*=" (left out), "w=weight", "FILE.json"
/// of many. A pattern has at most one `*`, any text, which the second side
/// repeats. Copies share the rules.
class NameMap {
public:
  /// Reads the rules; a mistake is a Failure that names the option.
  NameMap(const std::string &option, const std::vector<std::string> &texts);

  /// By the first rule that fits; "" where it leaves out. Names that none fits
  /// stay.
  std::string operator()(const std::string &name) const;

  /// A Failure that names the first rule that fits none of the names `from`, of
  /// `file`, and what is near.
  void checkFits(const std::string &file,
                 const std::vector<std::string> &from) const;

  /// The same of the first that gives only names that are not among `to`.
  void checkKnown(const std::vector<std::string> &from,
                  const std::vector<std::string> &to) const;

private:
  struct Rules;
  std::shared_ptr<const Rules> rules_;
};

/// Those of the texts that are files.
std::vector<UsedFile> ruleFiles(const std::string &option,
                                const std::vector<std::string> &texts);

} // namespace gradus::cli
