// backend.hpp - the interface of everything that can sort and scan: put keys in, sort, get them out.
//
// The pipeline (files) and the library (spans) use a backend only through this interface; cpu/cpu_backend.cpp
// and cuda.cu implement it. A backend owns its memory. Data goes in and out in chunks, in any order, from
// several threads at once. So reading, copying to the device, digesting, copying back and writing overlap
// without any effort of the caller.
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
  uint64_t count = 0;  // keys; any number, including 0
  KeyType type = KeyType::u32;
  Order order = Order::ascending;
  SortAlgorithm algorithm = SortAlgorithm::automatic;
  uint32_t value_bytes = 0;  // 0: keys alone; 4 or 8: each key has a value, and the sort is stable
  bool unique = false;       // get_unique will be called
  uint32_t workers = 1;      // threads that will call begin_put and get, numbered from 0
  size_t chunk_bytes = default_chunk_bytes;  // most bytes in one put or get
  /// Ordered bits of keys sampled across the whole input, in input order. Empty: no sample.
  std::vector<uint64_t> sample = {};
};

/// What sort() did, for -v, --json and --repeat.
struct SortSummary {
  std::string algorithm;   // e.g. "counting", "radix-lsd", "radix-msd+vqsort", "already sorted"
  std::string why;         // the reason, e.g. "the keys span 256 values"; empty if the name says it all
  double sort_s = 0;       // from the last put to the sorted data, without transfers
  bool get_sorts = false;  // sort() only prepared the data: get() sorts what it is asked for
};

/// The distinct keys of a range of sorted records.
struct UniqueKeys {
  std::span<std::byte> keys;
  // per key: number of records in the range up to and including the last with it
  std::span<const uint32_t> ends;
};

/// One job's data in one backend. Order of calls: put every byte once, then one sort(), then gets. Any method
/// may throw Error (or std::bad_alloc); after that the object can only be destroyed. Memory is in host byte
/// order.
class SortSession {
 public:
  virtual ~SortSession() = default;

  /// Returns a writable host buffer for the bytes [first_byte, first_byte + bytes) of a column. May block
  /// until a buffer of this worker is free. Valid until the matching end_put; a worker has at most one put
  /// open at a time. Chunks hold whole keys.
  virtual std::span<std::byte> begin_put(uint32_t worker, Column column, uint64_t first_byte,
                                         size_t bytes) = 0;
  /// The buffer is filled: takes it. Copying and digesting may continue asynchronously.
  virtual void end_put(uint32_t worker) = 0;

  /// Sorts the data. Called once, after all puts have ended, from one thread.
  virtual SortSummary sort() = 0;

  /// Returns the sorted bytes [first_byte, first_byte + bytes) of a column, in host memory. The caller may
  /// modify them in place. Valid until this worker's next call of get or the end of the session. Each byte
  /// may be fetched only once or, if the job has no sample, until it was modified.
  virtual std::span<std::byte> get(uint32_t worker, Column column, uint64_t first_byte, size_t bytes) = 0;

  /// Replaces get() if SortJob::unique is set. Returns the distinct keys among the sorted keys [first, first
  /// + count), where count is at least 1 and at most a chunk. The rules of get() apply. Empty if the backend
  /// does not support this or found the keys out of order; use get() for them then.
  virtual std::optional<UniqueKeys> get_unique(uint32_t worker, uint64_t first, uint64_t count) {
    (void)worker;
    (void)first;
    (void)count;
    return {};
  }

  /// Starts again in the same memory with `count` records of the same kind, at most as many as the job had.
  /// (Allocating fresh memory takes as long as the sort.) Returns false if this session cannot do that; begin
  /// another one then.
  virtual bool restart(uint64_t count) {
    (void)count;
    return false;
  }
};

/// What the `info` command shows about a backend.
struct BackendInfo {
  std::string name;                  // "cpu", "cuda"
  std::string description;           // e.g. "NVIDIA H200, 132 multiprocessors, 139.8 GiB, compute 9.0"
  std::vector<std::string> details;  // one fact per line
};

/// Memory on a device for data outside of its sessions. All methods may throw Error. Reading and writing are
/// thread-safe as long as no other thread writes the same bytes.
class DeviceStorage {
 public:
  virtual ~DeviceStorage() = default;
  virtual void read(uint64_t first_byte, std::span<std::byte> to) const = 0;
  virtual void write(uint64_t first_byte, std::span<const std::byte> from) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual BackendInfo info() const = 0;

