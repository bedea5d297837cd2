// sweepsort.hpp - the public library: sort, scan and search files and spans of integers and floats, on the
// GPU or the CPU.
//
//     std::vector<uint64_t> keys = ...;
//     sweepsort::sort(keys, {.order = sweepsort::Order::descending});
//     const auto report = sweepsort::sort_file("in.u64", "out.u64", {.overwrite = true});
//
// Errors: functions throw sweepsort::Error, which has a message and a hint; hints name options of the
// sweepsort program. Kinds of Error are UsageError (options contradict each other), InputError (the content
// of an input is the problem) and FileError (the system refused an operation on a file). The system's errors
// std::bad_alloc and std::system_error are also possible, as is any exception thrown by a callback of yours;
// throw one to end a call early. If a function that takes file names throws, it leaves inputs and existing
// outputs as they were. If a function that writes to a span throws, the content of the span is unspecified.
// Writing to a pipe whose reader has gone is an Error if SIGPIPE is ignored; otherwise the signal ends the
// process.
//
// Threads: any number of calls may run at once. Each has its own threads (WhereOptions::threads) until it
// returns. Callbacks run on these threads, one at a time, and on the calling thread. An output that replaces
// a file, or lies on a file system without O_TMPFILE (files without names), needs a temporary name; there can
// be 1,024 of these at a time.
//
// Processes: a child process (vfork) gives a replaced output its name; the call waits for it.
//
// GPU: BackendChoice::automatic takes a GPU if that is faster, including the copies there and back (never for
// scans and searches of memory). If a GPU fails, the CPU takes over, and a note says so.
// (A FileError is not a failure of the GPU.)
#pragma once

#include "core/algorithm.hpp"
#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/file_options.hpp"
#include "core/fingerprint.hpp"
#include "core/key_type.hpp"
#include "sweepsort_parallel.hpp"
#include "sweepsort_scan.hpp"
#include "sweepsort_types.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sweepsort {

enum class Referee : uint8_t { none, thrust };  // --validate: sort again elsewhere and compare every element

/// Upper limits on what a sort may use. Data that does not fit is sorted in runs, which go to temporary
/// files.
struct MemoryOptions {
  std::optional<Bytes> memory = {};  // empty: 75 % of what the machine, the control group and limits leave
  std::optional<Bytes> gpu_memory = {};  // per GPU; empty: 75 % of the least that any of them has free
  // Used in turn. Empty: $TMPDIR, else the output's directory, else /var/tmp.
  std::vector<std::string> temporary_directories = {};
};

/// What a sort writes.
enum class SortResult : uint8_t {
  keys,             // all sorted keys
  unique,           // each distinct key once (-u); keys are equal if all their bits are
  permutation,      // each key's place in the input: u32, or u64 beyond 2^32 keys (--argsort); stable
  first_positions,  // where each distinct key first stands in the input (-u --argsort), as in a permutation
};
constexpr bool is_unique(SortResult result) {
  return result == SortResult::unique || result == SortResult::first_positions;
}
constexpr bool has_positions(SortResult result) {
  return result == SortResult::permutation || result == SortResult::first_positions;
}

struct SortFileOptions {
  FileOptions file = {};
  WhereOptions where = {};
  MemoryOptions memory = {};
  Order order = Order::ascending;
  SortAlgorithm algorithm = SortAlgorithm::automatic;
  SortResult result = SortResult::keys;
  /// With unique: a file for the count of each key, as u64. With values, which are counts then, their sum.
  std::string counts_output = {};
  /// Files whose values are reordered like the keys, stably: together as many values as all inputs have keys.
  /// With unique and without counts_output, the first value of each key is kept.
  std::vector<std::string> values = {};
  std::string values_output = {};
  std::optional<KeyType> values_type = {};       // empty: by header, name or size; 4 or 8 bytes
  std::optional<Endian> values_endian = {};      // empty: from the .npy header, else little; for their sums
  std::optional<FileFormat> output_format = {};  // of keys or positions; empty: SortReport::output_format
  bool inputs_are_sorted = false;                // --merge; the order is checked; streams only of keys alone
  bool plan_only = false;                        // --dry-run: only make the plan in the report
  bool in_place = false;                         // write the output over the input
  bool overwrite = false;                        // replace an existing output
  bool verify = true;  // check fingerprint and order before the output gets its name
  Referee referee = Referee::none;
  uint32_t repeat = 0;  // sort the loaded data this many more times and report the times
  ProgressFunction progress = {};
  LogFunction log = {};
  LogFunction note = {};
};

