// plan_test.cpp - the pure plan: which strategy, within which budgets, in how many passes.
#include "pipeline/plan.hpp"

#include "catch.hpp"
#include "core/error.hpp"

#include <algorithm>
#include <vector>

using namespace sweepsort;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Two arrays. On a GPU, also a ring of pinned buffers.
Backend::Footprint cpu_footprint(const SortJob& job) {
  return {.host = Bytes{2 * job.count * (key_bytes(job.type) + job.value_bytes)}, .device = {}};
}
Backend::Footprint gpu_footprint(const SortJob& job) {
  return {.host = Bytes{2 * job.workers * job.chunk_bytes},
          .device = Bytes{2 * job.count * (key_bytes(job.type) + job.value_bytes) + (1u << 20)}};
}

constexpr uint64_t mib = 1u << 20;
constexpr uint64_t gib = 1u << 30;

PlanRequest request(uint64_t count, KeyType type, uint64_t memory) {
  return {.count = count,
          .shape = {.type = type},
          .file = {key_bytes(type), key_bytes(type)},
          .threads = 4,
          .memory = Bytes{memory},
          .may_count = true};
}

/// The number of runs that find room if they are put, one after the other, on the GPU with the most room.
uint64_t runs_put(std::vector<Bytes> rooms, uint64_t runs, uint64_t bytes, uint64_t last_bytes) {
  for (uint64_t run = 0; run < runs; ++run) {
    const uint64_t needed = run + 1 < runs ? bytes : last_bytes;
    const auto room = std::ranges::max_element(rooms);
    if (room == rooms.end() || room->value < needed) return run;
    room->value -= needed;
  }
  return runs;
}

}  // namespace

TEST_CASE("a GPU packs equal keys where that takes little of its share") {
  const auto footprint = [](const SortJob& job) {
    Backend::Footprint need = gpu_footprint(job);
    if (job.unique) need.device.value += 2 * job.workers * job.chunk_bytes;
    return need;
  };
  PlanRequest unique = request(gib, KeyType::u32, gib);
  unique.may_count = false;
  unique.unique = true;
  const uint64_t lanes = 2 * 4 * 8 * mib;  // 4 workers
  for (const uint64_t memory : {64 * gib, 16 * lanes, 16 * lanes - 1, lanes, 4 * mib}) {
    unique.gpu_memory = Bytes{memory};
    const Plan plan = make_plan(unique, footprint);
    CAPTURE(memory);
    CHECK(plan.job.unique == (memory >= 16 * lanes));
    CHECK(plan.gpu_memory <= *unique.gpu_memory);
  }
  unique.gpu_memory = Bytes{64 * gib};
  unique.unique = false;
  CHECK_FALSE(make_plan(unique, footprint).job.unique);
}

TEST_CASE("keys are merged with their counts in the memory of sessions for runs, if counts fit their type") {
  for (const KeyType type : {KeyType::u8, KeyType::u32, KeyType::u64})
    for (uint64_t memory = 1u << 16; memory <= 256 * gib; memory *= 4)
      for (const bool gpu : {false, true}) {
        PlanRequest counted = request(uint64_t{1} << 37, type, gpu ? memory + mib : memory);
        counted.may_count = false;
        counted.unique = counted.counts = true;
        if (gpu) counted.gpu_memory = Bytes{memory + 4 * mib};
        const FootprintFunction footprint = gpu ? gpu_footprint : cpu_footprint;
        const Plan plan = make_plan(counted, footprint);
        CAPTURE(memory, gpu, key_bytes(type));
        const bool is_merged_once = plan.strategy == SortStrategy::external && plan.merge_passes == 1;
        if (!is_merged_once || plan.job.count >> 32 != 0) {
          CHECK(plan.counted_job.count == 0);
          continue;
        }
        CHECK(plan.counted_job.value_bytes == 4);
        CHECK(plan.counted_job.type == type);
        CHECK(plan.counted_job.count + 4096 >=
              plan.job.count * key_bytes(type) / (key_bytes(type) + 4));  // whole pages
        CHECK(plan.counted_job.count <= plan.job.count);
        CHECK(footprint(plan.counted_job).host <= footprint(plan.job).host);
        CHECK(footprint(plan.counted_job).device <= footprint(plan.job).device);
        counted.counts = false;
        CHECK(make_plan(counted, footprint).counted_job.count == 0);
      }
}

