// Cuts the machine's free memory to pieces, and keeps it so until its input
// ends: builds and page caches leave memory like that, and what starts then
// finds few huge pages.
//
//   gradus_bench_pieces [MOST]
//
// Takes a huge page after the other (at most MOST of them), keeps 4 KiB of each
// and gives the rest back, until the system has no free ones. Holds little
// memory at any time: 8 KiB for 2 MiB cut, with the page of the table. Says
// `ready CUT LEFT`, the pages that it cut and the free ones that are left, and
// answers `left` with `left LEFT`. Protocol: see worker.py.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HUGE_ORDER = 9, CHECK_EVERY = 16, FEW = 8 };
static const size_t kHuge = 2 << 20, kSmall = 4096;

static void die(const char *what) {
  perror(what);
  exit(1);
}

// The free huge pages of all zones, each with the count of its orders from 0.
static long free_huge_pages(void) {
  char line[512];
  long sum = 0;
  FILE *file = fopen("/proc/buddyinfo", "r");
  if (!file)
    die("/proc/buddyinfo");
  while (fgets(line, sizeof line, file)) {
    const char *zone = strstr(line, "zone");
    int length = 0;
    if (!zone || sscanf(zone, "zone %*s%n", &length) || !length)
      continue;
    char *at = (char *)zone + length, *end;
    for (int order = 0;; ++order, at = end) {
      long count = strtol(at, &end, 10);
      if (end == at)
        break;
      sum += order < HUGE_ORDER ? 0 : count << (order - HUGE_ORDER);
    }
  }
  fclose(file);
  return sum;
}

// Takes the huge page of an address and gives all but its first 4 KiB back.
// Returns false where the system had none to give.
static int cut(uint8_t *page) {
  unsigned char last;
  page[0] = 1;
  if (mincore(page + kHuge - kSmall, kSmall, &last))
    die("mincore");
  if (!(last & 1))
    return 0;
  // MADV_FREE of a part makes the system split the page; without that it keeps
  // the whole until memory runs short.
  if (madvise(page + kSmall, kHuge - kSmall, MADV_FREE) ||
      madvise(page + kSmall, kHuge - kSmall, MADV_DONTNEED))
    die("madvise");
  // The system would make a whole page of it again, of its own accord.
  if (madvise(page, kHuge, MADV_NOHUGEPAGE))
    die("MADV_NOHUGEPAGE");
  return 1;
}

static long cut_all(long most) {
  size_t size = (size_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  uint8_t *start = mmap(NULL, size + kHuge, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED)
    die("mmap");
  start += (kHuge - (uintptr_t)start % kHuge) % kHuge;
  if (madvise(start, size, MADV_HUGEPAGE))
    die("MADV_HUGEPAGE");
  long done = 0, pages = size / kHuge;
  for (long i = 0; i < pages && done < most; ++i) {
    if (i % CHECK_EVERY == 0 && free_huge_pages() <= FEW)
      break;
    done += cut(start + i * kHuge);
  }
  return done;
}

int main(int count, char **arguments) {
  char line[64];
  long done = cut_all(count > 1 ? atol(arguments[1]) : __LONG_MAX__);
  printf("ready %ld %ld\n", done, free_huge_pages());
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    printf("left %ld\n", free_huge_pages());
    fflush(stdout);
  }
  return 0;
}
