// input_file.hpp - a file to read: at any position, or from front to back if it is a pipe.
#pragma once

#include "io/positioned_file.hpp"
#include "io/stop_event.hpp"

#include <sys/stat.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sweepsort {

/// Identity of a file, independent of its path: the same through all links, and for a block device through
/// all of its device nodes.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  bool is_device = false;
  static FileIdentity of(const struct stat& status) {
    if (S_ISBLK(status.st_mode)) return {status.st_rdev, 0, true};
    return {status.st_dev, status.st_ino, false};
  }
  friend bool operator==(FileIdentity, FileIdentity) = default;
};

inline constexpr const char* access_list_attribute = "system.posix_acl_access";

/// Who may do what with a file.
struct FileAccess {
  uint32_t mode = 0;  // permission bits
  uint32_t group = 0;
  bool has_list = false;  // has an access control list, so the mode is not the whole truth
};

/// The name used in messages.
inline constexpr std::string_view standard_input_name = "standard input";

inline bool is_standard_input(std::string_view path) { return path == "-" || path == "/dev/stdin"; }

/// `to_replace`: another file will take the place of this one (check_replaceable).
enum class InputUse : uint8_t { read, to_replace };

/// Throws Error if the file at `path` cannot be replaced in place.
void require_regular_in_place(const std::string& path);

class InputFile {
 public:
  /// "-" is standard input. Throws Error if the file is missing, a directory, a terminal, or not readable. A
  /// second descriptor reads a large file past the page cache.
  explicit InputFile(const std::string& path, InputUse use = InputUse::read, Caching caching = Caching::ask);

  const std::string& path() const { return path_; }
  /// For messages: the path or "standard input".
  const std::string& name() const { return file_.name(); }
  /// Has neither size nor positions: a pipe, a socket, a character device, or standard input from its middle.
  bool is_stream() const { return is_stream_; }
  /// In bytes. Not for streams.
  uint64_t size() const { return size_; }
  FileIdentity identity() const { return FileIdentity::of(status_); }
  bool is_regular() const { return S_ISREG(status_.st_mode); }
  bool is_pipe() const { return S_ISFIFO(status_.st_mode) || S_ISSOCK(status_.st_mode); }
  FileAccess access() const;

  /// Fills `to` from position `offset`. Thread-safe. Not for streams.
  void read_at(uint64_t offset, std::span<std::byte> to) const { file_.read_at(offset, to); }
  /// Whether a read of this range would go straight to the disk. Not for streams.
  bool reads_past_cache(uint64_t offset, size_t bytes) const { return file_.reads_past_cache(offset, bytes); }
  /// Reads up to layout_prefix_bytes from the start. Not for streams.
  std::vector<std::byte> read_prefix() const;

  /// Reads the next bytes of a stream. Fills `to` unless the stream ends first; returns the number of bytes
  /// read.
  size_t read_stream(std::span<std::byte> to);
  /// Like read_stream, but waits only for the first byte and returns what is there; 0 at the end.
  size_t read_some(std::span<std::byte> to);
  /// From now on read_stream and read_some throw Stopped when `stop` is set. `stop` must outlive this object.
  void stop_by(const StopEvent& stop) { stop_ = &stop; }
  /// For can_be_read().
  int fd() const { return file_.fd(); }

  /// If this is standard input and a file, the next program that reads it begins at `offset`. Otherwise does
  /// nothing.
  void leave_at(uint64_t offset) const;

  /// Throws Error if the size or the modification time differs from when the file was opened.
  void check_unchanged() const;
  /// Like check_unchanged, but also throws if the file has changed in any other way or the path names another
  /// file. Call it before replacing the file. If the file was opened with to_replace, no change is missed,
  /// except stores through a mapping on a file system that does not record them (tmpfs).
  void check_replaceable() const;

 private:
  void examine(int file, const std::string& name, InputUse use);

  std::string path_;
  PositionedFile file_;
  struct stat status_ {};
  uint64_t size_ = 0;
  bool is_stream_ = false;
  bool awaits_writer_ = false;  // nothing was read from this pipe yet
  const StopEvent* stop_ = nullptr;
};

}  // namespace sweepsort
