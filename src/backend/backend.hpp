// backend.hpp - what every place that can sort and scan offers: put keys in, sort, get them out.
//
// The pipeline (files) and the library (spans) drive a backend through this interface alone;
// cpu/cpu_backend.cpp and cuda.cu implement it. A backend owns its memory. Data goes in and out by chunks, in
// any order, from several threads at once, so that reading, copying to the device, digesting, copying back
// and writing overlap without the caller arranging it.
#pragma once

#include "backend/scan_session.hpp"
#include "core/algorithm.hpp"
#include "core/bytes.hpp"
#include "core/key_type.hpp"
#include "core/record.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sweepsort {

struct SortJob {
  uint64_t count = 0;  // keys; any number, 0 included
  KeyType type = KeyType::u32;
  Order order = Order::ascending;
  SortAlgorithm algorithm = SortAlgorithm::automatic;
  uint32_t value_bytes = 0;  // 0: keys alone; 4 or 8: a value travels with each key, and the sort is stable
  bool unique = false;       // get_unique will be called
  uint32_t workers = 1;      // threads that will call begin_put and get, numbered from 0
  size_t chunk_bytes = default_chunk_bytes;  // most bytes of one put or get
  /// Ordered bits of keys from all over the input, in its order; empty: not known.
  std::vector<uint64_t> sample = {};
};

/// What happened in sort(), for -v, --json and --repeat.
struct SortSummary {
  std::string algorithm;   // e.g. "counting", "radix-lsd", "radix-msd+vqsort", "already sorted"
  std::string why;         // what decided for it, e.g. "the keys span 256 values"; empty: its name says it
  double sort_s = 0;       // from the last put to the sorted data, transfers excluded
  bool get_sorts = false;  // sort() has only prepared it: get() sorts what it is asked for
};

/// Keys of some records in order, each once.
struct UniqueKeys {
  std::span<std::byte> keys;
  std::span<const uint32_t> ends;  // how many of these records there are up to the last one with this key
};

/// One job's data in one backend. Life: puts of every byte once, one sort(), then gets. Any method
/// may throw Error (or std::bad_alloc); the object is then only good for destruction. Memory is in host byte
/// order.
class SortSession {
 public:
  virtual ~SortSession() = default;

  /// A writable host buffer for the bytes [first_byte, first_byte + bytes) of a column. May block until a
  /// buffer of this worker is free. Valid until the matching end_put; a worker has one put open at a time.
  /// Chunks hold whole keys.
  virtual std::span<std::byte> begin_put(uint32_t worker, Column column, uint64_t first_byte,
                                         size_t bytes) = 0;
  /// The buffer is filled: take it (copy and digest may go on asynchronously).
  virtual void end_put(uint32_t worker) = 0;

  /// Sorts what was put. Called once, after all puts ended, from one thread.
  virtual SortSummary sort() = 0;

  /// The sorted bytes [first_byte, first_byte + bytes) of a column, in host memory; the caller may do with
  /// them in place what it likes. Valid until this worker's next call of get or the session's end. Each byte
  /// range is got once.
  virtual std::span<std::byte> get(uint32_t worker, Column column, uint64_t first_byte, size_t bytes) = 0;

  /// In place of get(), by a backend that was told so (SortJob::unique): what is different among the sorted
  /// keys [first, first + count), one at least and no more than a chunk has, with the same rules. Empty: the
  /// backend does not do that, or found that they are in no order; get() them.
  virtual std::optional<UniqueKeys> get_unique(uint32_t worker, uint64_t first, uint64_t count) {
    (void)worker;
    (void)first;
    (void)count;
    return {};
  }

  /// Begins again with `count` records of the same kind, at most as many as the job had, in the same memory:
  /// fresh memory costs as much time as the sort. False: this session cannot, begin another one.
  virtual bool restart(uint64_t count) {
    (void)count;
    return false;
  }
};

/// What `info` says of a backend.
struct BackendInfo {
  std::string name;                  // "cpu", "cuda"
  std::string description;           // e.g. "NVIDIA H200, 132 multiprocessors, 139.8 GiB, compute 9.0"
  std::vector<std::string> details;  // one fact a line
};

