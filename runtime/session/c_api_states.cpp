// The C API (runtime/gradus.h) on states, the recipe and checkpoints.

#include "runtime/flat.h"
#include "runtime/session/artifact_metadata.h"
#include "runtime/session/c_api_handle.h"
#include "runtime/session/session_facts.h"

#include <cstring>

using namespace gradus::runtime;

//===-- what an artifact says ---------------------------------------------===//

using gradus::artifact::Role;
static_assert(int(Role::parameter) == GRADUS_PARAMETER &&
              int(Role::buffer) == GRADUS_BUFFER &&
              int(Role::slot) == GRADUS_SLOT &&
              int(Role::counter) == GRADUS_COUNTER &&
              int(Role::hyperparameter) == GRADUS_HYPERPARAMETER &&
              int(Role::seed) == GRADUS_SEED &&
              int(Role::copy) == GRADUS_COPY &&
              int(Role::place) == GRADUS_PLACE &&
              int(Role::scratch) == GRADUS_SCRATCH &&
              int(Role::fixed) == GRADUS_FIXED && Role::MAX == Role::fixed);

int gradus_state_role(const gradus_session *session, int state) {
  if (!session || state < 0 || state >= gradus_state_count(session))
    return -1;
  const StateInfo &info = session->session->states()[state];
  return info.isNumber() ? GRADUS_NUMBER : static_cast<int>(info.role);
}

const char *gradus_recipe(const gradus_session *session) {
  return gradus_metadata(session, kWholeRecipe);
}

/// A text is made once, when it is first asked for; keys of nothing are not
/// kept.
const char *gradus_metadata(const gradus_session *session, const char *key) {
  if (!session || !key)
    return nullptr;
  auto &texts = session->metadata;
  auto found = texts.find(std::string_view(key));
  if (found == texts.end()) {
    std::string text = metadataOf(*session->session, key);
    if (text.empty())
      return nullptr;
    found = texts.emplace(key, std::move(text)).first;
  }
  return found->second.c_str();
}

//===-- states ------------------------------------------------------------===//

gradus_status gradus_read_state(gradus_session *session, const char *name,
                                void *data, size_t bytes) {
  if (!session || !name || !data)
    return reject(session,
                  session ? "the name or the data are NULL" : kNoSession);
  return report(session, session->session->readState(name, data, bytes));
}

gradus_status gradus_write_state(gradus_session *session, const char *name,
                                 const void *data, size_t bytes) {
  if (!session || !name || !data)
    return reject(session,
                  session ? "the name or the data are NULL" : kNoSession);
  return report(session, session->session->writeState(name, data, bytes));
}

gradus_status gradus_state_data(gradus_session *session, int state,
                                void **data) {
  if (data)
    *data = nullptr;
  if (!session || !data)
    return reject(session,
                  session ? "the place for the pointer is NULL" : kNoSession);
  auto bytes = session->session->stateData(state);
  if (bytes.ok())
    *data = bytes->data();
  return report(session, bytes.status());
}

gradus_status gradus_state_changed(gradus_session *session, int state) {
  if (!session)
    return reject(session, kNoSession);
  return report(session, session->session->stateChanged(state));
}

/// The state of a number; an error names those that there are.
static StatusOr<int> numberOf(const Session &session, const char *path) {
  int state = session.findState(path);
  if (state >= 0 && session.states()[state].isNumber())
    return state;
  std::string known;
  for (const StateInfo &info : session.states())
    if (info.isNumber())
      append(known, known.empty() ? "" : ", ", info.name);
  return invalid(session.artifact().path(), ": has no number ", path, "; ",
                 known.empty() ? "it has none" : "it has ", known);
}

gradus_status gradus_number(gradus_session *session, const char *path,
                            double *number) {
  if (!session || !path || !number)
    return reject(session, session ? "the path or the place for the number are "
                                     "NULL"
                                   : kNoSession);
  auto state = numberOf(*session->session, path);
  if (!state.ok())
    return report(session, state.status());
  auto bytes = session->session->stateBytes(*state);
  if (bytes.ok())
    std::memcpy(number, bytes->data(), sizeof(*number));
  return report(session, bytes.status());
}