  /// The memory that a session for `job` needs, in main memory and on the device. Pure; may be called for any
  /// job.
  struct Footprint {
    Bytes host;
    Bytes device;
  };
  virtual Footprint footprint(const SortJob& job) const = 0;

  /// The memory that is free on the device now (0: no device). Waits until the device is awake; throws Error
  /// if the device fails.
  virtual Bytes device_memory() const = 0;

  /// Allocates `bytes` of device memory. Only called on a backend with a device.
  virtual std::unique_ptr<DeviceStorage> make_storage(uint64_t bytes);

  /// Whether a session for this job profits from a sample and the memory that it may then use is within
  /// `memory`. That can be more than its footprint.
  virtual bool wants_sample(const SortJob& job, Bytes memory) const {
    (void)job;
    (void)memory;
    return false;
  }

  /// Allocates all memory now. Throws Error with a hint; DeviceMemoryError if a device has too little memory.
  virtual std::unique_ptr<SortSession> begin_sort(const SortJob& job) = 0;

  /// Sorts keys (and values, if any) in host memory in place; stable if there are values. The default
  /// implementation uses begin_sort. `keys` has job.count * key_bytes bytes.
  virtual SortSummary sort(std::span<std::byte> keys, std::span<std::byte> values, const SortJob& job);

  /// This backend's memory copy bandwidth in bytes/s, read + written: the best of several runs.
  virtual double copy_bandwidth() = 0;

  /// The best way to pass the data of a scan or search through this backend: bytes of input per chunk (a
  /// multiple of 4096), and the number of workers above which it gets no faster.
  struct StreamShape {
    size_t chunk_bytes;
    uint32_t max_workers;
  };
  virtual StreamShape stream_shape() const = 0;
  /// May throw Error with a hint, also for an algorithm that this backend does not run.
  virtual std::unique_ptr<ScanSession> begin_scan(const ScanJob& job) = 0;
  virtual std::unique_ptr<ReduceSession> begin_reduce(const ReduceJob& job) = 0;

  /// Scans `in` (elements of job.type) into `out` (as many elements of job.output_type), both in host memory.
  /// `out` may be `in`. The default implementation uses begin_scan.
  virtual ScanSummary scan(std::span<const std::byte> in, std::span<std::byte> out, const ScanJob& job);
  virtual ReduceResult reduce(std::span<const std::byte> in, const ReduceJob& job);

  /// Loads `count` elements into this backend's memory once, then scans (or searches) them there `runs`
  /// times.
  virtual Measurement measure_scan(const ScanJob& job, uint64_t count, const FillFunction& fill,
                                   uint32_t runs) = 0;
  virtual Measurement measure_reduce(const ReduceJob& job, uint64_t count, const FillFunction& fill,
                                     uint32_t runs) = 0;
};

/// Implements Backend::sort with begin_sort. `before_writing` is called when everything is sorted and the
/// spans are about to change.
SortSummary sort_by_session(Backend& backend, std::span<std::byte> keys, std::span<std::byte> values,
                            const SortJob& job, const std::function<void()>& before_writing = {});

/// Several backends of one kind: the CPU alone, or GPUs.
using Backends = std::vector<std::unique_ptr<Backend>>;

/// Makes the CPU backend. `threads` 0: all that this process may use.
std::unique_ptr<Backend> make_cpu_backend(uint32_t threads = 0);

/// Whether a CUDA device can be used; if not, why, and what to do. Creates no context and never throws.
struct CudaStatus {
  std::vector<int> usable = {};  // ordinals of the devices that this build can use
  int device_count = 0;
  std::string reason = {};  // "this build has no CUDA", "no NVIDIA driver", "the driver is too old: ..."
  std::string hint = {};
};
CudaStatus cuda_status();
/// Whether there is a driver to ask at all. Known at once, whereas cuda_status() wakes the driver, which
/// takes a tenth of a second with an H200.
bool has_cuda_driver();

/// Makes the CUDA backend on device `device`. Throws Error with cuda_status()'s reason and hint if it is not
/// available. The context is created in the background; the first session waits for it.
std::unique_ptr<Backend> make_cuda_backend(int device = 0);

}  // namespace sweepsort
