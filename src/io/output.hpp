// output.hpp - where a result goes: a file that appears completely or not at all, or a pipe or device that is
// written directly.
#pragma once

#include "io/input_file.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sweepsort {

/// Takes bytes at given positions.
class ByteTarget {
 public:
  virtual ~ByteTarget() = default;
  /// Whether bytes must be written from front to back, by one thread at a time.
  virtual bool is_sequential() const = 0;
  /// Thread-safe unless is_sequential() is true.
  virtual void write_at(uint64_t offset, std::span<const std::byte> bytes) = 0;
};

struct OutputOptions {
  bool overwrite = false;                     // replace an existing file other than the input
  bool in_place = false;                      // replace the input
  bool may_be_in_place = false;               // in_place would be possible; for hints
  const InputFile* input = nullptr;           // must not be overwritten by accident; its mode is kept
  std::vector<const InputFile*> others = {};  // must not be overwritten either
  // nothing will be written; a pipe is not opened, since its reader would see it end
  bool only_planned = false;
  bool allow_anonymous = true;  // use O_TMPFILE if the file system has it; false: for tests without it
};

/// Order of calls: reserve() once, write_at() until everything is written, cut() if that was less, commit().
/// Without commit(), destruction leaves no trace in the file system.
class Output : public ByteTarget {
 public:
  /// For messages and reports.
  virtual const std::string& name() const = 0;
  /// Takes the disk space for `bytes` bytes in total, so that a full disk is found before the work starts.
  virtual void reserve(uint64_t bytes) = 0;
  /// Writes what comes before the data. That of a stream waits for the data, or for sync(): an error in the
  /// first keys leaves nothing there.
  virtual void write_header(std::span<const std::byte> header) { write_at(0, header); }
  /// For a pipe: from now on writes throw Stopped, including those in progress, so that no thread waits for a
  /// reader after a failure. Thread-safe.
  virtual void stop() const {}
  /// Only `bytes` bytes were written; frees what was reserved after them.
  virtual void cut(uint64_t bytes) = 0;
  /// Call this when everything is written and correct: makes the content durable.
  virtual void sync() = 0;
  /// After sync(): throws what give_name() would throw, as far as that can be known.
  virtual void check_name() const = 0;
  /// After sync(): gives the content its name.
  virtual void give_name() = 0;
  /// After give_name(): makes the name durable.
  virtual void settle() = 0;
};

/// Makes the outputs durable and gives them their names, in order. Each step is done for all outputs before
/// the next step begins. So a disk that fails late fails in sync(), when no name has changed yet, and if one
/// output cannot get its name, the others do not get theirs, either. `replaced`: the input that an output
/// replaces. It is checked for changes, so nothing that others wrote is lost, not even what they wrote while
/// the disk was busy.
void commit(std::span<Output* const> outputs, const InputFile* replaced = nullptr);
inline void commit(Output& output, const InputFile* replaced = nullptr) {
  Output* const one[] = {&output};
  commit(one, replaced);
}

/// Opens the output for `path` ("-" and "/dev/stdout": standard output; empty with in_place: the input).
/// Throws Error for everything that can be checked in advance: the output exists, is the input, a directory
/// or a terminal; its directory is missing or not writable; the system would not let it be replaced. Symbolic
/// links are followed: the target of the link gets replaced.
std::unique_ptr<Output> open_output(const std::string& path, const OutputOptions& options = {});

/// Throws Error if a pipe is both input and output: it would wait for itself.
void refuse_shared_pipe(std::span<const std::string> inputs, const std::string& output);

/// The directory part of a path; "." if there is none.
std::string parent_of(const std::filesystem::path& path);

/// The directory that a regular output is in, or will be. Symbolic links are followed.
std::string directory_of(const std::string& output);

/// Whether two names mean the same output: one file (which need not exist yet) or one pipe. "-" is standard
/// output. False for terminals and other character devices, where two outputs do not overwrite each other.
bool are_one_output(const std::string& a, const std::string& b);

/// Writes a small file, which replaces an existing one when it is complete and on the disk.
void replace_file(const std::string& path, std::string_view text);

}  // namespace sweepsort
