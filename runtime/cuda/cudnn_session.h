// Whom cuDNN is asked for: a card that is current, or one that is described,
// for which plans can be chosen and nothing runs.
#pragma once

#include "runtime/cuda/cudnn_descriptor.h"

#include <memory>

namespace gradus::runtime::cuda::cudnn {

struct Session {
  Library library;
  Handle handle = nullptr; // of the card that was current
  Descriptor device;       // of one that is described

  explicit Session(const Library &library) : library(library) {}
  Session(const Session &) = delete;
  ~Session();

  /// "cudnn 91900": what choices in artifacts are for.
  std::string name() const;
};

/// For the card that is current.
StatusOr<std::shared_ptr<Session>> openSession();
/// For a card as JSON describes it, which needs cuDNN 9.8 and no card.
StatusOr<std::shared_ptr<Session>> describeCard(const std::string &json);

} // namespace gradus::runtime::cuda::cudnn
