// input_file.hpp - a file to read from: by position, or front to back where it is a pipe.
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

/// Identity of a file, whatever it is called: the same behind links; of a block device, behind all of its
/// nodes.
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
  bool has_list = false;  // an access control list: the mode does not say it all
};

/// What messages call it.
inline constexpr std::string_view standard_input_name = "standard input";

/// `to_replace`: something will take its place (check_replaceable).
enum class InputUse : uint8_t { read, to_replace };

/// Throws Error where what is there cannot be replaced in place. To be asked first: to open a pipe waits for
/// its writer.
void require_regular_in_place(const std::string& path);

class InputFile {
 public:
  /// "-" is standard input. Throws Error for a missing file, a directory, one that may not be read, a
  /// terminal. Past the page cache a large file is read by a second descriptor.
  explicit InputFile(const std::string& path, InputUse use = InputUse::read, Caching caching = Caching::ask);

  const std::string& path() const { return path_; }
  /// For messages: the path or "standard input".
  const std::string& name() const { return file_.name(); }
  /// No size and no positions: a pipe, a socket, a character device, or standard input from its middle.
  bool is_stream() const { return is_stream_; }
  /// Bytes; of a file that is no stream.
  uint64_t size() const { return size_; }
  FileIdentity identity() const { return FileIdentity::of(status_); }
  bool is_regular() const { return S_ISREG(status_.st_mode); }
  FileAccess access() const;

  /// Fills `to` from a position. Thread-safe. Not for streams.
  void read_at(uint64_t offset, std::span<std::byte> to) const { file_.read_at(offset, to); }
  /// Whether a read of this range would go straight to the disk. Not for streams.
  bool reads_past_cache(uint64_t offset, size_t bytes) const { return file_.reads_past_cache(offset, bytes); }
  /// Up to layout_prefix_bytes from the start. Not for streams.
  std::vector<std::byte> read_prefix() const;

  /// The next bytes of a stream: fills `to` unless the stream ends before; returns how many bytes it got.
  size_t read_stream(std::span<std::byte> to);
  /// The same as far as bytes are there: waits for the first one alone; none at the end.
  size_t read_some(std::span<std::byte> to);
  /// From now on both throw Stopped when `stop`, which outlives them, is set.
  void stop_by(const StopEvent& stop) { stop_ = &stop; }
  /// For can_be_read().
  int fd() const { return file_.fd(); }

  /// Of standard input that is a file and no stream: whoever reads it next begins there. Of others nothing.
  void leave_at(uint64_t offset) const;

  /// Throws Error if the size or the time of the last change is not what it was when the file was opened.
  void check_unchanged() const;
  /// The same, and if it has changed in any other way, or the path names another file: before something takes
  /// its place. Of a file that was opened to be replaced no change is missed, except what is stored through a
  /// mapping where the file system does not note that, as tmpfs does not.
  void check_replaceable() const;

 private:
  void examine(int file, const std::string& name, InputUse use);

  std::string path_;
  PositionedFile file_;
  struct stat status_ {};
  uint64_t size_ = 0;
  bool is_stream_ = false;
  const StopEvent* stop_ = nullptr;
};

}  // namespace sweepsort