gradus_status gradus_set_number(gradus_session *session, const char *path,
                                double number) {
  if (!session || !path)
    return reject(session, session ? "the path is NULL" : kNoSession);
  auto state = numberOf(*session->session, path);
  if (!state.ok())
    return report(session, state.status());
  return report(session,
                session->session->writeState(
                    *state, {reinterpret_cast<const uint8_t *>(&number),
                             sizeof(number)}));
}

gradus_status gradus_reset(gradus_session *session) {
  if (!session)
    return reject(session, kNoSession);
  return report(session, session->session->resetStates());
}

//===-- checkpoints -------------------------------------------------------===//

gradus_status gradus_save_checkpoint(gradus_session *session,
                                     const char *path) {
  if (!session || !path)
    return reject(session, session ? "the path is NULL" : kNoSession);
  return report(session, session->session->saveCheckpoint(path));
}

/// A rank alone cannot tell the others their parts of a whole; those of fixed
/// states are in the artifact. A process that is none of the ranks runs no graph
/// that reads them.
static Status refuseParts(const gradus_session &of) {
  const Session &session = *of.session;
  if (gradus_ranks(&of) != session.artifact().header().ranks())
    return Status();
  for (const StateInfo &state : session.states())
    if (state.whole && isSaved(state))
      return invalid(session.artifact().path(), ": each rank has a part of ",
                     state.name,
                     " (distribution.zero), so `gradus train` goes on from a "
                     "checkpoint on all of them together; "
                     "gradus_load_weights() takes its weights");
  return Status();
}

gradus_status gradus_load_checkpoint(gradus_session *session,
                                     const char *path) {
  if (!session || !path)
    return reject(session, session ? "the path is NULL" : kNoSession);
  if (Status refused = refuseParts(*session); !refused.ok())
    return report(session, refused);
  return report(session, session->session->loadCheckpoint(path));
}

gradus_status gradus_load_weights(gradus_session *session, const char *path) {
  if (!session || !path)
    return reject(session, session ? "the path is NULL" : kNoSession);
  return report(session,
                session->session->loadCheckpoint(path, Restore::parameters));
}

gradus_status gradus_save_checkpoint_memory(gradus_session *session,
                                            void **bytes, size_t *size) {
  if (bytes)
    *bytes = nullptr;
  if (size)
    *size = 0;
  if (!session || !bytes || !size)
    return reject(session, session ? "the place for the bytes or for their "
                                     "number is NULL"
                                   : kNoSession);
  auto saved = session->session->checkpointBytes();
  if (!saved.ok())
    return report(session, saved.status());
  *bytes = saved->data.release();
  *size = saved->size;
  return GRADUS_OK;
}

static gradus_status loadMemory(gradus_session *session, const void *bytes,
                                size_t size, const char *name, Restore what) {
  if (!session || !bytes)
    return reject(session, session ? "the bytes are NULL" : kNoSession);
  auto file =
      Safetensors::fromBytes({static_cast<const uint8_t *>(bytes), size}, name);
  if (!file.ok())
    return report(session, file.status());
  if (Status refused = refuseParts(*session);
      what == Restore::everything && !refused.ok())
    return report(session, refused);
  return report(session, session->session->loadCheckpoint(*file, name, what));
}

gradus_status gradus_load_checkpoint_memory(gradus_session *session,
                                            const void *bytes, size_t size) {
  return loadMemory(session, bytes, size, "checkpoint in memory",
                    Restore::everything);
}

gradus_status gradus_load_weights_memory(gradus_session *session,
                                         const void *bytes, size_t size) {
  return loadMemory(session, bytes, size, "weights in memory",
                    Restore::parameters);
}

void gradus_free_bytes(void *bytes) { delete[] static_cast<uint8_t *>(bytes); }