TEST_CASE("what fits is sorted in memory, and one key more is not") {
  CHECK(make_plan(request(mib, KeyType::u32, 8 * mib), cpu_footprint).strategy == SortStrategy::in_memory);
  CHECK(make_plan(request(mib + 1, KeyType::u32, 8 * mib), cpu_footprint).strategy == SortStrategy::external);
  CHECK(max_in_memory(request(0, KeyType::u32, 8 * mib), cpu_footprint) == mib);
}

TEST_CASE("of a stream that will be counted no more is collected than tells it from a small one") {
  CHECK(max_to_collect(request(0, KeyType::u32, gib), cpu_footprint) ==
        max_in_memory(request(0, KeyType::u32, gib), cpu_footprint));
  PlanRequest stream = request(0, KeyType::u16, gib);
  stream.may_count = true;
  const uint64_t collected = max_to_collect(stream, cpu_footprint);
  CHECK(collected < max_in_memory(stream, cpu_footprint));
  stream.count = collected;
  CHECK(make_plan(stream, cpu_footprint).strategy == SortStrategy::counting);
  stream.count = collected - 1;
  CHECK(make_plan(stream, cpu_footprint).strategy == SortStrategy::in_memory);
}

TEST_CASE(
    "many keys of one or two bytes, and any beyond memory, are counted, unless the radix sort is asked for") {
  for (const KeyType type : {KeyType::u8, KeyType::i8, KeyType::u16, KeyType::i16}) {
    PlanRequest large = request(uint64_t{1} << 40, type, gib);
    CHECK(make_plan(large, cpu_footprint).strategy == SortStrategy::counting);
    CHECK(make_plan(request(64 * mib, type, 4 * gib), cpu_footprint).strategy == SortStrategy::counting);
    CHECK(make_plan(request(mib, type, 4 * gib), cpu_footprint).strategy == SortStrategy::in_memory);
    CHECK(make_plan(large, cpu_footprint).temporary == Bytes{0});
    CHECK(make_plan(large, cpu_footprint).memory < Bytes{gib});
    for (uint64_t memory = 1u << 16; memory <= 64 * mib; memory *= 2) {
      const Plan plan = make_plan(request(64 * mib, type, memory), cpu_footprint);
      CHECK(plan.strategy == SortStrategy::counting);
      CHECK(plan.job.workers >= 1);
      // The counters and ends of one worker for 16-bit keys take a mebibyte.
      CHECK((plan.memory <= Bytes{memory} || (plan.job.workers == 1 && memory < 2 * mib)));
    }
    large.shape.value_bytes = 4;
    CHECK(make_plan(large, cpu_footprint).strategy == SortStrategy::external);
    large.shape.value_bytes = 0;
    large.algorithm = SortAlgorithm::radix;
    CHECK(make_plan(large, cpu_footprint).strategy == SortStrategy::external);
  }
}

