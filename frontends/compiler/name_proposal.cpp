// Each tensor of the file votes for the pairs of beginnings that would make its
// name one of the model; the pair with the most votes is a rule.

#include "frontends/compiler/name_proposal.h"

#include "messages/shell_word.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace gradus::compiler {
namespace {

/// The number of name parts ("a.b.") that a rule may replace, and of rules that
/// are proposed. More differences mean another model.
constexpr int kMostParts = 3;
constexpr size_t kMostRules = 3;

/// Splits a name into a prefix ("", "a.", "a.b.") and the rest, in each way.
std::vector<std::pair<std::string, std::string>>
cutsOf(const std::string &name) {
  std::vector<std::pair<std::string, std::string>> cuts = {{"", name}};
  size_t at = 0;
  for (int part = 0; part < kMostParts; ++part) {
    at = name.find('.', at);
    if (at == std::string::npos)
      break;
    ++at;
    cuts.emplace_back(name.substr(0, at), name.substr(at));
  }
  return cuts;
}

/// The common end of two names and the shape: perhaps the same tensor.
using Rest = std::pair<std::string, std::vector<int64_t>>;

/// A prefix in the file and its replacement in the model.
using Rule = std::pair<std::string, std::string>;

class Proposal {
public:
  Proposal(const std::vector<NamedShape> &file,
           const std::vector<NamedShape> &model, std::set<std::string> placed)
      : placed_(std::move(placed)) {
    std::set<std::string> names;
    for (const NamedShape &tensor : file)
      names.insert(tensor.name);
    std::set<std::string> known;
    for (const NamedShape &tensor : model) {
      known.insert(tensor.name);
      if (!names.contains(tensor.name))
        for (auto &[begin, rest] : cutsOf(tensor.name))
          model_[{rest, tensor.shape}].push_back(begin);
    }
    for (const NamedShape &tensor : file)
      if (known.contains(tensor.name))
        placed_.insert(tensor.name);
      else
        left_.push_back(tensor);
  }

  /// Adds the rule that names the most tensors; returns false if there is none.
  bool add() {
    std::map<Rule, size_t> votes;
    for (const NamedShape &tensor : left_)
      for (const Rule &rule : rulesFor(tensor))
        ++votes[rule];
    // The shortest of equal rules has no part that both names share.
    auto best = std::max_element(
        votes.begin(), votes.end(), [](const auto &one, const auto &other) {
          auto size = [](const Rule &rule) {
            return rule.first.size() + rule.second.size();
          };
          return std::make_pair(one.second, size(other.first)) <
                 std::make_pair(other.second, size(one.first));
        });
    if (best == votes.end())
      return false;
    fits_ += best->second;
    rules_.push_back(best->first);
    std::erase_if(left_, [&](const NamedShape &tensor) {
      return tensor.name.starts_with(best->first.first);
    });
    return true;
  }

  NameProposal result() {
    // The first matching rule counts, so longer prefixes come first.
    std::sort(rules_.begin(), rules_.end(),
              [](const Rule &one, const Rule &other) {
                return std::make_pair(other.first.size(), one) <
                       std::make_pair(one.first.size(), other);
              });
    NameProposal proposal;
    for (const auto &[from, to] : rules_)
      proposal.rules.push_back(absl::StrCat(from, "*=", to, "*"));
    proposal.fits = fits_;
    return proposal;
  }

private:
  /// Whether a rule for this prefix would rename a tensor that already fits.
  bool isPlaced(const std::string &begin) const {
    auto name = placed_.lower_bound(begin);
    return name != placed_.end() && name->starts_with(begin);
  }

  std::vector<Rule> rulesFor(const NamedShape &tensor) const {
    std::vector<Rule> rules;
    for (auto &[begin, rest] : cutsOf(tensor.name))
      if (auto found = model_.find({rest, tensor.shape});
          found != model_.end() && !isPlaced(begin))
        for (const std::string &other : found->second)
          rules.emplace_back(begin, other);
    return rules;
  }

  std::map<Rest, std::vector<std::string>>
      model_;                    // prefixes by the rest of the name
  std::set<std::string> placed_; // names in the file that the model has, too
  std::vector<NamedShape> left_; // tensors of the file that fit no name yet
  std::vector<Rule> rules_;
  size_t fits_ = 0;
};

} // namespace

NameProposal proposeNames(const std::vector<NamedShape> &file,
                          const std::vector<NamedShape> &model,
                          std::set<std::string> placed) {
  Proposal proposal(file, model, std::move(placed));
  for (size_t rules = 0; rules < kMostRules && proposal.add(); ++rules)
    ;
  return proposal.result();
}

std::string mapOptions(const std::string &option,
                       const std::vector<std::string> &rules) {
  std::string text;
  for (const std::string &rule : rules)
    absl::StrAppend(&text, text.empty() ? "" : " ", option, " ",
                    quotedForShell(rule));
  return text;
}

std::string adviceOf(const NameProposal &proposal, const std::string &option) {
  if (proposal.rules.empty())
    return "";
  return absl::StrCat(mapOptions(option, proposal.rules), " names ",
                      proposal.fits, " of its tensors as the model does");
}

} // namespace gradus::compiler