/// Bytes in a device's memory, beside its sessions. All may throw Error; reading and writing are thread-safe
/// for bytes that nobody else writes.
class DeviceStorage {
 public:
  virtual ~DeviceStorage() = default;
  virtual void read(uint64_t first_byte, std::span<std::byte> to) const = 0;
  virtual void write(uint64_t first_byte, std::span<const std::byte> from) = 0;
  /// Gives back all but the first so many bytes, which may move: there must be room for them beside all.
  /// Nobody reads or writes meanwhile. If it throws, nothing has changed.
  virtual void shorten(uint64_t bytes) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual BackendInfo info() const = 0;

  /// Memory that a session for `job` needs: in the machine, and on the device. Pure, may be called for any
  /// job.
  struct Footprint {
    Bytes host;
    Bytes device;
  };
  virtual Footprint footprint(const SortJob& job) const = 0;

  /// What is free on the device now (0: no device). Waits until that is awake; throws Error if it fails.
  virtual Bytes device_memory() const = 0;

  /// Takes that much of it; no backend without a device is asked.
  virtual std::unique_ptr<DeviceStorage> make_storage(uint64_t bytes);

  /// Whether a session for this job gains by a sample, and what it may take then, which can be more than its
  /// footprint, is within `memory`.
  virtual bool wants_sample(const SortJob& job, Bytes memory) const {
    (void)job;
    (void)memory;
    return false;
  }

  /// Takes all memory now, or throws Error with a hint; DeviceMemoryError, if a device is what has too
  /// little.
  virtual std::unique_ptr<SortSession> begin_sort(const SortJob& job) = 0;

  /// Sorts keys (and values, if any) in host memory in place; stable where there are values. The defaults go
  /// through begin_sort. `keys` has job.count * key_bytes bytes.
  virtual SortSummary sort(std::span<std::byte> keys, std::span<std::byte> values, const SortJob& job);

  /// Best of several runs: this backend's memory copy bandwidth in bytes/s, read + written.
  virtual double copy_bandwidth() = 0;

  /// How a scan or a search best passes through this backend: bytes of input a chunk (a multiple of 4096),
  /// and the number of workers beyond which it becomes no faster.
  struct StreamShape {
    size_t chunk_bytes;
    uint32_t max_workers;
  };
  virtual StreamShape stream_shape() const = 0;
  /// May throw Error with a hint, for an algorithm that runs elsewhere, too.
  virtual std::unique_ptr<ScanSession> begin_scan(const ScanJob& job) = 0;
  virtual std::unique_ptr<ReduceSession> begin_reduce(const ReduceJob& job) = 0;

  /// Scans `in` (elements of job.type) into `out` (as many of job.output_type), host memory both; `out` may
  /// be `in`. The default goes through begin_scan.
  virtual ScanSummary scan(std::span<const std::byte> in, std::span<std::byte> out, const ScanJob& job);
  virtual ReduceResult reduce(std::span<const std::byte> in, const ReduceJob& job);

  /// Loads `count` elements into this backend's memory once and scans (searches) them there `runs` times.
  virtual Measurement measure_scan(const ScanJob& job, uint64_t count, const FillFunction& fill,
                                   uint32_t runs) = 0;
  virtual Measurement measure_reduce(const ReduceJob& job, uint64_t count, const FillFunction& fill,
                                     uint32_t runs) = 0;
};

/// Backend::sort by way of begin_sort. `before_writing` is called when all is sorted and the spans are about
/// to change.
SortSummary sort_by_session(Backend& backend, std::span<std::byte> keys, std::span<std::byte> values,
                            const SortJob& job, const std::function<void()>& before_writing = {});

/// Several of one kind, the CPU alone or GPUs.
using Backends = std::vector<std::unique_ptr<Backend>>;

/// The CPU backend. `threads` 0: all that this process may use.
std::unique_ptr<Backend> make_cpu_backend(uint32_t threads = 0);

/// Whether a CUDA device can be used, and if not, why and what to do. Costs no context and never throws.
struct CudaStatus {
  std::vector<int> usable = {};  // ordinals of the devices that this build can use
  int device_count = 0;
  std::string reason = {};  // "this build has no CUDA", "no NVIDIA driver", "the driver is too old: ..."
  std::string hint = {};
};
CudaStatus cuda_status();
/// Whether there is a driver to ask at all: known at once, where cuda_status() wakes it, a tenth of a second
/// with an H200.
bool has_cuda_driver();

/// The CUDA backend on device `device`. Throws Error with cuda_status()'s reason and hint where it cannot be
/// had. The context comes up in the background; the first session waits for it.
std::unique_ptr<Backend> make_cuda_backend(int device = 0);

}  // namespace sweepsort