TEST_CASE("no plan takes more than its budgets, whatever their size and that of the file") {
  for (const bool gpu : {false, true})
    for (const KeyType type : {KeyType::u8, KeyType::u32, KeyType::f64})
      for (const uint32_t value_bytes : {0u, 4u, 8u})
        for (uint64_t memory = 1u << 16; memory <= 64 * gib; memory *= 8)
          for (uint64_t count = 1; count <= uint64_t{1} << 38; count = count * 9 + 1) {
            PlanRequest large = request(count, type, gpu ? memory + mib : memory);
            large.may_count = false;
            large.shape.value_bytes = value_bytes;
            large.file = {.read = 5, .written = 3};
            if (gpu) large.gpu_memory = Bytes{memory + 4 * mib};
            if (gpu) large.ahead = Bytes{std::min({memory / 8, gib, count * key_bytes(type)})};
            large.kept = Bytes{gpu ? count * key_bytes(type) : 0};  // besides `memory`
            const Plan plan = make_plan(large, gpu ? gpu_footprint : cpu_footprint);
            INFO(count << " keys, " << memory << " bytes, " << value_bytes << " bytes per value");
            CHECK(plan.memory.value <= large.memory.value + large.kept.value);
            CHECK(plan.memory.value > large.kept.value);
            if (gpu) CHECK(plan.gpu_memory <= *large.gpu_memory);
            const uint64_t record = large.shape.bytes();
            const uint64_t between = (plan.passes - 1) * count * record;
            CHECK(plan.read.value == between + 5 * count);
            CHECK(plan.written.value == between + 3 * count);
            if (plan.strategy == SortStrategy::in_memory) continue;
            CHECK(plan.runs * plan.job.count >= count);
            CHECK((plan.runs - 1) * plan.job.count < count);
            CHECK(plan.passes == 1 + plan.merge_passes);
            CHECK(plan.temporary.value <= 2 * (count * record + plan.runs * 2 * 4096));  // whole pages
            CHECK(plan.temporary.value + plan.memory_for_runs.value + plan.gpu_memory_for_runs.value >=
                  count * record);
            CHECK(plan.runs_on_gpu + plan.runs_in_memory <= plan.runs);
            CHECK((plan.runs_on_gpu + plan.runs_in_memory == plan.runs) == (plan.temporary == Bytes{0}));
            CHECK(count / plan.stride * 8 <= large.memory.value / 16);
            CHECK(plan.job.chunk_bytes % large.shape.widest() == 0);
          }
}

TEST_CASE("more records than any disk holds are refused, not wrapped around") {
  for (const uint32_t value_bytes : {0u, 8u}) {
    PlanRequest large = request(uint64_t{1} << 61, KeyType::u64, gib);  // 2^64 bytes of keys
    large.shape.value_bytes = value_bytes;
    CHECK_THROWS_WITH(make_plan(large, cpu_footprint), ContainsSubstring("more than any disk holds"));
  }
}

TEST_CASE("a terabyte takes two passes with eight gigabytes of memory") {
  const Plan plan = make_plan(request(uint64_t{1} << 37, KeyType::u64, 8 * gib), cpu_footprint);
  CHECK(plan.passes == 2);
  CHECK(plan.runs <= 1024);
}

TEST_CASE("sessions are no larger than pieces of a mebibyte ask for") {
  const Plan small = make_plan(request(gib / 8, KeyType::u64, gib), cpu_footprint);
  CHECK(small.job.count * 8 <= 32 * mib);
  const Plan large = make_plan(request(8 * gib, KeyType::u64, 16 * gib), cpu_footprint);
  CHECK(large.job.count * 8 / large.runs >= mib / 2);
  CHECK(large.job.count * 8 <= 512 * mib);
}

TEST_CASE("a file that is larger than memory and fits it once as runs needs no disk") {
  const Plan plan = make_plan(request(gib / 8 * 6 / 10, KeyType::u64, gib), cpu_footprint);
  CHECK(plan.strategy == SortStrategy::external);
  CHECK(plan.temporary == Bytes{0});
  CHECK(plan.passes == 2);
}

