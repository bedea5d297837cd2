// choose_backend.hpp - GPU or CPU: by size, order of the keys, and what this machine has.
#pragma once

#include "backend/backend.hpp"
#include "sweepsort.hpp"

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace sweepsort {

struct BackendDecision {
  BackendChoice which = BackendChoice::cpu;  // cuda or cpu
  std::string why;          // for people: "asked for", "... 310 ms on 2 CPU threads, 270 ms on a GPU ..."
  std::string no_gpu = {};  // why none can be used, where one was looked for in vain
};

/// Looking for a GPU starts the driver, which takes longer than many a small file: whoever chooses asks only
/// where the answer matters.
using AskStatus = std::function<CudaStatus()>;

/// What is to be sorted. `looks_in_order`, if there is one, takes a sample: it is asked only where the answer
/// matters, too.
struct KeysToSort {
  uint64_t count = 0;
  KeyType type = KeyType::u32;
  std::function<bool()> looks_in_order = {};
};

/// Whoever names devices wants these and no others: throws Error if one is not there.
void require_devices(const CudaStatus& status, const WhereOptions& where);
/// Throws UsageError for one that is named twice.
void require_different_devices(const WhereOptions& where);

/// Those that are named, else all that can be used, at least one: or throws Error.
std::vector<int> devices_of(const WhereOptions& where, const AskStatus& ask);
/// For operations that use one: throws UsageError for several, or all.
int only_device(const WhereOptions& where);

// Measured on an H200 machine: the context and the ring of pinned memory take 0.25 s, PCIe moves 55 GB/s each
// way.
inline constexpr double cuda_start_s = 0.25;
inline constexpr double pcie_bytes_s = 55e9;

/// Estimates, for people: "about 2.7 us on 2 CPU threads, 250 ms on a GPU with its start".
std::string describe_estimates(double cpu_s, uint32_t threads, double cuda_s);

/// `threads` is how many the CPU backend would have at a time. Throws Error with the status's reason and hint
/// if CUDA is asked for and cannot be had.
BackendDecision choose_backend(const KeysToSort& keys, const AskStatus& ask, uint32_t threads,
                               const WhereOptions& where);

/// Where lines for people go; each may be empty.
struct Lines {
  const LogFunction& log;
  const LogFunction& note;

  void say(const std::string& line) const {
    if (log) log(line);
  }
  void say_unasked(const std::string& line) const { note ? note(line) : say(line); }
};

/// The options of GPUs that were given. Device 0 is the default, and tells nothing.
std::vector<std::string> gpu_options(const WhereOptions& where, bool has_gpu_memory = false);
/// Says that these have no effect, if there are any and `no_gpu` says why no GPU can be used.
void note_ignored(const std::vector<std::string>& options, const std::string& no_gpu, const Lines& lines);

/// What is noted where the CPU takes over: from a GPU that failed, or that cannot do what is asked for.
std::string failed_gpu_line(const std::exception& error);

/// Calls run() with the backend that was decided for, and says which in `why` and to the log. Where a GPU was
/// the automatic choice and fails, whatever the reason, says so unasked and calls it once more with the CPU
/// if `may_try_again()`. UsageError, InputError and FileError are no backend's failure; nor is what a
/// callback has thrown (CallbackWatch), of which `may_try_again` knows.
void run_as_decided(const BackendDecision& decision, const WhereOptions& where, const Lines& lines,
                    std::string& why, const std::function<void(BackendChoice)>& run,
                    const std::function<bool()>& may_try_again);

}  // namespace sweepsort