/// What a sort is going to do, and what it needs.
struct FilePlan {
  std::string strategy;      // "in memory", "counting", "external", "streams"
  uint64_t runs = 0;         // external: sorted runs; 0 for a stream not read yet (unknown)
  uint64_t runs_on_gpu = 0;  // how many of them are planned to stay in GPU memory
  uint64_t runs_in_memory = 0;
  uint64_t run_records = 0;  // records in each run, and in each block of the merge
  uint32_t sessions = 1;     // runs sorted at a time, while the next is read and the last is written
  uint32_t passes = 1;       // over all records, each with a read and a write
  Bytes read;                // in all passes together
  Bytes written;
  Bytes memory;       // the most main memory in use at a time
  uint32_t gpus = 0;  // how many take part, the first of those named; only one if it holds all the data
  Bytes gpu_memory;   // of all GPUs together
  Bytes temporary;    // disk space for temporary files
  std::vector<std::string> temporary_directories = {};  // where they are or may be written, if anywhere
};

struct SortReport {
  uint64_t count = 0;  // keys
  KeyType type = KeyType::u32;
  FileFormat format = FileFormat::raw;
  Endian endian = Endian::little;  // of the keys in the files
  uint32_t value_bytes = 0;        // of each value that travels with a key; 0: none
  FileFormat values_format = FileFormat::raw;
  Endian values_endian = Endian::little;
  /// The one asked for, else the input's format; for a permutation, what the output's name says, else the
  /// input's.
  FileFormat output_format = FileFormat::raw;
  KeyType output_type = KeyType::u32;  // the keys' type; of positions u32, or u64 beyond 2^32 keys
  uint64_t input_bytes = 0;
  uint64_t output_bytes = 0;
  std::string backend;        // "cpu", "cuda"
  std::string backend_why;    // why this backend
  std::string device;         // what it is; with several GPUs, all that took part
  std::string algorithm;      // the one that ran
  std::string algorithm_why;  // why this one; empty if the name says it all
  FilePlan plan;
  std::optional<uint64_t> distinct;  // unique, first_positions: number of distinct keys
  bool verified = false;
  std::optional<bool> referee_agrees;  // set if a referee ran; false: the output did not get its name
  std::vector<PhaseTime> phases;
  double total_s = 0;
  std::vector<double> repeat_s;       // --repeat: the sort time of each repetition
  double copy_bandwidth_bytes_s = 0;  // --repeat: the device's measured copy bandwidth (read + written)
  Fingerprint fingerprint;            // uses a random secret per run: comparable only within this run
};

/// Sorts the file `input` ("-": standard input) into `output` ("-": standard output; with in_place: empty, or
/// the input's name). Whatever happens, the output's name holds either its old content or the complete,
/// verified result. An output that is a pipe or a device is written directly. Throws Error; if a referee
/// disagrees, returns with referee_agrees == false.
SortReport sort_file(const std::string& input, const std::string& output,
                     const SortFileOptions& options = {});

/// Sorts several files of one key type, in any formats, into one output in the format of the first file.
/// Otherwise like sort_file.
SortReport sort_files(const std::vector<std::string>& inputs, const std::string& output,
                      const SortFileOptions& options = {});

struct CheckOptions {
  FileOptions file = {};
  uint32_t threads = 0;  // 0: all that this process may use
  Order order = Order::ascending;
  ProgressFunction progress = {};
  LogFunction log = {};
};

struct CheckReport {
  uint64_t count = 0;
  KeyType type = KeyType::u32;
  FileFormat format = FileFormat::raw;
  bool sorted = false;
  std::optional<uint64_t> first_unsorted;  // index of the first key that is smaller than its predecessor
  std::string min;                         // as printed text; empty if there are no keys
  std::string max;
  std::optional<uint64_t> distinct;  // exact; known if the keys are sorted, or have 1 or 2 bytes
  // With secret 0: the same for every permutation of a file, and comparable between runs.
  Fingerprint fingerprint;
  double total_s = 0;
};

/// Reads the file once, with little memory: 40 bytes per 4 MiB of the file, plus a few MiB. Throws Error if
/// the file cannot be read; an unsorted file is not an error.
CheckReport check_file(const std::string& input, const CheckOptions& options = {});

struct GenerateOptions {
  std::string distribution = "uniform";  // a name from datasets/distributions.hpp
  KeyType type = KeyType::u32;           // takes precedence over the output's name
  uint64_t count = 0;
  uint64_t seed = 1;
  FileFormat format = FileFormat::automatic;  // automatic: by the output's name, else raw
  Endian endian = Endian::little;
  bool overwrite = false;
  uint32_t threads = 0;  // 0: all that this process may use
  ProgressFunction progress = {};
};

