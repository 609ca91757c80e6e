// A variable of the environment, for as long as a test needs it.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace gradus::runtime::cuda {

class Environment {
public:
  /// Null: not set.
  Environment(const char *name, const char *value) : name_(name) {
    if (const char *before = getenv(name))
      before_ = before;
    set(value);
  }
  Environment(const Environment &) = delete;
  ~Environment() { set(before_ ? before_->c_str() : nullptr); }

private:
  void set(const char *value) {
    if (value)
      setenv(name_, value, 1);
    else
      unsetenv(name_);
  }

  const char *name_;
  std::optional<std::string> before_;
};

} // namespace gradus::runtime::cuda
