// output.hpp - where a result goes: a file that appears whole or not at all, or a pipe or device written
// straight.
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

/// Takes bytes by their positions.
class ByteTarget {
 public:
  virtual ~ByteTarget() = default;
  /// Must be written front to back, by one thread at a time.
  virtual bool is_sequential() const = 0;
  /// Thread-safe unless is_sequential().
  virtual void write_at(uint64_t offset, std::span<const std::byte> bytes) = 0;
};

struct OutputOptions {
  bool overwrite = false;                     // replace an existing other file
  bool in_place = false;                      // replace the input
  bool may_be_in_place = false;               // that could be asked for
  const InputFile* input = nullptr;           // must not be overwritten by accident; its mode is kept
  std::vector<const InputFile*> others = {};  // nor may these
  bool only_planned = false;  // nothing will be written: a pipe, whose reader would see its end, stays closed
  bool allow_anonymous = true;  // O_TMPFILE where the file system has it (false: tests of the other way)
};

/// Life: reserve() once, write_at() until all is written, cut() if it was less, commit(). Destruction without
/// commit() leaves no trace in the file system.
class Output : public ByteTarget {
 public:
  /// For messages and reports.
  virtual const std::string& name() const = 0;
  /// Takes the disk space for that many bytes in all, so that a full disk is found before the work.
  virtual void reserve(uint64_t bytes) = 0;
  /// Of a pipe: writes, those under way as well, throw Stopped from now on, so that nobody waits for a reader
  /// once all has failed. Thread-safe.
  virtual void stop() const {}
  /// Only so many bytes were written; what was reserved behind them goes.
  virtual void cut(uint64_t bytes) = 0;
  /// Everything was written and is right: makes the content durable.
  virtual void sync() = 0;
  /// After sync(): throws what give_name() would, as far as that can be seen.
  virtual void check_name() const = 0;
  /// After sync(): the content gets its name.
  virtual void give_name() = 0;
  /// After give_name(): makes the name durable.
  virtual void settle() = 0;
};

/// Makes the outputs durable and gives them their names, in their order. Each step is taken for all of them
/// before the next one: a disk that fails late fails in sync(), when no name has changed yet, and what stands
/// in the way of one leaves the others without their names, too. `replaced`: the input that an output takes
/// the place of; if somebody has changed it, nobody's writing is lost, not even what came while the disk was
/// busy.
void commit(std::span<Output* const> outputs, const InputFile* replaced = nullptr);
inline void commit(Output& output, const InputFile* replaced = nullptr) {
  Output* const one[] = {&output};
  commit(one, replaced);
}

/// Opens the output for `path` ("-" and "/dev/stdout": standard output; empty with in_place: the input).
/// Every reason not to write there that is looked for beforehand is an Error now: it exists, is the input, a
/// directory or a terminal, its directory is missing or not writable, the system would not let it be
/// replaced. A symbolic link is followed: its target gets replaced.
std::unique_ptr<Output> open_output(const std::string& path, const OutputOptions& options = {});

/// A pipe that is read and written waits for itself, already where it is opened: an Error before that.
void refuse_shared_pipe(std::span<const std::string> inputs, const std::string& output);

/// The directory that a path names something in, "." if it says none.
std::string parent_of(const std::filesystem::path& path);

/// The directory that a regular output is in, or will be: of a link, that of what it leads to.
std::string directory_of(const std::string& output);

/// Whether two outputs are one, whatever their names: a file, also one that is still to be made, or a pipe.
/// "-" is standard output. Never of terminals and other character devices, which lose nothing.
bool are_one_output(const std::string& a, const std::string& b);

/// Writes all of a small file, which replaces an earlier one when it is on the disk.
void replace_file(const std::string& path, std::string_view text);

}  // namespace sweepsort
