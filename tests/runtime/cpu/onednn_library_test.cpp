#include "runtime/cpu/onednn_library.h"

#include "runtime/cpu/openmp.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <dirent.h>
#include <string>

using namespace gradus::runtime;

namespace {

int threadsOfProcess() {
  int count = 0;
  DIR *tasks = opendir("/proc/self/task");
  while (dirent *entry = readdir(tasks))
    count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

} // namespace

TEST(OneDnnLibrary, IsLoadedOnceAndIsVersion3) {
  auto library = oneDnn();
  ASSERT_TRUE(library.ok()) << library.status().message();
  EXPECT_EQ((*library)->dnnl_version()->major, 3);
  EXPECT_EQ(*oneDnn(), *library);
}

// A large product in two parts: libgomp would start a thread for it.
TEST(OneDnnLibrary, RunsOnOurPoolAndNoOther) {
  auto loaded = oneDnn();
  ASSERT_TRUE(loaded.ok());
  const OneDnn &library = **loaded;
  ThreadPool pool(2);
  int before = threadsOfProcess();
  OpenMpScope scope(pool, 2);
  constexpr int64_t kSide = 512;
  dnnl_dims_t dims = {kSide, kSide}, strides = {kSide, 1};
  dnnl_memory_desc_t description = nullptr;
  ASSERT_EQ(library.dnnl_memory_desc_create_with_strides(&description, 2, dims,
                                                         dnnl_f32, strides),
            dnnl_success);
  dnnl_primitive_desc_t primitiveDescription = nullptr;
  ASSERT_EQ(library.dnnl_matmul_primitive_desc_create(
                &primitiveDescription, library.engine, description, description,
                nullptr, description, nullptr),
            dnnl_success);
  dnnl_primitive_t primitive = nullptr;
  ASSERT_EQ(library.dnnl_primitive_create(&primitive, primitiveDescription),
            dnnl_success);
  std::vector<float> a(kSide * kSide, 1.0f), b(kSide * kSide, 2.0f),
      c(kSide * kSide);
  dnnl_exec_arg_t arguments[3] = {{DNNL_ARG_SRC, nullptr},
                                  {DNNL_ARG_WEIGHTS, nullptr},
                                  {DNNL_ARG_DST, nullptr}};
  float *data[3] = {a.data(), b.data(), c.data()};
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(library.dnnl_memory_create(&arguments[i].memory, description,
                                         library.engine, data[i]),
              dnnl_success);
  for (int i = 0; i < 10; ++i)
    ASSERT_EQ(
        library.dnnl_primitive_execute(primitive, library.stream, 3, arguments),
        dnnl_success);
  for (float value : c)
    ASSERT_EQ(value, 2.0f * kSide);
  EXPECT_EQ(threadsOfProcess(), before);
  for (dnnl_exec_arg_t &argument : arguments)
    library.dnnl_memory_destroy(argument.memory);
  library.dnnl_primitive_destroy(primitive);
  library.dnnl_primitive_desc_destroy(primitiveDescription);
  library.dnnl_memory_desc_destroy(description);
}
