// Converts a session of C++ to one of the C API.

#pragma once

#include "runtime/gradus.h"
#include "runtime/session/session.h"

#include <memory>

namespace gradus::runtime {

/// Wraps a session as gradus_load does; gradus_free ends both.
gradus_session *handleOf(std::unique_ptr<Session> session);

} // namespace gradus::runtime
