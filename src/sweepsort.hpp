// sweepsort.hpp - the public library: sort, scan and search files and spans of integers and floats, on the
// GPU or the CPU.
//
//     std::vector<uint64_t> keys = ...;
//     sweepsort::sort(keys, {.order = sweepsort::Order::descending});
//     const auto report = sweepsort::sort_file("in.u64", "out.u64", {.overwrite = true});
//
// Errors: sweepsort::Error (message and hint, which names the program's options; UsageError for options that
// contradict each other, InputError for what an input holds); of the system std::bad_alloc and
// std::system_error; and whatever a callback of yours throws, which is the way to end a call early. A
// function that takes names of files then leaves inputs and existing outputs alone. What a span holds is then
// unspecified where it was to be written. An output that is a pipe whose reader has gone is an Error where
// SIGPIPE is ignored; else that signal ends the process.
//
// Threads: any number of calls may run at once; each has threads of its own (WhereOptions::threads) until it
// returns. Callbacks are called by these, one at a time, and by the caller's. Where a file system knows no
// files without names (O_TMPFILE), 1,024 outputs at a time have temporary ones.
//
// Processes: a replaced output is named by a child process (vfork), which the call waits for.
//
// GPU: BackendChoice::automatic takes one where that is faster, the copies there and back included (scans and
// searches of memory never are); a GPU that fails is replaced by the CPU, and a note says so.
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

/// What a sort may take. A ceiling: what does not fit is sorted in runs, which go to temporary files.
struct MemoryOptions {
  std::optional<Bytes> memory = {};      // empty: 75 % of what machine, control group and limits leave
  std::optional<Bytes> gpu_memory = {};  // of each GPU; empty: 75 % of what is free on the fullest
  // In turn; empty: $TMPDIR, else the output's directory, else /var/tmp.
  std::vector<std::string> temporary_directories = {};
};

/// What is written of the sorted keys.
enum class SortResult : uint8_t {
  keys,         // all of them
  unique,       // each once (-u); equal means bit for bit
  permutation,  // where each stood: u32, or u64 beyond 2^32 keys (--argsort); stable
};

struct SortFileOptions {
  FileOptions file = {};
  WhereOptions where = {};
  MemoryOptions memory = {};
  Order order = Order::ascending;
  SortAlgorithm algorithm = SortAlgorithm::automatic;
  SortResult result = SortResult::keys;
  /// With unique: how often each key stood, as u64; with values, which are counts then, their sum.
  std::string counts_output = {};
  /// Files whose values travel with the keys, stably: one after the other as many as all inputs have keys.
  std::vector<std::string> values = {};
  std::string values_output = {};
  std::optional<KeyType> values_type = {};       // empty: by header, name or size; 4 or 8 bytes
  std::optional<FileFormat> output_format = {};  // of keys or positions; empty: SortReport::output_format
  bool inputs_are_sorted = false;                // --merge: that is checked
  bool plan_only = false;                        // --dry-run: only the report's plan
  bool in_place = false;                         // the output is the input
  bool overwrite = false;                        // replace an existing other output
  bool verify = true;                            // fingerprint and order before the output gets its name
  Referee referee = Referee::none;
  uint32_t repeat = 0;  // sort the loaded data so many more times and report the times
  ProgressFunction progress = {};
  LogFunction log = {};
  LogFunction note = {};
};

/// What a sort is going to do and what it takes.
struct FilePlan {
  std::string strategy;      // "in memory", "counting", "external", "streams"
  uint64_t runs = 0;         // external: sorted runs; of a stream that was not read yet 0, nobody knows
  uint64_t runs_on_gpu = 0;  // so many of them, as planned, stay in the memory of GPUs
  uint64_t runs_in_memory = 0;
  uint64_t run_records = 0;  // of each, and of each block of the merge
  uint32_t sessions = 1;     // sorted at a time: the next is read meanwhile, and the last written
  uint32_t passes = 1;       // over all records, each with a read and a write
  Bytes read;                // in all passes
  Bytes written;
  Bytes memory;       // the most that is taken
  uint32_t gpus = 0;  // that have a part in it, the first of those named; one sorts what it holds
  Bytes gpu_memory;   // of all of them
  Bytes temporary;    // disk space
  std::vector<std::string> temporary_directories = {};  // where, if any is or may be taken
};

struct SortReport {
  uint64_t count = 0;  // keys
  KeyType type = KeyType::u32;
  FileFormat format = FileFormat::raw;
  Endian endian = Endian::little;  // of the keys in the files
  uint32_t value_bytes = 0;        // of each value that travelled; 0: none
  FileFormat values_format = FileFormat::raw;
  /// What was asked for, or the input's; of a permutation what the output's name says, else the input's.
  FileFormat output_format = FileFormat::raw;
  uint64_t input_bytes = 0;
  uint64_t output_bytes = 0;
  std::string backend;        // "cpu", "cuda"
  std::string backend_why;    // why that one
  std::string device;         // what it is; of GPUs all that had a part in it
  std::string algorithm;      // what ran
  std::string algorithm_why;  // why that one; empty: its name says it
  FilePlan plan;
  std::optional<uint64_t> distinct;  // unique: keys written
  bool verified = false;
  std::optional<bool> referee_agrees;  // set if a referee ran; false: the output was not given its name
  std::vector<PhaseTime> phases;
  double total_s = 0;
  std::vector<double> repeat_s;       // --repeat: each run's sort time
  double copy_bandwidth_bytes_s = 0;  // --repeat: the device's measured copy bandwidth (read + written)
  Fingerprint fingerprint;            // with the run's random secret: comparable inside this run only
};

