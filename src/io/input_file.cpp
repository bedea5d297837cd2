// input_file.cpp - opening and reading inputs.
#include "io/input_file.hpp"

#include "core/error.hpp"
#include "core/suggest.hpp"
#include "io/layout.hpp"
#include "io/pipes.hpp"
#include "io/system_error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace sweepsort {
namespace {

/// Below this size, a second descriptor for O_DIRECT costs more than it can save.
constexpr uint64_t min_direct_file = 4u << 20;

/// The error for a missing file: a directory is missing, or a similar name is meant.
Error no_such_file(const std::string& path) {
  constexpr size_t max_names = 10'000;
  const std::filesystem::path asked(path);
  const std::filesystem::path directory = asked.has_parent_path() ? asked.parent_path() : ".";
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error))
    return Error(fmt::format("{}: the directory {} does not exist", path, directory.string()));
  if (std::filesystem::is_symlink(asked, error))
    return Error(path + ": is a link to a file that does not exist");
  std::vector<std::string> names;
  for (auto entry = std::filesystem::directory_iterator(directory, error);
       !error && entry != std::filesystem::directory_iterator() && names.size() < max_names;
       entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());  // directory entries come in no particular order
  const std::string asked_name = asked.filename().string();
  const auto nearest = suggest(asked_name, std::vector<std::string_view>(names.begin(), names.end()));
  if (!nearest)
    return Error(path + ": no such file", fmt::format("ls {} lists what is there", directory.string()));
  return Error(path + ": no such file",
               fmt::format("did you mean {}?", (asked.parent_path() / *nearest).string()));
}

FileDescriptor open_input(const std::string& path) {
  if (path == "-") {
    FileDescriptor copy(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!copy) throw system_error(std::string(standard_input_name), "read", errno);
    return copy;
  }
  struct stat status {};
  const bool is_there = ::stat(path.c_str(), &status) == 0;
  // Does not wait until somebody writes to a pipe: a program that writes to several may open them in any
  // order. Other files may need to be waited for, for example until another program gives up a lease.
  const int waits = is_there && S_ISFIFO(status.st_mode) ? O_NONBLOCK : 0;
  FileDescriptor file(retried([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | waits); }));
  if (file) return file;
  const int error = errno;
  if (is_there && S_ISSOCK(status.st_mode))
    throw Error(path + ": is a socket, which cannot be opened by name",
                "pipe in the output of a program that connects to it");
  switch (error) {
    case ENOENT: refuse_closed_descriptor(path); throw no_such_file(path);
    case EACCES: throw Error(path + ": permission denied", "the owner can allow that (chmod)");
    default: throw system_error(path, "open", error);
  }
}

bool same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/// Whether a change made now could get the same time stamp as the last one. Time stamps have the resolution
/// of the kernel's clock tick; on some file systems, whole seconds or even two seconds.
bool is_as_new_as_the_clock(const timespec& changed) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);  // the clock of the kernel's file time stamps
  if (changed.tv_nsec == 0) return now.tv_sec - changed.tv_sec < 2;
  return now.tv_sec < changed.tv_sec || (now.tv_sec == changed.tv_sec && now.tv_nsec <= changed.tv_nsec);
}

}  // namespace

