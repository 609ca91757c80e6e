// Checks that the sums over ranks of a graph begin and end in pairs.
//
// A rank that began a sum twice, or waited for one that no rank begins, would
// wait for ever.

#include "runtime/artifact/verify.h"

#include "runtime/flat.h"

#include <algorithm>

namespace gradus::runtime {

namespace {

using Starts = std::vector<const artifact::StartCommand *>;

Status verifyFinish(const artifact::FinishCommand &finish, size_t number,
                    const Starts &begun) {
  if (finish.number() != number)
    return invalid("waits for sum ", finish.number(), ", expected ", number);
  if (number >= begun.size())
    return invalid("waits for sum ", number, ", which has not begun");
  const auto *sums = begun[number]->buffers(), *ended = finish.buffers();
  bool same = countOf(sums) == countOf(ended);
  for (size_t i = 0; same && i < countOf(sums); ++i)
    same = sums->Get(i) == ended->Get(i);
  if (!same)
    return invalid("waits for other buffers than sum ", number, " has");
  return Status();
}

} // namespace

Status verifySums(const artifact::GraphPlan &graph) {
  Starts begun;
  size_t ended = 0;
  for (size_t i = 0; i < countOf(graph.commands()); ++i) {
    const artifact::Command *command = graph.commands()->Get(i);
    Status status;
    if (const auto *start = command->kind_as_StartCommand()) {
      if (start->number() != begun.size())
        status = invalid("begins sum ", start->number(), ", expected ",
                         begun.size());
      begun.push_back(start);
    } else if (const auto *finish = command->kind_as_FinishCommand()) {
      status = verifyFinish(*finish, ended++, begun);
    }
    GRADUS_TRY(at(status, "command ", i, " (", textOf(command->name()), ")"));
  }
  if (ended != begun.size())
    return invalid("begins ", begun.size(), " sums over ranks and waits for ",
                   ended);
  return Status();
}

} // namespace gradus::runtime
