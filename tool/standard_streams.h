// Standard input, output and error, without which a process may be started
// (`gradus train ... >&-`).

#pragma once

namespace gradus::cli {

/// Opens /dev/null for those of the three that are closed. Otherwise the next
/// file to be opened would have their number, and receive printed text.
void openClosedStreams();

} // namespace gradus::cli
