// atomic_file.hpp - an output file that has its name only when it is complete.
//
//     open      O_TMPFILE in the target's directory: a file without a name, gone with the process
//     reserve   fallocate: a full disk is found before the work
//     write_at  from several threads, past the page cache
//     sync, give_name, settle    fdatasync; a hidden name (linkat), rename over the target; fsync of it and its folder
//
// On a file system without O_TMPFILE, the file has a hidden name from the start, which a signal handler
// removes (temporary_files.hpp).
#pragma once

#include "io/output.hpp"
#include "io/temporary_files.hpp"

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

namespace sweepsort {

struct FileOwner {
  uint32_t user = 0;
  uint32_t group = 0;
};

/// `mode` with the rights of group and others both reduced to what they share. Needed when the group changes,
/// because members of the old group may now be others, and the other way round.
uint32_t of_any_group(uint32_t mode);

struct AtomicFileOptions {
  bool replace = false;  // replace an existing target; false: a target that appears meanwhile is an Error
  uint32_t mode = 0666;  // permission bits
  // Owner of the file that is replaced, whose mode is `mode`. Its access control list is kept, too, if the
  // system allows it. Empty: the new file is ours, and the umask applies.
  std::optional<FileOwner> owner = {};
  // For a new file: the group that the group rights in `mode` are meant for. Empty: whatever group the file
  // gets.
  std::optional<uint32_t> group = {};
  bool allow_anonymous = true;
};

class AtomicFile : public Output {
 public:
  /// `target` is the final path, with symbolic links followed. `name` is the path that the user gave.
  AtomicFile(std::string name, std::string target, const AtomicFileOptions& options);

  const std::string& name() const override { return name_; }
  bool is_sequential() const override { return false; }
  void reserve(uint64_t bytes) override;
  void write_at(uint64_t offset, std::span<const std::byte> bytes) override { file_.write_at(offset, bytes); }
  void cut(uint64_t bytes) override;
  void sync() override;
  void check_name() const override;
  void give_name() override;
  void settle() override;

 private:
  FileDescriptor create_anonymous();
  FileDescriptor create_hidden();
  void decide_mode(int created);
  bool set_group() const;
  void set_user() const;
  bool copy_access_list() const;
  enum class Rights { all, not_of_group, of_owner };
  void set_mode(Rights kept) const;
  void rename_to_target();

  std::string name_;
  std::string directory_;  // "." or "some/where"
  FileDescriptor open_directory_;
  std::string target_;
  AtomicFileOptions options_;
  uint32_t mode_ = 0;                    // set when the file is complete; until then only we can open it
  std::optional<TemporaryName> hidden_;  // destroyed after the file is closed
  bool is_anonymous_ = false;            // it has no name until it is complete
  PositionedFile file_;
};

}  // namespace sweepsort
