// A call is identified by its text, which tuning files also have.

#include "tool/tune/tuned_calls.h"

#include "runtime/flat.h"
#include "runtime/library_text.h"

#include "absl/strings/str_cat.h"

#include <set>

using namespace gradus::runtime;

namespace gradus::cli {
namespace {

bool hasPlanForGpus(const Artifact &artifact) {
  for (const artifact::Plan *plan : *artifact.header().plans())
    if (countOf(plan->images()))
      return true;
  return false;
}

void addCards(const artifact::LibraryCommand &command,
              std::set<std::string> &cards) {
  for (size_t i = 0; i < countOf(command.choices()); ++i)
    cards.insert(textOf(command.choices()->Get(i)->card()));
}

} // namespace

TunedCount countTuned(const Artifact &artifact) {
  std::map<std::string, std::set<std::string>> calls; // the GPUs of each call
  for (const artifact::Plan *plan : *artifact.header().plans())
    for (size_t g = 0; countOf(plan->images()) && g < countOf(plan->graphs());
         ++g) {
      const auto *commands = plan->graphs()->Get(g)->commands();
      for (size_t c = 0; c < countOf(commands); ++c)
        if (auto *library = commands->Get(c)->kind_as_LibraryCommand())
          addCards(*library, calls[libraryText(*library)]);
    }
  TunedCount count;
  for (const auto &[call, cards] : calls) {
    ++count.calls;
    count.tuned += !cards.empty();
    for (const std::string &card : cards)
      ++count.ofCard[card];
  }
  return count;
}

std::string TunedCount::text() const {
  std::string all;
  for (const auto &[card, count] : ofCard)
    absl::StrAppend(&all, all.empty() ? "" : ", ", count, " of ", calls,
                    all.empty() ? " calls of libraries on " : " on ", card);
  return all.empty()
             ? absl::StrCat("0 of ", calls, " calls of libraries on GPUs")
             : all;
}

std::vector<std::string>
warningsOfUnused(const std::vector<compiler::TunedChoice> &measured,
                 const Artifact &artifact) {
  if (!hasPlanForGpus(artifact))
    return {"is for GPUs, and the artifact has no plan for them; --target cuda "
            "adds it"};
  TunedCount count = countTuned(artifact);
  std::map<std::string, size_t> choices;
  for (const compiler::TunedChoice &choice : measured)
    ++choices[choice.card];
  std::vector<std::string> all;
  for (const auto &[card, known] : choices)
    if (!count.ofCard.contains(card))
      all.push_back(absl::StrCat(
          "none of the ", known, " algorithms for ", card, " is used: ",
          count.calls ? absl::StrCat("the plan's ", count.calls,
                                     " calls of libraries are others")
                      : "the plan calls no library"));
  return all;
}

} // namespace gradus::cli
