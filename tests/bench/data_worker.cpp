// Gradus's side of the bench of data: makes images, and reads them as training
// does.
//
//   gradus_bench_data make FOLDER COUNT
//   gradus_bench_data read FOLDER THREADS SIZE BATCH
//
// Protocol of the latter: see worker.py; a run reads so many epochs.

#include "training/data/batches.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <sys/resource.h>

#include <jpeglib.h>

using namespace gradus;

namespace {

constexpr int64_t kWidth = 500, kHeight = 375, kQuality = 90;

[[noreturn]] void die(const std::string &words) {
  std::fprintf(stderr, "gradus_bench_data: %s\n", words.c_str());
  std::exit(1);
}

/// Waves in three colours, edges, and noise as of a camera: the files are as
/// long as photographs of this size.
std::vector<uint8_t> pixelsOf(int number) {
  std::vector<uint8_t> pixels;
  uint32_t noise = static_cast<uint32_t>(number) * 77 + 1;
  for (int64_t y = 0; y < kHeight; ++y)
    for (int64_t x = 0; x < kWidth; ++x)
      for (int64_t colour = 0; colour < 3; ++colour) {
        noise = noise * 1664525 + 1013904223;
        double wave =
            60 * std::sin(x * 0.05 * (1 + colour * 0.3) + number * 0.7) +
            50 * std::cos(y * 0.07 + colour + number * 0.3);
        double edge = (x / 20 + y / 30 + number) % 2 ? 20 : -20;
        double grain = ((noise >> 24) & 15) - 7.5;
        pixels.push_back(static_cast<uint8_t>(
            std::clamp(128 + wave + edge + grain, 0.0, 255.0)));
      }
  return pixels;
}

std::string jpegOf(std::vector<uint8_t> pixels) {
  jpeg_compress_struct jpeg = {};
  jpeg_error_mgr errors = {};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char *bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &bytes, &size);
  jpeg.image_width = kWidth;
  jpeg.image_height = kHeight;
  jpeg.input_components = 3;
  jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, kQuality, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    uint8_t *row = pixels.data() + jpeg.next_scanline * kWidth * 3;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::string file(reinterpret_cast<char *>(bytes), size);
  std::free(bytes);
  return file;
}

/// Ten classes, as ImageFolder has them.
void make(const std::string &folder, int count) {
  for (int i = 0; i < count; ++i) {
    std::string of = folder + "/class" + std::to_string(i % 10);
    std::filesystem::create_directories(of);
    std::string file = jpegOf(pixelsOf(i));
    std::ofstream(of + "/" + std::to_string(i) + ".jpg", std::ios::binary)
        .write(file.data(), static_cast<std::streamsize>(file.size()));
  }
}

class Reader {
public:
  Reader(const std::string &folder, int threads, int64_t size, int64_t batch)
      : dataset_(opened(folder)), feed_(matched(size, batch)),
        threads_(threads) {}

  /// Reads the next `epochs` epochs.
  void read(int64_t epochs) {
    int64_t each = data::Batches::perEpoch(feed_, true);
    data::Batches batches(feed_, {.shuffle = true,
                                  .first = epoch_ * each,
                                  .end = (epoch_ + epochs) * each,
                                  .threads = threads_});
    while (batches.next()) {
    }
    if (!batches.status().ok())
      die(batches.status().message());
    epoch_ += epochs;
  }

private:
  static data::Dataset opened(const std::string &folder) {
    auto dataset = data::Dataset::open({folder});
    if (!dataset.ok())
      die(dataset.status().message());
    return *dataset;
  }

  data::Feed matched(int64_t size, int64_t batch) {
    using runtime::DType;
    size_t bytes = batch * 3 * size * size * sizeof(float);
    auto feed = data::Feed::match(
        dataset_,
        {{"image", {DType::f32, {batch, 3, size, size}}, bytes},
         {"label", {DType::i64, {batch}}, batch * sizeof(int64_t)}},
        {}, {{"image", {.resizedCrop = data::ResizedCrop(), .flip = true}}});
    if (!feed.ok())
      die(feed.status().message());
    return *feed;
  }

  data::Dataset dataset_;
  data::Feed feed_;
  int threads_;
  int64_t epoch_ = 0;
};

double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void serve(Reader &reader) {
  double start = now();
  reader.read(1);
  std::printf("ready %.4f\n", now() - start);
  std::fflush(stdout);
  for (std::string word; std::cin >> word;) {
    int64_t epochs = 0;
    rusage usage{};
    if (word == "run" && std::cin >> epochs) {
      start = now();
      reader.read(epochs);
      std::printf("done %.0f\n", (now() - start) * 1e9);
    } else if (word == "memory") {
      getrusage(RUSAGE_SELF, &usage);
      std::printf("memory %ld\n", usage.ru_maxrss * 1024);
    } else {
      return;
    }
    std::fflush(stdout);
  }
}

} // namespace

int main(int count, char **arguments) {
  std::string what = count > 1 ? arguments[1] : "";
  if (what == "make" && count == 4) {
    make(arguments[2], std::atoi(arguments[3]));
  } else if (what == "read" && count == 6) {
    Reader reader(arguments[2], std::atoi(arguments[3]),
                  std::atoi(arguments[4]), std::atoi(arguments[5]));
    serve(reader);
  } else {
    die("make FOLDER COUNT, or read FOLDER THREADS SIZE BATCH");
  }
  return 0;
}