TEST_CASE("runs in files go through the page cache, if it has room for four times as many") {
  PlanRequest cached = request(gib / 8, KeyType::u64, 32 * mib);
  const uint64_t spilled = make_plan(cached, cpu_footprint).temporary.value;
  CHECK(spilled >= gib);
  cached.page_cache = Bytes{4 * spilled};
  CHECK(make_plan(cached, cpu_footprint).caches_runs);
  cached.page_cache.value -= 4;
  CHECK_FALSE(make_plan(cached, cpu_footprint).caches_runs);
  // The length of a stream is unknown.
  cached.count = {};
  CHECK(make_plan(cached, cpu_footprint).caches_runs);
  cached.page_cache = cached.memory;
  CHECK_FALSE(make_plan(cached, cpu_footprint).caches_runs);
}

TEST_CASE("runs stay in GPU memory, then in memory, and only what fits neither goes to the disk") {
  PlanRequest large = request(8 * gib, KeyType::u64, 2 * gib);
  large.gpu_memory = Bytes{80 * gib};
  const Plan on_gpu = make_plan(large, gpu_footprint);
  CHECK(on_gpu.strategy == SortStrategy::external);
  CHECK(on_gpu.runs_on_gpu == on_gpu.runs);
  CHECK(on_gpu.memory < Bytes{gib});
  CHECK(on_gpu.passes == 2);
  large.gpu_memory = Bytes{66 * gib};  // sessions leave less than the 64 GiB
  large.memory = Bytes{8 * gib};
  const Plan on_both = make_plan(large, gpu_footprint);
  CHECK(on_both.runs_on_gpu > on_both.runs / 10 * 8);
  CHECK(on_both.runs_in_memory > 0);
  CHECK(on_both.temporary == Bytes{0});
  large.memory = Bytes{2 * gib};
  large.gpu_memory = Bytes{16 * gib};
  const Plan spilled = make_plan(large, gpu_footprint);
  CHECK(spilled.runs_on_gpu > 0);
  CHECK(spilled.runs_in_memory > 0);
  CHECK(spilled.temporary < Bytes{56 * gib});
  CHECK(spilled.passes == 2);
  // Sessions of a good size take precedence.
  large.gpu_memory = Bytes{2 * gib};
  CHECK(make_plan(large, gpu_footprint).runs_on_gpu == 0);
  large.count = {};
  large.gpu_memory = Bytes{80 * gib};
  CHECK(make_plan(large, gpu_footprint).gpu_memory_for_runs > Bytes{32 * gib});
}

TEST_CASE("each of several GPUs keeps its budget, and its sessions and runs are what the plan says") {
  for (const uint32_t gpus : {1u, 2u, 3u, 8u})
    for (const uint64_t gpu_memory : {8 * mib, 80 * mib, gib, 80 * gib})
      for (const uint64_t memory : {uint64_t{1} << 17, mib, 64 * mib, 8 * gib})
        for (const bool is_stream : {false, true})
          for (uint64_t count = is_stream ? uint64_t{1} << 37 : 1; count <= uint64_t{1} << 37;
               count = count * 5 + 1) {
            PlanRequest large = request(count, KeyType::u64, memory);
            large.gpus = gpus;
            large.gpu_memory = Bytes{gpu_memory};
            large.may_count = false;
            if (is_stream) large.count = {};
            const Plan plan = make_plan(large, gpu_footprint);
            INFO(count << " keys, " << gpus << " GPUs of " << gpu_memory << ", memory " << memory
                       << ", strategy " << static_cast<int>(plan.strategy));
            const uint64_t session = gpu_footprint(plan.job).device.value;
            CHECK(plan.memory <= large.memory);
            std::vector<uint64_t> taken(gpus);
            for (uint32_t lane = 0; lane < plan.lanes; ++lane) taken[lane % gpus] += session;
            uint64_t rooms = 0;
            for (size_t gpu = 0; gpu < plan.room_on_gpus.size(); ++gpu) {
              taken.at(gpu) += plan.room_on_gpus[gpu].value;
              rooms += plan.room_on_gpus[gpu].value;
            }
            for (const uint64_t bytes : taken) CHECK(bytes <= gpu_memory);
            CHECK(plan.gpu_memory.value == plan.lanes * session + plan.gpu_memory_for_runs.value);
            CHECK(plan.gpus >= std::min(plan.lanes, gpus));
            CHECK(plan.gpus <= gpus);
            if (plan.strategy == SortStrategy::in_memory) CHECK(plan.gpus == 1);
            if (is_stream) {
              CHECK(plan.gpu_memory_for_runs.value == rooms);
              CHECK((rooms == 0 || plan.gpus == gpus));
            } else if (plan.strategy == SortStrategy::external) {
              const uint64_t run = plan.job.count * 8;
              const uint64_t last = count * 8 - (plan.runs - 1) * run;
              CHECK(plan.gpu_memory_for_runs.value == std::min(rooms, count * 8));
              CHECK(plan.runs_on_gpu == runs_put(plan.room_on_gpus, plan.runs, run, last));
            }
          }
}

