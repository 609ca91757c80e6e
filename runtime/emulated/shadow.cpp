// The rule: two threads may access an element without a barrier between them
// only if both read it.

#include "runtime/emulated/shadow.h"

namespace gradus::runtime::emulated {

bool Moment::isBefore(const Moment &now) const {
  if (isNever() || isSameThread(now))
    return true;
  if (block != now.block)
    return false;
  bool sameWarp = thread / 32 == now.thread / 32;
  return barriers != now.barriers ||
         (sameWarp && warpBarriers != now.warpBarriers);
}

static std::string nameOf(const Moment &moment) {
  return "thread " + std::to_string(moment.thread) + " of block " +
         std::to_string(moment.block);
}

void Shadow::Cell::noteReader(const Moment &now) {
  bool sameStretch = reader.barriers == now.barriers;
  bool sameWarp = reader.thread / 32 == now.thread / 32;
  blocks |= !reader.isNever() && reader.block != now.block;
  if (reader.isNever() || !sameStretch)
    lanes = warps = false;
  else if (!sameWarp)
    warps = true;
  else
    lanes = reader.warpBarriers == now.warpBarriers &&
            (lanes || reader.thread != now.thread);
  reader = now;
}

bool Shadow::Cell::isReadBefore(const Moment &now) const {
  bool sameStretch = !reader.isNever() && reader.barriers == now.barriers;
  bool inStep = reader.warpBarriers == now.warpBarriers;
  return !blocks && !(warps && sameStretch) &&
         !(lanes && sameStretch && inStep) && reader.isBefore(now);
}

void Shadow::reset(int64_t bytes, int64_t element) {
  element_ = element;
  cells_.assign((bytes + element - 1) / element, {});
}

std::string Shadow::read(int64_t offset, int64_t bytes, const Moment &now,
                         bool mustBeWritten) {
  for (int64_t i = offset / element_; i * element_ < offset + bytes; ++i) {
    Cell &cell = cells_[i];
    if (cell.writer.isNever() && mustBeWritten)
      return "reads what no thread has written";
    if (!cell.writer.isBefore(now))
      return "reads what " + nameOf(cell.writer) +
             " writes, with no barrier between them";
    cell.noteReader(now);
  }
  return "";
}

std::string Shadow::write(int64_t offset, int64_t bytes, const Moment &now) {
  for (int64_t i = offset / element_; i * element_ < offset + bytes; ++i) {
    Cell &cell = cells_[i];
    if (!cell.writer.isBefore(now))
      return "writes what " + nameOf(cell.writer) +
             " writes too, with no barrier between them";
    if (!cell.isReadBefore(now))
      return "writes what " + nameOf(cell.reader) +
             " reads, with no barrier between them";
    cell = {now, {}};
  }
  return "";
}

} // namespace gradus::runtime::emulated
