// output.cpp - decides by what is at the output's path how to write it.
#include "io/output.hpp"

#include "core/error.hpp"
#include "io/atomic_file.hpp"
#include "io/pipes.hpp"
#include "io/system_error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace sweepsort {
namespace {

bool is_input(const struct stat& status, const OutputOptions& options) {
  return options.input && options.input->identity() == FileIdentity::of(status);
}

/// Rejects inputs as outputs. A file or block device would lose its content while it is being read, and a
/// pipe would never end, because we hold its other end. Sockets and terminals may be input and output at
/// once.
void refuse_inputs(const struct stat& status, const std::string& name, const OutputOptions& options) {
  if (!S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode) && !S_ISFIFO(status.st_mode)) return;
  const auto is_same = [&](const InputFile* other) { return other->identity() == FileIdentity::of(status); };
  if (std::ranges::any_of(options.others, is_same))
    throw Error(name + ": is an input", "write to another file");
  if (is_input(status, options) && !options.in_place)
    throw Error(name + ": is the input", !S_ISREG(status.st_mode)   ? "write to a file"
                                         : !options.may_be_in_place ? "write to another file"
                                         : options.input->name() == standard_input_name
                                             ? "name it as the input, and use --in-place to replace it"
                                             : "use --in-place to replace it");
}

/// A pipe, a socket, a device, or standard output of any kind.
class StreamOutput : public Output {
 public:
  StreamOutput(FileDescriptor file, std::string name, bool is_socket)
      : file_(std::move(file)), name_(std::move(name)), is_socket_(is_socket) {}

  const std::string& name() const override { return name_; }
  bool is_sequential() const override { return true; }
  void reserve(uint64_t bytes) override;
  void write_at(uint64_t offset, std::span<const std::byte> bytes) override;
  void write_header(std::span<const std::byte> header) override {
    header_.assign(header.begin(), header.end());
  }
  void stop() const override { stop_.set(); }
  void cut(uint64_t) override {}  // nothing was reserved
  void sync() override;
  void check_name() const override {}
  void give_name() override {}
  void settle() override {}

 private:
  FileDescriptor file_;
  std::string name_;
  bool is_socket_;
  StopEvent stop_;
  uint64_t position_ = 0;
  std::vector<std::byte> header_;  // not written yet

  void put(std::span<const std::byte> bytes);
};

/// A pipe has no space to reserve. For a file, checks the limit that would end the process with a signal; for
/// a block device, checks its end.
void StreamOutput::reserve(uint64_t bytes) {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0 || (!S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode))) return;
  const auto seek = [&](off_t offset, int from) { return ::lseek(file_.get(), offset, from); };
  const bool appends = (::fcntl(file_.get(), F_GETFL) & O_APPEND) != 0;
  const off_t position = S_ISREG(status.st_mode) && appends ? status.st_size : seek(0, SEEK_CUR);
  if (position < 0) return;
  const auto refuse_beyond = [&](uint64_t end, int error) {
    if (static_cast<uint64_t>(position) + bytes > end)
      throw system_error(name_, fmt::format("write {} bytes", bytes), error);
  };
  if (S_ISBLK(status.st_mode)) {
    const off_t end = seek(0, SEEK_END);
    seek(position, SEEK_SET);
    if (end >= 0) refuse_beyond(static_cast<uint64_t>(end), ENOSPC);
    return;
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    refuse_beyond(limit.rlim_cur, EFBIG);
}

void StreamOutput::write_at(uint64_t offset, std::span<const std::byte> bytes) {
  if (offset != position_ + header_.size()) throw Error(name_ + ": internal: a stream written out of order");
  put(std::exchange(header_, {}));
  put(bytes);
}

void StreamOutput::put(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = is_socket_ ? ::send(file_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT)
                                   : ::write(file_.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) {
      wait_until_writable(file_.get(), stop_);
      continue;
    }
    if (put <= 0) throw system_error_at(name_, "write", position_, put < 0 ? errno : EIO);
    position_ += static_cast<uint64_t>(put);
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
}

/// Standard output that is redirected to a file or a block device is made as durable as a named output.
void StreamOutput::sync() {
  put(std::exchange(header_, {}));
  struct stat status {};
  const bool keeps =
      ::fstat(file_.get(), &status) == 0 && (S_ISREG(status.st_mode) || S_ISBLK(status.st_mode));
  if (keeps && retried([&] { return ::fdatasync(file_.get()); }) != 0 && errno != EINVAL && errno != EROFS)
    throw system_error(name_, "write it to the disk", errno);
  if (file_.close() != 0) throw system_error(name_, "close", errno);
}