/// fdatasync is needed because, after a store through a mapping, a page shows no further changes until it is
/// on the disk. After that, the next change is recorded like any other.
void InputFile::examine(int file, const std::string& name, InputUse use) {
  const auto look = [&] {
    if (::fstat(file, &status_) != 0) throw system_error(name, "examine", errno);
  };
  look();
  if (use == InputUse::read || !is_regular()) return;
  // Do not wait longer than this for a file server whose clock is ahead of ours.
  constexpr auto most = std::chrono::seconds(2);
  for (const auto start = std::chrono::steady_clock::now();;) {
    if (retried([&] { return ::fdatasync(file); }) != 0 && errno != EINVAL && errno != EROFS)
      throw system_error(name, "write it to the disk", errno);
    look();
    if (!is_as_new_as_the_clock(status_.st_ctim) || std::chrono::steady_clock::now() - start > most) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

InputFile::InputFile(const std::string& path, InputUse use, Caching caching) : path_(path) {
  const std::string name = path == "-" ? std::string(standard_input_name) : path;
  FileDescriptor file = open_input(path);
  examine(file.get(), name, use);
  if (S_ISDIR(status_.st_mode)) throw Error(name + ": is a directory", "name the files in it");
  if (::isatty(file.get()))
    throw Error(name + ": is a terminal, but keys are binary", "name a file, or pipe the keys in");
  // Standard input may be a file of which another program has read a part already: we get the rest.
  const off_t begun = std::max<off_t>(::lseek(file.get(), 0, SEEK_CUR), 0);
  is_stream_ = begun > 0;
  awaits_writer_ = S_ISFIFO(status_.st_mode) && path != "-";
  if (S_ISREG(status_.st_mode)) {
    size_ = static_cast<uint64_t>(status_.st_size);
  } else if (S_ISBLK(status_.st_mode)) {
    const off_t end = ::lseek(file.get(), 0, SEEK_END);
    if (end < 0 || ::lseek(file.get(), begun, SEEK_SET) < 0) throw system_error(name, "find the size", errno);
    size_ = static_cast<uint64_t>(end);
  } else {
    is_stream_ = true;
    widen_pipe(file.get());
  }
  // Files in /proc have data although their size is reported as 0.
  std::byte first{};
  if (S_ISREG(status_.st_mode) && size_ == 0) {
    const int got = retried([&] { return static_cast<int>(::pread(file.get(), &first, 1, 0)); });
    if (got < 0) throw system_error_at(name, "read", 0, errno);
    if (got == 1)
      throw Error(name + ": has data, but does not tell its size",
                  fmt::format("pipe it in: cat {} | sweepsort ... -", path == "-" ? "FILE" : path));
  }
  const bool may_be_direct = !is_stream_ && size_ >= min_direct_file;
  file_ = PositionedFile(std::move(file), name, may_be_direct ? caching : Caching::use);
}

FileAccess InputFile::access() const {
  return {.mode = status_.st_mode & 0777,
          .group = status_.st_gid,
          .has_list = ::fgetxattr(file_.fd(), access_list_attribute, nullptr, 0) > 0};
}

std::vector<std::byte> InputFile::read_prefix() const {
  std::vector<std::byte> prefix(std::min<uint64_t>(size_, layout_prefix_bytes));
  read_at(0, prefix);
  return prefix;
}

size_t InputFile::read_some(std::span<std::byte> to) {
  // A pipe that nobody has written to yet would seem to have ended.
  if (stop_ || awaits_writer_) wait_until_readable(file_.fd(), stop_);
  awaits_writer_ = false;
  ssize_t got = -1;
  while ((got = ::read(file_.fd(), to.data(), to.size())) < 0 && (errno == EINTR || errno == EAGAIN))
    if (errno == EAGAIN) wait_until_readable(file_.fd(), stop_);
  if (got < 0) throw system_error(name(), "read", errno);
  return static_cast<size_t>(got);
}

size_t InputFile::read_stream(std::span<std::byte> to) {
  size_t done = 0;
  while (done < to.size()) {
    const size_t got = read_some(to.subspan(done));
    if (got == 0) break;
    done += got;
  }
  return done;
}

void require_regular_in_place(const std::string& path) {
  struct stat status {};
  if (path == "-" ||
      (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)))
    throw Error(fmt::format("{}: only a regular file can be replaced in place",
                            path == "-" ? standard_input_name : path),
                "name an output with -o");
}

void InputFile::leave_at(uint64_t offset) const {
  if (path_ == "-" && !is_stream_) (void)::lseek(file_.fd(), static_cast<off_t>(offset), SEEK_SET);
}

void InputFile::check_unchanged() const {
  struct stat now {};
  if (::fstat(file_.fd(), &now) != 0) throw system_error(name(), "examine", errno);
  if (is_regular() && (now.st_size != status_.st_size || !same_time(now.st_mtim, status_.st_mtim)))
    throw InputError(name() + ": changed while it was being read", "try again when nobody is writing to it");
}

void InputFile::check_replaceable() const {
  check_unchanged();
  struct stat named {};
  struct stat now {};
  const bool is_there = ::stat(path_.c_str(), &named) == 0;
  if (!is_there && errno == ENOENT)
    throw Error(name() + ": was removed while it was being read", "name an output with -o");
  if (!is_there || FileIdentity::of(named) != identity())
    throw Error(name() + ": was replaced while it was being read", "try again when nobody is writing to it");
  // The change time reveals a writer who reset the modification time, a new mode or owner, and a new file
  // behind the name that /dev/stdin leads to.
  if (::fstat(file_.fd(), &now) != 0 || !same_time(now.st_ctim, status_.st_ctim))
    throw InputError(name() + ": changed while it was being read", "try again when nobody is writing to it");
}

}  // namespace sweepsort
