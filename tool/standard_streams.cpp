// open() returns the lowest free number, so all below it are open.

#include "tool/standard_streams.h"

#include <cerrno>
#include <fcntl.h>
#include <initializer_list>
#include <unistd.h>

namespace gradus::cli {

void openClosedStreams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) == -1 && errno == EBADF &&
        open("/dev/null", O_RDWR) == -1)
      return; // Without /dev/null nothing more can be done.
}

} // namespace gradus::cli
