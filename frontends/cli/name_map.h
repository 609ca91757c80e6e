// Names of tensors in a file as names of an artifact: --init-map FROM=TO.

#pragma once

#include "runtime/session.h"

#include <string>
#include <vector>

namespace gradus::cli {

/// Of "encoder.*=backbone.*", "head.*=" (left out), "w=weight". A pattern has
/// at most one `*`, any text, which TO repeats. The first that fits counts;
/// names that none fits stay. A mistake is a Failure.
runtime::Rename nameMap(const std::vector<std::string> &rules);

/// A Failure that names the first rule that fits none of the names `from`, of
/// `file`, or gives only names that are not among `to`, and what is near.
void checkNameMap(const std::vector<std::string> &rules,
                  const std::string &file, const std::vector<std::string> &from,
                  const std::vector<std::string> &to);

} // namespace gradus::cli
