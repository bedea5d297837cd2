// launch_recorder.cpp - a library that the CUDA driver loads into a program (CUDA_INJECTION64_PATH). It
// records when each kernel and memset began and ended, with CUPTI's activity records; launch_times.py reads
// the result. Unlike under a profiler, nothing is serialised, so even the time of a launch that finds nothing
// to do is visible.
//
// SWEEPSORT_LAUNCHES=FILE  one line per launch: begin and end (ns), number of its graph (0: none), blocks,
//                          name, separated by tabs
#include <cupti.h>
#include <cxxabi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

struct Launch {
  uint64_t begin_ns;
  uint64_t end_ns;
  uint32_t graph;
  int blocks;
  std::string name;
};

// CUPTI calls back from its own thread.
std::mutex mutex;
std::vector<Launch> launches;

std::string readable(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? text.get() : name;
}

void CUPTIAPI give_buffer(uint8_t** buffer, size_t* bytes, size_t* max_records) {
  constexpr size_t alignment = 8;
  *bytes = 4u << 20;
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(alignment, *bytes));
  *max_records = 0;  // as many as fit
}

void CUPTIAPI take_buffer(CUcontext /*context*/, uint32_t /*stream*/, uint8_t* buffer, size_t /*bytes*/,
                          size_t filled) {
  const std::scoped_lock lock(mutex);
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, filled, &record) == CUPTI_SUCCESS) {
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      const auto& kernel = *reinterpret_cast<const CUpti_ActivityKernel9*>(record);
      launches.push_back({kernel.start, kernel.end, kernel.graphId, kernel.gridX, readable(kernel.name)});
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
      const auto& memset = *reinterpret_cast<const CUpti_ActivityMemset4*>(record);
      launches.push_back({memset.start, memset.end, memset.graphId, 0, "memset"});
    }
  }
  std::free(buffer);
}

void write_down() {
  cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  const char* const path = std::getenv("SWEEPSORT_LAUNCHES");
  const std::unique_ptr<std::FILE, decltype(&std::fclose)> file(std::fopen(path ? path : "/dev/stderr", "w"),
                                                                &std::fclose);
  if (!file) return std::perror(path);
  std::ranges::sort(launches, {}, &Launch::begin_ns);
  for (const Launch& launch : launches)
    std::fprintf(file.get(), "%llu\t%llu\t%u\t%d\t%s\n", static_cast<unsigned long long>(launch.begin_ns),
                 static_cast<unsigned long long>(launch.end_ns), launch.graph, launch.blocks,
                 launch.name.c_str());
}

}  // namespace

/// The driver calls this before the program's first call of CUDA. Returns 1 on success.
extern "C" int InitializeInjection() {
  const bool records = cuptiActivityRegisterCallbacks(give_buffer, take_buffer) == CUPTI_SUCCESS &&
                       cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_SUCCESS &&
                       cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET) == CUPTI_SUCCESS;
  if (records) std::atexit(write_down);
  return records;
}
