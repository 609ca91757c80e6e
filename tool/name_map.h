// Maps names of tensors in a file to names of a model: --init-map FROM=TO for a
// trained file, --weights-map for the weights to compile with.

#pragma once

#include "tool/output_files.h"

#include <memory>
#include <string>
#include <vector>

namespace gradus::cli {

/// Rules such as "encoder.*=backbone.*", "head.*=" (left out), "w=weight", or
/// "FILE.json" with many. A pattern has at most one `*`, which matches any
/// text, repeated on the second side. Copies share the rules.
class NameMap {
public:
  /// Reads the rules; a mistake is a Failure that names the option.
  NameMap(const std::string &option, const std::vector<std::string> &texts);

  /// Maps a name by the first rule that matches; "" if it leaves the name out.
  /// Other names stay.
  std::string operator()(const std::string &name) const;

  /// Throws a Failure that names the first rule that matches none of the names
  /// `from`, of `file`, and similar names.
  void checkFits(const std::string &file,
                 const std::vector<std::string> &from) const;

  /// Throws a Failure for the first rule that only makes names that are not
  /// among `to`.
  void checkKnown(const std::vector<std::string> &from,
                  const std::vector<std::string> &to) const;

private:
  struct Rules;
  std::shared_ptr<const Rules> rules_;
};

/// The texts that are files.
std::vector<UsedFile> ruleFiles(const std::string &option,
                                const std::vector<std::string> &texts);

} // namespace gradus::cli
