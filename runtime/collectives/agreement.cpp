// Texts between rank 0 and the others, and the comparison of facts.

#include "runtime/collectives/agreement.h"

#include <algorithm>
#include <cstring>

namespace gradus::runtime {

namespace {

//===-- texts between two ranks -------------------------------------------===//

/// A text is sent in pieces, behind its length.
constexpr uint64_t kMostText = uint64_t{1} << 32;
constexpr size_t kPiece = size_t{1} << 20;

Status sendBytes(Liveness &group, int to, std::span<const uint8_t> bytes) {
  GRADUS_ASSIGN(Transfer transfer, group.communicator().send(to, bytes));
  return group.wait(transfer, to);
}

Status receiveBytes(Liveness &group, int from, std::span<uint8_t> bytes) {
  GRADUS_ASSIGN(Transfer transfer, group.communicator().receive(from, bytes));
  return group.wait(transfer, from);
}

Status sendText(Liveness &group, int to, std::string_view text) {
  uint64_t size = text.size();
  uint8_t head[sizeof(size)];
  std::memcpy(head, &size, sizeof(size));
  GRADUS_TRY(sendBytes(group, to, head));
  for (size_t sent = 0; sent < size; sent += kPiece)
    GRADUS_TRY(sendBytes(group, to,
                         {reinterpret_cast<const uint8_t *>(text.data()) + sent,
                          std::min<size_t>(kPiece, size - sent)}));
  return {};
}

Status receiveText(Liveness &group, int from, std::string &text) {
  uint64_t size = 0;
  uint8_t head[sizeof(size)];
  GRADUS_TRY(receiveBytes(group, from, head));
  std::memcpy(&size, head, sizeof(size));
  if (size > kMostText)
    return failed("rank ", from, " announced a text of ", size, " bytes");
  text.resize(size);
  for (size_t there = 0; there < size; there += kPiece)
    GRADUS_TRY(receiveBytes(group, from,
                            {reinterpret_cast<uint8_t *>(text.data()) + there,
                             std::min<size_t>(kPiece, size - there)}));
  return {};
}

//===-- facts -------------------------------------------------------------===//

/// Facts as one text: each name and value behind its length.
std::string asText(const Facts &facts) {
  std::string text;
  for (const auto &[name, value] : facts)
    append(text, name.size(), " ", name, value.size(), " ", value);
  return text;
}

std::string nextWord(std::string_view &text) {
  size_t size = 0;
  while (!text.empty() && text[0] != ' ') {
    size = size * 10 + static_cast<size_t>(text[0] - '0');
    text.remove_prefix(1);
  }
  text.remove_prefix(std::min<size_t>(1, text.size()));
  std::string word(text.substr(0, size));
  text.remove_prefix(word.size());
  return word;
}

Facts factsOf(std::string_view text) {
  Facts facts;
  while (!text.empty()) {
    std::string name = nextWord(text);
    facts.emplace_back(name, nextWord(text));
  }
  return facts;
}

const std::string *find(const Facts &facts, const std::string &name) {
  auto found = std::find_if(facts.begin(), facts.end(), [&](const auto &fact) {
    return fact.first == name;
  });
  return found == facts.end() ? nullptr : &found->second;
}

/// The names of two lists: those of the first, then what the second adds.
std::vector<std::string> namesOf(const Facts &first, const Facts &second) {
  std::vector<std::string> names;
  for (const auto &[name, value] : first)
    names.push_back(name);
  for (const auto &[name, value] : second)
    if (!find(first, name))
      names.push_back(name);
  return names;
}

/// The first difference between the facts of rank 0 and of another, and how
/// many more there are; empty if they are equal.
std::string difference(const Facts &zero, const Facts &other,
                       const std::string &zeroName,
                       const std::string &otherName) {
  std::string words;
  int more = 0;
  for (const std::string &name : namesOf(zero, other)) {
    const std::string *here = find(zero, name), *there = find(other, name);
    if (here && there && *here == *there)
      continue;
    if (words.empty())
      words =
          inWords(name, " is ", here ? *here : "not known", " on ", zeroName,
                  ", and ", there ? *there : "not known", " on ", otherName);
    else
      ++more;
  }
  if (more)
    append(words, " (", more,
           more == 1 ? " more fact differs" : " more facts differ", ")");
  return words;
}

//===-- failures ----------------------------------------------------------===//

/// A failure as one text, and back; success is empty.
std::string asText(const Status &status) {
  if (status.ok())
    return "";
  return inWords(static_cast<int>(status.code()), " ", status.message());
}

Status statusOf(std::string_view text) {
  if (text.size() < 2)
    return {};
  return {static_cast<StatusCode>(text[0] - '0'), std::string(text.substr(2))};
}

std::string named(const CommunicationThread &thread, size_t rank) {
  return inWords("rank ", rank, " (", thread.host(static_cast<int>(rank)), ")");
}

} // namespace

StatusOr<std::vector<std::string>> atRankZero(CommunicationThread &thread,
                                              std::string_view own) {
  std::vector<std::string> texts;
  GRADUS_TRY(thread.run([&](Liveness &group) -> Status {
    if (thread.rank() != 0)
      return sendText(group, 0, own);
    texts.resize(static_cast<size_t>(thread.ranks()));
    texts[0] = own;
    for (int rank = 1; rank < thread.ranks(); ++rank)
      GRADUS_TRY(receiveText(group, rank, texts[static_cast<size_t>(rank)]));
    return {};
  }));
  return texts;
}

StatusOr<std::string> fromRankZero(CommunicationThread &thread,
                                   std::string text) {
  GRADUS_TRY(thread.run([&](Liveness &group) -> Status {
    if (thread.rank() != 0)
      return receiveText(group, 0, text);
    for (int rank = 1; rank < thread.ranks(); ++rank)
      GRADUS_TRY(sendText(group, rank, text));
    return {};
  }));
  return text;
}

Status settle(CommunicationThread &thread, Status &found) {
  GRADUS_ASSIGN(std::vector<std::string> texts,
                atRankZero(thread, asText(found)));
  std::string verdict;
  for (size_t rank = 0; rank < texts.size() && verdict.empty(); ++rank)
    verdict = asText(at(statusOf(texts[rank]), named(thread, rank)));
  GRADUS_ASSIGN(verdict, fromRankZero(thread, std::move(verdict)));
  found = statusOf(verdict);
  return {};
}

Status agree(CommunicationThread &thread, const Facts &facts) {
  GRADUS_ASSIGN(std::vector<std::string> texts,
                atRankZero(thread, asText(facts)));
  std::string verdict;
  for (size_t rank = 1; rank < texts.size() && verdict.empty(); ++rank)
    verdict = difference(facts, factsOf(texts[rank]), named(thread, 0),
                         named(thread, rank));
  GRADUS_ASSIGN(verdict, fromRankZero(thread, std::move(verdict)));
  return verdict.empty() ? Status() : invalid(verdict);
}

} // namespace gradus::runtime