struct GenerateReport {
  uint64_t count = 0;
  uint64_t bytes = 0;
  double total_s = 0;
};

/// Writes seeded test data; the output's name is treated as in sort_file. The same options give the same
/// bytes on every machine and with any number of threads. Throws UsageError if the distribution is unknown or
/// does not support the key type.
GenerateReport generate_file(const std::string& output, const GenerateOptions& options);

/// The key type according to the ending of a file name: "x.u32", "x.uint32", "x_uint64".
std::optional<KeyType> type_from_name(std::string_view file_name);

/// The format according to the ending of a file name: npy, sosd ("x_uint64"), or raw for all others.
FileFormat format_from_name(std::string_view file_name);

/// Whether two names mean the same output: one file (which need not exist yet) or one pipe. "-" is standard
/// output. False for terminals and other character devices, where two outputs do not overwrite each other.
bool are_one_output(const std::string& a, const std::string& b);

/// Writes a small file. It gets its name only when it is on the disk, so an existing file stays if writing
/// fails. Throws Error.
void replace_file(const std::string& path, std::string_view text);

/// One entry in the list of distributions that generate_file offers.
struct DistributionInfo {
  std::string name;
  std::string summary;         // one line
  std::string plot;            // ASCII, several lines
  std::vector<KeyType> types;  // supported key types
};

/// All distributions, in the order in which `generate --list` shows them.
std::vector<DistributionInfo> distributions();

/// A backend that can sort, or the reason why it cannot.
struct BackendReport {
  std::string name;  // "cpu", "cuda"
  bool usable = false;
  std::string description;           // what it is
  std::vector<std::string> details;  // one fact per line
  std::string reason;                // why it is not usable
  std::string hint;                  // what to do about that
};

/// "0.1.0"
std::string_view version();

/// What this build can do, and what it finds on this machine.
struct SystemReport {
  std::string compiler;
  std::string cuda;     // version of the toolkit compiled in; empty: none
  std::string highway;  // version compiled in; empty: none
  std::string thrust;   // version compiled in; empty: none
  std::vector<BackendReport> backends;
};

/// Looks for GPUs, which wakes their driver and takes a fraction of a second. Problems with a GPU are
/// reported, not thrown.
SystemReport system_report();

/// Removes the temporary files of all running operations. These operations never return: a thread that tries
/// to create or name a file waits forever. Async-signal-safe; meant for the handler of a signal that is about
/// to end the process.
void remove_temporary_files() noexcept;

struct SortOptions {
  WhereOptions where = {};
  Order order = Order::ascending;
  SortAlgorithm algorithm = SortAlgorithm::automatic;
  LogFunction note = {};  // called if a GPU fails and the CPU takes over
};

/// Sorts in place, in O(n). Keys: the ten key types. On the CPU, keys need little extra memory; pairs need as
/// much again as they occupy. Throws Error if a GPU is asked for but is not available or too small, and for a
/// counting sort of keys whose range is too wide; UsageError for several devices.
template <WritableRange Keys>
void sort(Keys&& keys, const SortOptions& options = {});

/// Sorts keys in place and applies the same permutation to the values; stable. Values: 4 or 8 bytes,
/// trivially copyable. Throws Error if the lengths differ or the two overlap.
template <WritableRange Keys, WritableRange Values>
void sort_pairs(Keys&& keys, Values&& values, const SortOptions& options = {});

namespace detail {
void sort_bytes(KeyType type, uint64_t count, std::span<std::byte> keys, std::span<std::byte> values,
                uint32_t value_bytes, const SortOptions& options);
}

template <WritableRange Keys>
void sort(Keys&& keys, const SortOptions& options) {
  const std::span all(keys);
  detail::sort_bytes(key_type_of<ElementOf<Keys>>(), all.size(), std::as_writable_bytes(all), {}, 0, options);
}

template <WritableRange Keys, WritableRange Values>
void sort_pairs(Keys&& keys, Values&& values, const SortOptions& options) {
  using Value = ElementOf<Values>;
  static_assert(std::is_trivially_copyable_v<Value> && (sizeof(Value) == 4 || sizeof(Value) == 8));
  const std::span all_keys(keys);
  const std::span all_values(values);
  if (all_keys.size() != all_values.size()) throw Error("sort_pairs: keys and values differ in length");
  detail::sort_bytes(key_type_of<ElementOf<Keys>>(), all_keys.size(), std::as_writable_bytes(all_keys),
                     std::as_writable_bytes(all_values), sizeof(Value), options);
}

}  // namespace sweepsort