/// Sorts the file `input` ("-": standard input) into `output` ("-": standard output; with in_place empty, and
/// the input). The output's name holds its old content or the complete, verified result, whatever happens; an
/// output that is a pipe or a device is written straight. Throws Error; if a referee disagrees it returns
/// with referee_agrees == false.
SortReport sort_file(const std::string& input, const std::string& output,
                     const SortFileOptions& options = {});

/// The same for several files of one key type, of any formats, into one output of the first one's format.
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
  std::optional<uint64_t> first_unsorted;  // index of the first key that is smaller than the one before it
  std::string min;                         // printed values; empty if there are no keys
  std::string max;
  std::optional<uint64_t> distinct;  // exact; known if the keys are sorted or of 1 or 2 bytes
  Fingerprint
      fingerprint;  // with secret 0: the same for every permutation of a file, comparable between runs
  double total_s = 0;
};

/// Reads the file once, in little memory: 40 bytes for every 4 MiB of the file, and a few MiB. Throws Error
/// if it cannot be read; a file that is not sorted is no error.
CheckReport check_file(const std::string& input, const CheckOptions& options = {});

struct GenerateOptions {
  std::string distribution = "uniform";  // a name from datasets/distributions.hpp
  KeyType type = KeyType::u32;           // whatever the output's name says
  uint64_t count = 0;
  uint64_t seed = 1;
  FileFormat format = FileFormat::automatic;  // by the output's name, else raw
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

/// Writes seeded test data, with the promise of sort_file; the same options give the same bytes on every
/// machine and with any number of threads. UsageError for a distribution that is not known, or not of that
/// type.
GenerateReport generate_file(const std::string& output, const GenerateOptions& options);

/// The key type that a file name's ending says: "x.u32", "x.uint32", "x_uint64".
std::optional<KeyType> type_from_name(std::string_view file_name);

/// The format that a file name's ending says: npy, sosd ("x_uint64") or, as all others do, raw.
FileFormat format_from_name(std::string_view file_name);

/// Whether two outputs are one, whatever their names: a file, also one that is still to be made, or a pipe.
/// "-" is standard output. Never of terminals and other character devices, which lose nothing.
bool are_one_output(const std::string& a, const std::string& b);

/// Writes a small file that gets its name when it is on the disk: an earlier one stays if that fails. Throws
/// Error.
void replace_file(const std::string& path, std::string_view text);

/// One entry of the list of distributions that generate_file knows.
struct DistributionInfo {
  std::string name;
  std::string summary;         // one line
  std::string plot;            // ASCII, several lines
  std::vector<KeyType> types;  // that it suits
};

/// All of them, in the order in which `generate --list` shows them.
std::vector<DistributionInfo> distributions();

/// A place that can sort, or why it cannot.
struct BackendReport {
  std::string name;  // "cpu", "cuda"
  bool usable = false;
  std::string description;           // what it is
  std::vector<std::string> details;  // one fact a line
  std::string reason;                // why it is not usable
  std::string hint;                  // what to do about that
};

/// "0.1.0"
std::string_view version();

/// What this build can do and what it finds on this machine.
struct SystemReport {
  std::string compiler;
  std::string cuda;     // version of the toolkit compiled in; empty: none
  std::string highway;  // version compiled in; empty: none
  std::string thrust;   // version compiled in; empty: none
  std::vector<BackendReport> backends;
};

/// Looks for GPUs, which wakes their driver: a fraction of a second. What is wrong with one is told, not
/// thrown.
SystemReport system_report();

/// Removes the temporary files of every running operation, which do not return any more: those that would
/// make or name a file wait for ever. Async-signal-safe: for the handler of a signal that is about to end the
/// process.
void remove_temporary_files() noexcept;

struct SortOptions {
  WhereOptions where = {};
  Order order = Order::ascending;
  SortAlgorithm algorithm = SortAlgorithm::automatic;
  LogFunction note = {};  // a GPU that failed, where the CPU took over
};

/// Sorts in place, in O(n). Keys: the ten key types. Of memory the CPU takes little more than the keys have;
/// pairs take as much again. Error where a GPU is asked for and cannot be had or hold them, and for counting
/// keys whose range is too wide; UsageError for several devices.
template <WritableRange Keys>
void sort(Keys&& keys, const SortOptions& options = {});

/// Sorts keys in place and applies the same permutation to the values; stable. Values: 4 or 8 bytes,
/// trivially copyable. Both have the same length, else Error.
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