std::unique_ptr<Output> open_stream(FileDescriptor file, const std::string& name,
                                    const OutputOptions& options) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw system_error(name, "examine", errno);
  if (::isatty(file.get()))
    throw Error(name + ": is a terminal, but keys are binary",
                "name an output with -o, or pipe it somewhere");
  OutputOptions of_stream = options;
  of_stream.may_be_in_place = false;  // the shell has already emptied the file
  refuse_inputs(status, name, of_stream);
  widen_pipe(file.get());
  // A socket is not opened a second time: its writes are non-blocking already.
  if (FileDescriptor own = open_without_blocking(file.get())) file = std::move(own);
  return std::make_unique<StreamOutput>(std::move(file), name, S_ISSOCK(status.st_mode));
}

std::unique_ptr<Output> open_standard_output(const OutputOptions& options) {
  const std::string name = "standard output";
  // A plan may be requested on a terminal, because it writes no keys.
  FileDescriptor copy(options.only_planned ? ::open("/dev/null", O_WRONLY | O_CLOEXEC)
                                           : ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  if (!copy) throw system_error(name, "write", errno);
  return open_stream(std::move(copy), name, options);
}

/// Follows symbolic links, even if the last one is dangling (realpath would fail then).
std::string follow_links(const std::string& path) {
  constexpr int max_links = 40;  // the same limit as in the kernel
  std::filesystem::path target = path;
  std::error_code error;
  for (int links = 0; std::filesystem::is_symlink(target, error); ++links) {
    if (links == max_links) throw system_error(path, "follow the symbolic links", ELOOP);
    target = target.parent_path() / std::filesystem::read_symlink(target, error);
    if (error) throw system_error(path, "follow the symbolic link", error.value());
  }
  return target;
}

bool names_standard_output(std::string_view path) {
  return path == "-" || path == "/dev/stdout" || path == "/dev/fd/1" || path == "/proc/self/fd/1";
}

/// What a path leads to: an existing file, or a name in an existing directory.
struct Destination {
  FileIdentity identity;
  std::string missing;  // the file's name, if only its directory exists
  bool takes_in_all = false;
  friend bool operator==(const Destination&, const Destination&) = default;
};

/// Empty if not even the directory exists.
std::optional<Destination> destination_of(const std::string& path) {
  struct stat status {};
  const bool is_there =
      (names_standard_output(path) ? ::fstat(STDOUT_FILENO, &status) : ::stat(path.c_str(), &status)) == 0;
  if (is_there) return Destination{FileIdentity::of(status), "", S_ISCHR(status.st_mode)};
  const std::filesystem::path target = follow_links(path);
  if (::stat(parent_of(target).c_str(), &status) != 0) return {};
  return Destination{FileIdentity::of(status), target.filename()};
}

void require_directory(const std::string& name, const std::string& target) {
  const std::string parent = parent_of(target);
  struct stat status {};
  if (::stat(parent.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return;
    throw Error(fmt::format("{}: {} is not a directory", name, parent));
  }
  if (errno != ENOENT && errno != ENOTDIR) throw system_error(name, "examine its directory", errno);
  throw Error(fmt::format("{}: the directory {} does not exist", name, parent), "create it first");
}

/// A user gets only the rights on the new file that they have on all inputs. We, its owner, may always read
/// and write it, so that results of read-only inputs can be replaced later.
AtomicFileOptions mode_of_new(const OutputOptions& options) {
  AtomicFileOptions file{.replace = options.overwrite, .allow_anonymous = options.allow_anonymous};
  std::vector<const InputFile*> inputs = options.others;
  if (options.input) inputs.push_back(options.input);
  std::erase_if(inputs, [](const InputFile* input) { return !input->is_regular(); });
  if (inputs.empty()) return file;
  file.mode = 0777;
  file.group = inputs.front()->access().group;
  const bool have_one_group = std::ranges::all_of(
      inputs, [&](const InputFile* input) { return input->access().group == file.group; });
  for (const InputFile* input : inputs) {
    const FileAccess access = input->access();
    file.mode &= have_one_group ? access.mode : of_any_group(access.mode);
    if (access.has_list) file.mode &= 0700;  // its mode is not the whole truth
  }
  file.mode |= S_IRUSR | S_IWUSR;
  return file;
}

std::unique_ptr<Output> replace_regular(const std::string& name, const std::string& target,
                                        const struct stat& status, const OutputOptions& options) {
  refuse_inputs(status, name, options);
  if (!is_input(status, options) && !options.overwrite)
    throw Error(name + ": already exists", "use -f (--force) to replace it");
  // rename would also replace a read-only file, which nobody expects.
  if (::access(target.c_str(), W_OK) != 0) {
    if (errno == EACCES)
      throw Error(name + ": is not writable: permission denied",
                  status.st_uid == ::geteuid()
                      ? "name another file, or 'chmod u+w' this one"
                      : "name another file, or ask the owner of this one to allow it");
    if (errno == EPERM) throw Error(name + ": may not be changed (chattr +i)", "name another file");
    throw system_error(name, "write", errno);
  }
  return std::make_unique<AtomicFile>(name, target,
                                      AtomicFileOptions{.replace = true,
                                                        .mode = status.st_mode & 0777,
                                                        .owner = FileOwner{status.st_uid, status.st_gid},
                                                        .allow_anonymous = options.allow_anonymous});
}

}  // namespace

std::unique_ptr<Output> open_output(const std::string& path, const OutputOptions& options) {
  if (names_standard_output(path)) return open_standard_output(options);
  const std::string name = path.empty() && options.input ? options.input->path() : path;
  if (name.empty() || name.ends_with('/')) throw UsageError(name + ": not a file name", "name a file in it");

  struct stat status {};
  // Check before following the links: /dev/stdout is a link to a pipe, which has no path.
  const bool is_there = ::stat(name.c_str(), &status) == 0;
  if (!is_there && errno == ENOENT) refuse_closed_descriptor(name);
  if (is_there && S_ISSOCK(status.st_mode))
    throw Error(name + ": is a socket, which cannot be opened by name",
                "pipe the output into a program that connects to it");
  // This happens, for example, with a link that the system refuses to follow (fs.protected_symlinks); we
  // refuse, too.
  if (!is_there && errno == EACCES) throw system_error(name, "examine", errno);
  if (is_there && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    const char* const opened = options.only_planned ? "/dev/null" : name.c_str();
    FileDescriptor file(retried([&] { return ::open(opened, O_WRONLY | O_CLOEXEC | O_NOCTTY); }));
    if (!file) throw system_error(name, "open", errno);
    return open_stream(std::move(file), name, options);
  }
  const std::string target = follow_links(name);
  // The path leads to a descriptor of a deleted file. (If another writer is just replacing the file, the name
  // leads to the new one, and the second stat succeeds.)
  struct stat named {};
  if (is_there && status.st_nlink == 0 && ::stat(target.c_str(), &named) != 0)
    throw Error(name + ": leads to a file that has no name",
                "redirect standard output there, or name a file");
  require_directory(name, target);
  if (::stat(target.c_str(), &status) != 0) {
    if (errno != ENOENT) throw system_error(name, "examine", errno);
    return std::make_unique<AtomicFile>(name, target, mode_of_new(options));
  }
  if (S_ISDIR(status.st_mode)) throw Error(name + ": is a directory", "name a file in it");
  if (S_ISREG(status.st_mode)) return replace_regular(name, target, status, options);
  throw Error(name + ": is no longer what it was");
}

void commit(std::span<Output* const> outputs, const InputFile* replaced) {
  for (Output* output : outputs) output->sync();
  if (replaced) replaced->check_replaceable();
  for (const Output* output : outputs) output->check_name();
  for (Output* output : outputs) output->give_name();
  for (Output* output : outputs) output->settle();
}

void refuse_shared_pipe(std::span<const std::string> inputs, const std::string& output) {
  struct stat written {};
  struct stat read {};
  if (::stat(output.c_str(), &written) != 0 || !S_ISFIFO(written.st_mode)) return;
  for (const std::string& input : inputs)
    if (::stat(input.c_str(), &read) == 0 && FileIdentity::of(read) == FileIdentity::of(written))
      throw Error(output + (inputs.size() == 1 ? ": is the input" : ": is an input"),
                  "write to another pipe or a file");
}

std::string parent_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path().string() : ".";
}

std::string directory_of(const std::string& output) { return parent_of(follow_links(output)); }

void replace_file(const std::string& path, std::string_view text) {
  const std::unique_ptr<Output> output = open_output(path, {.overwrite = true});
  output->reserve(text.size());
  output->write_at(0, std::as_bytes(std::span(text)));
  commit(*output);
}

bool are_one_output(const std::string& a, const std::string& b) {
  const std::optional<Destination> one = destination_of(a);
  return one && !one->takes_in_all && one == destination_of(b);
}

}  // namespace sweepsort
