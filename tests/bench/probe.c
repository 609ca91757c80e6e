// How fast the machine is at this moment: virtual machines swing by 2-4x.
//
// Answers `probe` with `probe FMA FMA AMX AMX DRAM`: GFLOP/s of each of two
// threads in fused multiply-adds and in AMX products (0 where there is no AMX),
// and GB/s of an in-place update of one array in memory by both.
// Answers `streams N` with `streams NANOSECONDS`: the fastest of three in-place
// updates of three arrays of N floats that read a fourth, as an optimizer does.
// They stay, on huge pages if the system had some when it was first asked.
#include <immintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 2, ARRAY = 24 << 20 };

typedef struct {
  int number;
  double fma, amx, nanoseconds;
  float *arrays[4];
  long begin, end;
} part;

static pthread_barrier_t barrier;
static volatile float sink;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e9 + time.tv_nsec;
}

__attribute__((target("avx512f"))) static double fma512(void) {
  enum { ROUNDS = 100000 };
  __m512 sums[12], x = _mm512_set1_ps(0.999f);
  for (int i = 0; i < 12; ++i)
    sums[i] = _mm512_set1_ps(i);
  double start = now();
  for (int round = 0; round < ROUNDS; ++round)
    for (int i = 0; i < 12; ++i)
      sums[i] = _mm512_fmadd_ps(sums[i], x, x);
  double time = now() - start;
  for (int i = 0; i < 12; ++i)
    sink += _mm512_reduce_add_ps(sums[i]);
  return ROUNDS * 12.0 * 32 / time;
}

__attribute__((target("avx2,fma"))) static double fma256(void) {
  enum { ROUNDS = 100000 };
  __m256 sums[12], x = _mm256_set1_ps(0.999f);
  for (int i = 0; i < 12; ++i)
    sums[i] = _mm256_set1_ps(i);
  double start = now();
  for (int round = 0; round < ROUNDS; ++round)
    for (int i = 0; i < 12; ++i)
      sums[i] = _mm256_fmadd_ps(sums[i], x, x);
  double time = now() - start;
  for (int i = 0; i < 12; ++i)
    sink += _mm_cvtss_f32(_mm256_castps256_ps128(sums[i]));
  return ROUNDS * 12.0 * 16 / time;
}

static int has_amx(void) {
  enum { ASK_PERMISSION = 0x1023, TILE_DATA = 18 };
  return __builtin_cpu_supports("amx-bf16") &&
         !syscall(SYS_arch_prctl, ASK_PERMISSION, TILE_DATA);
}

__attribute__((target("amx-tile,amx-bf16"))) static double amx(void) {
  enum { ROUNDS = 5000 };
  struct {
    uint8_t palette, start, reserved[14];
    uint16_t columns[16];
    uint8_t rows[16];
  } config = {.palette = 1};
  for (int i = 0; i < 8; ++i)
    config.columns[i] = 64, config.rows[i] = 16;
  _tile_loadconfig(&config);
  static const uint8_t zeros[1024];
  _tile_loadd(4, zeros, 64);
  _tile_loadd(5, zeros, 64);
  _tile_zero(0), _tile_zero(1), _tile_zero(2), _tile_zero(3);
  double start = now();
  for (int round = 0; round < ROUNDS; ++round) {
    _tile_dpbf16ps(0, 4, 5);
    _tile_dpbf16ps(1, 4, 5);
    _tile_dpbf16ps(2, 4, 5);
    _tile_dpbf16ps(3, 4, 5);
  }
  double time = now() - start;
  _tile_release();
  return ROUNDS * 4 * 2.0 * 16 * 16 * 32 / time;
}

static void *measure(void *argument) {
  part *p = argument;
  pthread_barrier_wait(&barrier);
  p->fma = __builtin_cpu_supports("avx512f") ? fma512() : fma256();
  pthread_barrier_wait(&barrier);
  p->amx = has_amx() ? amx() : 0;
  pthread_barrier_wait(&barrier);
  double start = now();
  for (long i = p->begin; i < p->end; ++i)
    p->arrays[0][i] += 1.0f;
  p->nanoseconds = now() - start;
  return NULL;
}

static void *update(void *argument) {
  part *p = argument;
  float *restrict a = p->arrays[0], *restrict b = p->arrays[1],
                  *restrict c = p->arrays[2];
  const float *restrict d = p->arrays[3];
  pthread_barrier_wait(&barrier);
  double start = now();
  for (long i = p->begin; i < p->end; ++i) {
    b[i] += d[i];
    c[i] -= d[i];
    a[i] += b[i] * c[i];
  }
  p->nanoseconds = now() - start;
  return NULL;
}

// Runs `work` on both threads, each with its half of `size` elements, and
// returns the time of the slower.
static double on_both(void *(*work)(void *), part *parts, float *const *arrays,
                      long size) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    memcpy(parts[i].arrays, arrays, sizeof parts[i].arrays);
    parts[i].begin = size / THREADS * i;
    parts[i].end = size / THREADS * (i + 1);
    pthread_create(&threads[i], NULL, work, &parts[i]);
  }
  double slowest = 0;
  for (int i = 0; i < THREADS; ++i) {
    pthread_join(threads[i], NULL);
    slowest = parts[i].nanoseconds > slowest ? parts[i].nanoseconds : slowest;
  }
  return slowest;
}

// Memory on huge pages, where the system has some.
static float *large(long size) {
  enum { HUGE_PAGE = 2 << 20 };
  size_t bytes = (size * sizeof(float) + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
  float *array = aligned_alloc(HUGE_PAGE, bytes);
  if (!array)
    exit(1);
  madvise(array, bytes, MADV_HUGEPAGE);
  memset(array, 0, bytes); // touches every page
  return array;
}

// Keeps its arrays for the next time, so that they have the pages which were
// there the first time.
static void streams(long size) {
  static float *arrays[4];
  static long kept;
  part parts[THREADS];
  for (int i = 0; i < 4 && kept != size; ++i) {
    free(arrays[i]);
    arrays[i] = large(size);
  }
  kept = size;
  double best = on_both(update, parts, arrays, size);
  for (int i = 0; i < 2; ++i) {
    double time = on_both(update, parts, arrays, size);
    best = best < time ? best : time;
  }
  printf("streams %.0f\n", best);
}

int main(void) {
  char line[64];
  part parts[THREADS];
  float *array = calloc(ARRAY, sizeof(float)), *arrays[4] = {array};
  for (long i = 0; array && i < ARRAY; ++i)
    array[i] = 1.0f; // touches every page
  pthread_barrier_init(&barrier, NULL, THREADS);
  while (array && fgets(line, sizeof line, stdin)) {
    if (!strncmp(line, "probe", 5)) {
      double time = on_both(measure, parts, arrays, ARRAY);
      printf("probe %.1f %.1f %.1f %.1f %.2f\n", parts[0].fma, parts[1].fma,
             parts[0].amx, parts[1].amx, ARRAY * 8.0 / time);
    } else if (!strncmp(line, "streams ", 8)) {
      streams(atol(line + 8));
    } else {
      break;
    }
    fflush(stdout);
  }
  return 0;
}
