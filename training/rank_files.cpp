// Files of a save are removed when the next one has been settled: a checkpoint
// that is not written yet must not lose those of the one before.

#include "training/rank_files.h"

#include "messages/json_text.h"
#include "runtime/artifact_hash.h"
#include "runtime/collectives/agreement.h"
#include "runtime/file.h"
#include "runtime/safetensors.h"
#include "runtime/session/session_facts.h"

#include "absl/strings/str_cat.h"

#include <utility>

using namespace gradus::runtime;

namespace gradus::training {

namespace {

/// The metadata of a checkpoint that names the files.
constexpr const char *kNote = "rank_files";

std::string fileOf(const std::string &checkpoint, int64_t step, int rank,
                   int ranks) {
  return siblingPath(checkpoint,
                     absl::StrCat("step", step, ".rank", rank, "of", ranks));
}

/// The states that a rank has of its own.
StatusOr<std::vector<NamedTensor>> ownStates(const Session &session) {
  std::vector<NamedTensor> own;
  for (size_t i = 0; i < session.states().size(); ++i) {
    const StateInfo &state = session.states()[i];
    if (!isSaved(state) || !state.isPerRank)
      continue;
    GRADUS_ASSIGN(std::span<const uint8_t> value,
                  session.stateBytes(static_cast<int>(i)));
    own.push_back({state.name, state.type, value});
  }
  return own;
}

/// The hash of the hashes of values, in decimal digits.
std::string hashOf(const std::vector<NamedTensor> &states) {
  std::string hashes;
  for (const NamedTensor &state : states)
    absl::StrAppend(&hashes,
                    artifact::hashBytes(state.data.data(), state.data.size()),
                    ",");
  return std::to_string(artifact::hashBytes(
      reinterpret_cast<const uint8_t *>(hashes.data()), hashes.size()));
}

} // namespace

//===-- writing -----------------------------------------------------------===//

void RankFiles::finish() {
  for (const std::string &file : std::exchange(superseded_, {}))
    (void)removeFile(file); // a failure leaves it
}

/// The path of the checkpoint that is saved; empty: none.
std::string RankFiles::checkpointOf(SaveKind kind) const {
  return kind == SaveKind::best && !options_.path.empty()
             ? siblingPath(options_.path, "best")
             : options_.path;
}

/// Whether a file has a name of those beside a checkpoint.
static bool isBeside(const std::string &file, const std::string &checkpoint) {
  std::string like = siblingPath(checkpoint, "step");
  return file.starts_with(like.substr(0, like.rfind("step") + 4));
}

/// The file of the checkpoint so far goes when the next one is there.
void RankFiles::supersede(const std::string &base, bool keepsOne) {
  if (auto old = current_.extract(base); !old.empty())
    superseded_.push_back(std::move(old.mapped()));
  if (keepsOne && isBeside(read_, base))
    superseded_.push_back(std::exchange(read_, {}));
}

Status RankFiles::beforeSave(SaveReport &report) {
  finish(); // The save before this one was settled.
  nlohmann::json told;
  if (ranks_.rank() == 0)
    told = {{"checkpoint", checkpointOf(report.kind)},
            {"is_whole", isWhole_()},
            {"keeps_one", options_.keep == 0}};
  GRADUS_ASSIGN(std::string text, fromRankZero(ranks_, jsonText(told)));
  told = parsedJson(text);
  std::string base = told.value("checkpoint", "");
  if (base.empty())
    return {};
  supersede(base, told.value("keeps_one", false));
  if (told.value("is_whole", false))
    return {};
  std::string path = fileOf(base, report.step, ranks_.rank(), ranks_.ranks());
  std::erase(superseded_, path); // of the same step: it is replaced
  return write(path, base, report);
}

Status RankFiles::write(const std::string &path, const std::string &base,
                        SaveReport &report) {
  GRADUS_ASSIGN(std::vector<NamedTensor> own, ownStates(session_));
  Status status;
  if (ranks_.rank() > 0) {
    status = writeSafetensors(path, own, {{"format", "gradus.rank"}});
    current_[base] = path;
  }
  GRADUS_ASSIGN(std::vector<std::string> hashes,
                atRankZero(ranks_, status.ok() ? hashOf(own) : std::string()));
  if (ranks_.rank() > 0)
    return status;
  nlohmann::json note = {{"ranks", ranks_.ranks()},
                         {"step", report.step},
                         {"hashes", nlohmann::json::array()}};
  for (const std::string &hash : hashes) {
    if (hash.empty()) // That rank says why, and all end with its words.
      return failed("a rank has not written the states that it has of its own");
    note["hashes"].push_back(hash);
  }
  report.notes[kNote] = jsonText(note);
  return {};
}

//===-- reading -----------------------------------------------------------===//

namespace {

/// The note by which a checkpoint names its files.
struct Named {
  int ranks = 0;
  int64_t step = 0;
  std::vector<std::string> hashes;
};

/// Nothing for other text.
std::optional<Named> parse(const std::string &text) {
  nlohmann::json note = parsedJson(text);
  if (!note.is_object())
    return std::nullopt;
  try {
    Named named{note.at("ranks").get<int>(), note.at("step").get<int64_t>(),
                note.at("hashes").get<std::vector<std::string>>()};
    if (named.ranks < 2 || named.hashes.size() != size_t(named.ranks))
      return std::nullopt;
    return named;
  } catch (const nlohmann::json::exception &) {
    return std::nullopt;
  }
}

/// The note of a checkpoint; empty if it has none.
StatusOr<std::string> noteOf(const std::string &checkpoint) {
  if (checkpoint.empty())
    return std::string();
  GRADUS_ASSIGN(Safetensors file, Safetensors::open(checkpoint));
  auto note = file.metadata().find(kNote);
  return note == file.metadata().end() ? std::string() : note->second;
}

/// Reads a rank's file into a session.
Status readOwn(Session &session, const std::string &path,
               const std::string &hash) {
  GRADUS_ASSIGN(Safetensors file, Safetensors::open(path));
  GRADUS_ASSIGN(std::vector<NamedTensor> own, ownStates(session));
  for (NamedTensor &state : own) {
    const NamedTensor *found = file.find(state.name);
    if (!found || found->type != state.type)
      return invalid(path, ": has no ", state.name, " of this artifact");
    state.data = found->data;
  }
  if (hashOf(own) != hash)
    return invalid(path, ": has other values than when the checkpoint beside "
                         "it was written");
  for (const NamedTensor &state : own)
    GRADUS_TRY(
        session.writeState(state.name, state.data.data(), state.data.size()));
  return {};
}

} // namespace

/// Reads the note of a checkpoint.
static StatusOr<Named> namedIn(const std::string &checkpoint,
                               const std::string &note) {
  if (auto named = parse(note))
    return *named;
  return invalid(checkpoint,
                 ": what it says of the states that ranks had of "
                 "their own (`",
                 kNote, "` in its metadata) cannot be read");
}

/// A remark on another number of ranks; empty where it is the same.
static std::string remarkOn(const std::string &checkpoint, const Named &named,
                            int ranks) {
  if (named.ranks == ranks)
    return "";
  return absl::StrCat(checkpoint, " was written in the middle of an update by ",
                      named.ranks, " ranks, and there ",
                      ranks == 1 ? "is " : "are ", ranks,
                      ": each takes what rank 0 had gathered for it");
}

StatusOr<std::string> remarkAlone(const std::string &checkpoint) {
  GRADUS_ASSIGN(std::string note, noteOf(checkpoint));
  if (note.empty())
    return note;
  GRADUS_ASSIGN(Named named, namedIn(checkpoint, note));
  return remarkOn(checkpoint, named, 1);
}

StatusOr<RestoredStates> restoreRankStates(Session &session,
                                           CommunicationThread &ranks,
                                           const std::string &checkpoint) {
  nlohmann::json own;
  if (ranks.rank() == 0) {
    GRADUS_ASSIGN(std::string note, noteOf(checkpoint));
    own = {{"path", checkpoint}, {"note", note}};
  }
  GRADUS_ASSIGN(std::string text, fromRankZero(ranks, jsonText(own)));
  own = parsedJson(text);
  std::string path = own.value("path", ""), note = own.value("note", "");
  if (note.empty())
    return RestoredStates();
  GRADUS_ASSIGN(Named named, namedIn(path, note));
  RestoredStates restored{"", remarkOn(path, named, ranks.ranks())};
  // The checkpoint has those of rank 0.
  if (!restored.remark.empty() || ranks.rank() == 0)
    return restored;
  restored.file = fileOf(path, named.step, ranks.rank(), named.ranks);
  GRADUS_TRY(readOwn(session, restored.file,
                     named.hashes[static_cast<size_t>(ranks.rank())]));
  return restored;
}

} // namespace gradus::training
