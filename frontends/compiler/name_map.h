// Maps names of tensors in a file to names of a model: --init-map FROM=TO for a
// trained file, --weights-map for the weights to compile with. The tool
// compiles this file, too: its `train` runs without the compiler.

#pragma once

#include "absl/status/statusor.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gradus::compiler {

/// Rules such as "encoder.*=backbone.*", "head.*=" (left out), "w=weight", or
/// "FILE.json" with many. A pattern has at most one `*`, which matches any
/// text, repeated on the second side. Copies share the rules.
class NameMap {
public:
  /// Reads the rules; a mistake is told with the option's name.
  static absl::StatusOr<NameMap> of(const std::string &option,
                                    const std::vector<std::string> &texts);

  /// Maps a name by the first rule that matches; "" if it leaves the name out.
  /// Other names stay.
  std::string operator()(const std::string &name) const;

  /// The new name of each tensor of a file; "" for one that is left out, or
  /// whose name another tensor gets by a rule. It is an error to give two
  /// tensors one name.
  absl::StatusOr<std::vector<std::string>>
  newNames(const std::vector<std::string> &names) const;

  /// Refuses the first rule that matches none of the names `from`, of `file`,
  /// and names similar ones.
  absl::Status checkFits(const std::string &file,
                         const std::vector<std::string> &from) const;

  /// Refuses the first rule that only makes names that are not among `to`.
  absl::Status checkKnown(const std::vector<std::string> &from,
                          const std::vector<std::string> &to) const;

private:
  struct Rules;
  explicit NameMap(std::shared_ptr<const Rules> rules)
      : rules_(std::move(rules)) {}
  std::shared_ptr<const Rules> rules_;
};

/// Whether one of the texts is the path of a file of rules.
bool isRuleFile(const std::string &text);

} // namespace gradus::compiler
