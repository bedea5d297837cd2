// choose_backend.hpp - chooses GPU or CPU, by size, order of the keys, and what this machine has.
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
  std::string no_gpu = {};  // why no GPU can be used, if one was looked for
};

/// Asks for the state of the GPUs. This starts the driver, which takes longer than sorting many a small file,
/// so it is only called if the answer matters.
using AskStatus = std::function<CudaStatus()>;

/// What is to be sorted. `looks_in_order`, if set, takes a sample; it is only called if the answer matters.
struct KeysToSort {
  uint64_t count = 0;
  KeyType type = KeyType::u32;
  std::function<bool()> looks_in_order = {};
};

/// Throws Error if one of the named devices does not exist. No other device is used instead.
void require_devices(const CudaStatus& status, const WhereOptions& where);
/// Throws UsageError if a device is named twice.
void require_different_devices(const WhereOptions& where);

/// The named devices, or all usable ones if none are named; at least one. Throws Error otherwise.
std::vector<int> devices_of(const WhereOptions& where, const AskStatus& ask);
/// The device of an operation that uses only one. Throws UsageError for several devices, or all.
int only_device(const WhereOptions& where);

// Measured on an H200 machine: creating the context and the ring of pinned memory takes 0.25 s, and PCIe
// moves 55 GB/s each way.
inline constexpr double cuda_start_s = 0.25;
inline constexpr double pcie_bytes_s = 55e9;

/// The estimates as text: "about 2.7 us on 2 CPU threads, 250 ms on a GPU including its start".
std::string describe_estimates(double cpu_s, uint32_t threads, double cuda_s);

/// `threads` is the number of threads the CPU backend would run at a time. Throws Error with the status's
/// reason and hint if CUDA is requested but not available.
BackendDecision choose_backend(const KeysToSort& keys, const AskStatus& ask, uint32_t threads,
                               const WhereOptions& where);

/// Where lines for people go. Each function may be empty.
struct Lines {
  const LogFunction& log;
  const LogFunction& note;

  void say(const std::string& line) const {
    if (log) log(line);
  }
  void say_unasked(const std::string& line) const { note ? note(line) : say(line); }
};

/// The GPU options that were given. Device 0 is not listed, because it is the default.
std::vector<std::string> gpu_options(const WhereOptions& where, bool has_gpu_memory = false);
/// Notes that these options have no effect, if there are any and `no_gpu` says why no GPU can be used.
void note_ignored(const std::vector<std::string>& options, const std::string& no_gpu, const Lines& lines);

/// The note when the CPU takes over from a GPU that failed or cannot do what is asked for.
std::string failed_gpu_line(const std::exception& error);

/// Calls run() with the chosen backend, and reports which one in `why` and the log. If the automatic choice
/// was a GPU and it fails for any reason, notes this and calls run() again with the CPU, provided that
/// may_try_again() returns true. UsageError, InputError and, but for a shortage, FileError are not failures
/// of a backend; nor are exceptions thrown by a callback (CallbackWatch), which may_try_again() must rule
/// out.
void run_as_decided(const BackendDecision& decision, const WhereOptions& where, const Lines& lines,
                    std::string& why, const std::function<void(BackendChoice)>& run,
                    const std::function<bool()>& may_try_again);

}  // namespace sweepsort
