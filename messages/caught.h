// Describes exceptions of libraries for users. Our own exceptions have messages
// for users already, and are caught earlier.
#pragma once

#include <exception>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

namespace gradus {

/// Describes the exception that is being handled. Call it only in a `catch`.
inline std::string wordsOfCaught() {
  try {
    throw;
  } catch (const std::bad_alloc &) {
    return "out of memory";
  } catch (const std::length_error &) {
    return "asks for more memory than there can be";
  } catch (const std::filesystem::filesystem_error &error) {
    return error.path1().string() + ": " + error.code().message();
  } catch (const std::system_error &error) {
    bool isThread = error.code() == std::errc::resource_unavailable_try_again;
    return isThread ? "out of memory for another thread, or out of threads "
                      "(ulimit -v, ulimit -u)"
                    : error.code().message();
  } catch (const std::exception &error) {
    return std::string("stopped by a mistake of Gradus, not of yours; please "
                       "report the command and these words of a library: ") +
           error.what();
  }
}

} // namespace gradus
