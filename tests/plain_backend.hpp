// plain_backend.hpp - the simplest possible backend (std::sort, and the CPU's scans), correct or faulty in a
// chosen way.
#pragma once

#include "backend/backend.hpp"

#include <functional>
#include <memory>
#include <string>

namespace sweepsort::test {

/// What goes wrong in a session.
enum class Fault {
  none,
  drops_key,
  doubles_key,
  flips_bit,
  swaps_neighbours,
  swaps_chunks,   // the first two
  leaves_values,  // where they were
  fails_to_begin,
  fails_to_sort,
  fails_to_get,
  fails_to_get_first,  // chunk, once another worker has got one
  // With these, a session packs equal keys (get_unique), correctly or not.
  packs,
  packs_without_one,  // its records are counted for the next key
  packs_one_twice,    // its records are divided between the two
  packs_one_of_none,  // a key that no record has
  packs_flipped_bit,
  packs_wrong_count,
  packs_nothing,
  packs_too_few,
  packs_too_many  // says that they are not in order
};

class PlainBackend : public Backend {
 public:
  /// `is_faulty`: each session that sorts asks it whether the session has the fault. Empty: every session has
  /// it.
  explicit PlainBackend(Fault fault = Fault::none, std::string name = "plain",
                        std::function<bool()> is_faulty = {});

  BackendInfo info() const override;
  /// From now on, sessions need device memory, of which `memory` is free, and of main memory only one chunk
  /// for each worker.
  void limit_device(Bytes memory) { device_ = memory; }
  /// A session that needs more device memory finds that others have taken it.
  void limit_sessions(Bytes memory) { max_of_session_ = memory; }
  /// Only this many requests for storage are granted.
  void limit_storage(uint64_t requests) { storage_left_ = requests; }
  /// Not thread-safe: the device memory that was given out as storage so far.
  Bytes stored() const { return stored_; }

  Footprint footprint(const SortJob& job) const override;
  Bytes device_memory() const override { return device_; }
  std::unique_ptr<DeviceStorage> make_storage(uint64_t bytes) override;
  std::unique_ptr<SortSession> begin_sort(const SortJob& job) override;
  double copy_bandwidth() override { return 1e9; }

  StreamShape stream_shape() const override { return {4096, 16}; }
  std::unique_ptr<ScanSession> begin_scan(const ScanJob& job) override;
  std::unique_ptr<ReduceSession> begin_reduce(const ReduceJob& job) override;
  Measurement measure_scan(const ScanJob& job, uint64_t count, const FillFunction& fill,
                           uint32_t runs) override;
  Measurement measure_reduce(const ReduceJob& job, uint64_t count, const FillFunction& fill,
                             uint32_t runs) override;

 private:
  Fault fault_;
  std::string name_;
  std::function<bool()> is_faulty_;
  Bytes device_{0};
  Bytes max_of_session_{~uint64_t{0}};
  Bytes stored_{0};
  uint64_t storage_left_ = ~uint64_t{0};
  std::unique_ptr<Backend> cpu_ = make_cpu_backend(2);
};

}  // namespace sweepsort::test