TEST_CASE("what GPUs hold by whole runs is told to the run, around the size that they are full at") {
  const auto footprint = [](const SortJob& job) {
    return Backend::Footprint{.host = Bytes{job.workers * job.chunk_bytes}, .device = Bytes{16 * job.count}};
  };
  bool some_last = false;  // a shorter last run fits where a whole one would not
  for (const uint32_t gpus : {1u, 2u, 3u})
    for (uint64_t count = 20'000; count < 75'000; count += 7) {
      PlanRequest small = request(count, KeyType::u64, mib);
      small.gpus = gpus;
      small.gpu_memory = Bytes{200'000};
      small.chunk_bytes = 512;
      const Plan plan = make_plan(small, footprint);
      const uint64_t run = plan.job.count * 8;
      const uint64_t last = count * 8 - (plan.runs - 1) * run;
      CHECK(plan.runs_on_gpu == runs_put(plan.room_on_gpus, plan.runs, run, last));
      some_last |=
          plan.runs_on_gpu == plan.runs && runs_put(plan.room_on_gpus, plan.runs, run, run) < plan.runs;
    }
  CHECK(some_last);
}

TEST_CASE("GPUs hold together what one of them could not, and what one sorts in memory is left to it") {
  PlanRequest large = request(8 * gib, KeyType::u64, 2 * gib);
  large.gpu_memory = Bytes{16 * gib};
  uint64_t kept = 0;
  for (const uint32_t gpus : {1u, 2u, 3u, 4u, 5u}) {
    large.gpus = gpus;
    const Plan plan = make_plan(large, gpu_footprint);
    CHECK(plan.strategy == SortStrategy::external);
    CHECK(plan.passes == 2);
    CHECK(plan.gpus == gpus);
    CHECK((plan.runs_on_gpu == plan.runs) == (gpus == 5));
    CHECK((plan.temporary == Bytes{0}) == (gpus == 5));
    CHECK(plan.runs_on_gpu * plan.job.count * 8 > kept + (gpus == 5 ? 0 : 12 * gib));
    kept = plan.runs_on_gpu * plan.job.count * 8;
  }
  PlanRequest small = request(gib, KeyType::u64, gib);
  small.gpus = 8;
  small.gpu_memory = Bytes{17 * gib};
  CHECK(make_plan(small, gpu_footprint).strategy == SortStrategy::in_memory);
  CHECK(make_plan(small, gpu_footprint).gpus == 1);
  small.gpu_memory = Bytes{16 * gib};
  CHECK(make_plan(small, gpu_footprint).strategy == SortStrategy::external);
}

TEST_CASE(
    "of three GPUs two have a session each, and the third is all for runs, even if they leave nothing") {
  PlanRequest large = request(8 * gib, KeyType::u64, 64 * gib);
  large.gpus = 3;
  for (const uint64_t gpu_memory : {80 * gib, 100 * mib}) {
    large.gpu_memory = Bytes{gpu_memory};
    const Plan plan = make_plan(large, gpu_footprint);
    CHECK(plan.lanes == 2);
    REQUIRE(plan.room_on_gpus.size() == 3);
    CHECK(plan.room_on_gpus[0] == plan.room_on_gpus[1]);
    CHECK(plan.room_on_gpus[1].value + gpu_footprint(plan.job).device.value <= gpu_memory);
    CHECK(plan.room_on_gpus[2].value == gpu_memory);
    CHECK(plan.runs_on_gpu > 0);
  }
}

TEST_CASE("little memory for a large file takes more passes") {
  const Plan plan = make_plan(request(mib, KeyType::u64, 1u << 16), cpu_footprint);
  CHECK(plan.merge_passes > 1);
  CHECK(passes_of(1, 8) == 0);
  CHECK(passes_of(8, 8) == 1);
  CHECK(passes_of(9, 8) == 2);
  CHECK(passes_of(64, 8) == 2);
  CHECK(passes_of(65, 8) == 3);
}

TEST_CASE("a budget in which nothing can be sorted is an error that names the least that works") {
  CHECK_THROWS_WITH(make_plan(request(mib, KeyType::u64, (1u << 16) - 1), cpu_footprint),
                    ContainsSubstring("are too few to sort anything"));
  PlanRequest small = request(mib, KeyType::u64, gib);
  small.gpu_memory = Bytes{1000};
  CHECK_THROWS_WITH(make_plan(small, gpu_footprint), ContainsSubstring("GPU memory is too little"));
  PlanRequest whole = request(mib, KeyType::u64, mib);
  whole.one_session = OneSession::for_repeat;
  CHECK_THROWS_WITH(make_plan(whole, cpu_footprint), ContainsSubstring("--repeat needs all keys in memory"));
  whole.one_session = OneSession::for_referee;
  whole.for_referee = Bytes{2 * mib * sizeof(uint64_t)};
  CHECK_THROWS_WITH(
      make_plan(whole, cpu_footprint),
      ContainsSubstring("--validate needs all keys in memory") && ContainsSubstring("to check that"));
}

TEST_CASE("a run is never kept in parts: a plan without files has a whole place for each") {
  PlanRequest odd = request(19'505'807, KeyType::u64, 194'993'626);
  odd.gpu_memory = Bytes{164'664'044};
  const Plan plan = make_plan(odd, gpu_footprint);
  CHECK((plan.runs_on_gpu + plan.runs_in_memory == plan.runs || plan.fan_in < 10'000));
  CHECK(plan.memory <= odd.memory);
}

TEST_CASE("sorted streams are merged in the memory of their blocks") {
  for (const uint64_t memory : {uint64_t{1} << 16, mib, gib}) {
    PlanRequest merge = request(0, KeyType::u32, memory);
    merge.count = {};
    merge.sorted_inputs = 3;
    const Plan plan = make_plan(merge, cpu_footprint);
    CHECK(plan.strategy == SortStrategy::streams);
    CHECK(plan.job.count >= 3);
    CHECK(plan.memory <= Bytes{memory});
    CHECK(plan.memory.value >= std::min(memory, 64 * mib) / 2);
    CHECK(plan.temporary == Bytes{0});
  }
  PlanRequest crowd = request(0, KeyType::u64, 1u << 16);
  crowd.count = {};
  crowd.sorted_inputs = 100'000;
  CHECK_THROWS_WITH(make_plan(crowd, cpu_footprint), ContainsSubstring("too little to merge 100000 inputs"));
}

TEST_CASE("sorted inputs need no runs formed") {
  PlanRequest merge = request(gib, KeyType::u64, gib);
  merge.sorted_inputs = 5;
  const Plan plan = make_plan(merge, cpu_footprint);
  CHECK(plan.strategy == SortStrategy::external);
  CHECK(plan.passes == 1);
  CHECK(plan.temporary == Bytes{0});
}
