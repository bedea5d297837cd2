// atomic_file.cpp - O_TMPFILE, fallocate, linkat, rename.
#include "io/atomic_file.hpp"

#include "core/error.hpp"
#include "core/fingerprint.hpp"
#include "io/reserve.hpp"
#include "io/system_error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

namespace sweepsort {
namespace {

constexpr uint32_t permission_bits = 0777;

std::string proc_path(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

/// Links the file `from` to a hidden name and renames that to `target`; returns 0 or an errno value. A child
/// does it, which a SIGKILL of this process does not reach: else the hidden name would stay if it came
/// between the two.
int link_and_rename(const char* from, const char* hidden, const char* target) noexcept {
  const auto do_both = [&] {
    if (::linkat(AT_FDCWD, from, AT_FDCWD, hidden, AT_SYMLINK_FOLLOW) != 0) return errno;
    if (::renameat2(AT_FDCWD, hidden, AT_FDCWD, target, 0) == 0) return 0;
    const int error = errno;
    ::unlink(hidden);
    return error;
  };
  volatile int error = ECANCELED;  // what is left of a child that was killed itself
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // the child keeps it: no handler of ours runs in it
  const pid_t child = ::vfork();                  // in our memory, so that no page is copied
  if (child == 0) {
    error = do_both();
    ::_exit(error);
  }
  if (child < 0) error = do_both();  // no more processes to be had
  int status = 0;
  pid_t ended = 0;
  while (child > 0 && (ended = ::waitpid(child, &status, 0)) < 0 && errno == EINTR) {
  }
  // Where vfork is only a fork (under ThreadSanitizer) this is all that tells us.
  if (child > 0 && ended == child && WIFEXITED(status)) error = WEXITSTATUS(status);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

Error cannot_create(const std::string& name, int error) {
  if (error == EACCES || error == EPERM)
    return Error(name + ": its directory is not writable: permission denied");
  return system_error(name, "create a file beside it", error);
}

Error appeared_meanwhile(const std::string& name) {
  return Error(name + ": appeared meanwhile", "-f replaces it");
}

}  // namespace

AtomicFile::AtomicFile(std::string name, std::string target, const AtomicFileOptions& options)
    : name_(std::move(name)), target_(std::move(target)), options_(options) {
  const std::string parent = std::filesystem::path(target_).parent_path();
  directory_ = parent.empty() ? "." : parent;
  FileDescriptor file = options_.allow_anonymous ? create_anonymous() : FileDescriptor();
  if (!file) file = create_hidden();
  file_ = PositionedFile(std::move(file), name_, Caching::ask);
}

/// The owner's bits are added to the mode so that the file can be opened a second time; set_mode takes them
/// off again.
FileDescriptor AtomicFile::create_anonymous() const {
  FileDescriptor file(::open(directory_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, options_.mode | 0600));
  if (!file) {
    // EISDIR is the answer of a kernel or file system that does not know the flag.
    if (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL) return {};
    throw cannot_create(name_, errno);
  }
  // Only /proc can turn it into a named file for an ordinary user.
  if (::access(proc_path(file.get()).c_str(), F_OK) != 0) return {};
  return file;
}

FileDescriptor AtomicFile::create_hidden() {
  hidden_ = std::make_unique<TemporaryName>(hidden_path());
  FileDescriptor file(
      ::open(hidden_->path().c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, options_.mode | 0600));
  if (!file) throw cannot_create(name_, errno);
  return file;
}

std::string AtomicFile::hidden_path() const {
  // A file name has at most 255 bytes: a long one is cut to make room for the rest.
  constexpr size_t most_of_name = 200;
  const std::string file_name = std::filesystem::path(target_).filename();
  return fmt::format("{}/.{}.{:016x}.tmp", directory_, file_name.substr(0, most_of_name), random_secret());
}

void AtomicFile::reserve(uint64_t bytes) { reserve_space(file_.fd(), name_, 0, bytes); }

void AtomicFile::cut(uint64_t bytes) {
  if (::ftruncate(file_.fd(), static_cast<off_t>(bytes)) != 0)
    throw system_error(name_, fmt::format("cut it to {} bytes", bytes), errno);
}

/// Only root may give a file to somebody else, and others to a group of theirs alone: what is refused stays
/// ours.
void AtomicFile::set_owner() const {
  struct stat created {};
  if (!options_.owner || ::fstat(file_.fd(), &created) != 0) return;
  const auto [user, group] = *options_.owner;
  if (created.st_uid == user && created.st_gid == group) return;
  if (::fchown(file_.fd(), user, group) != 0) (void)!::fchown(file_.fd(), static_cast<uid_t>(-1), group);
}

void AtomicFile::set_mode() const {
  struct stat created {};
  if (::fstat(file_.fd(), &created) != 0) throw system_error(name_, "examine", errno);
  // The kernel took the umask off the mode at creation.
  const uint32_t allowed = options_.mode_is_exact ? permission_bits : created.st_mode;
  if (::fchmod(file_.fd(), options_.mode & allowed & permission_bits) != 0)
    throw system_error(name_, "set the mode", errno);
}

void AtomicFile::sync() {
  set_owner();  // which takes bits off the mode
  set_mode();
  if (::fdatasync(file_.fd()) != 0) throw system_error(name_, "write it to the disk", errno);
  open_directory_ = FileDescriptor(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A directory that may be written but not read cannot be opened: then the name is durable when the system
  // says so.
  if (!open_directory_ && errno != EACCES) throw system_error(name_, "open its directory", errno);
}

void AtomicFile::settle() {
  if (file_.close() != 0) throw system_error(name_, "close", errno);
  if (open_directory_ && ::fsync(open_directory_.get()) != 0 && errno != EINVAL)
    throw system_error(name_, "write its directory to the disk", errno);
}

void AtomicFile::check_name() const {
  struct stat status {};
  if (::lstat(target_.c_str(), &status) != 0) return;
  if (!options_.replace) throw appeared_meanwhile(name_);
  if (S_ISDIR(status.st_mode)) throw system_error(name_, "give the file its name", EISDIR);
}

void AtomicFile::give_name() {
  if (hidden_) return rename_to_target(*hidden_);
  const std::string self = proc_path(file_.fd());
  if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, target_.c_str(), AT_SYMLINK_FOLLOW) == 0) return;
  if (errno != EEXIST) throw system_error(name_, "give the file its name", errno);
  if (!options_.replace) throw appeared_meanwhile(name_);
  // linkat never replaces, rename does: so the file has a hidden name for the instant between the two.
  TemporaryName hidden(hidden_path());
  const int error = link_and_rename(self.c_str(), hidden.path().c_str(), target_.c_str());
  if (error != 0) throw system_error(name_, "give the file its name", error);
  hidden.keep();
}

void AtomicFile::rename_to_target(TemporaryName& hidden) {
  const char* const from = hidden.path().c_str();
  int failed =
      ::renameat2(AT_FDCWD, from, AT_FDCWD, target_.c_str(), options_.replace ? 0u : RENAME_NOREPLACE);
  if (failed && errno == EINVAL && !options_.replace) {
    // A file system that cannot refuse to replace: a second link can, and the destructor removes the first
    // name.
    if (::link(from, target_.c_str()) == 0) return;
    failed = -1;
  }
  if (failed && errno == EEXIST) throw appeared_meanwhile(name_);
  if (failed) throw system_error(name_, "give the file its name", errno);
  hidden.keep();
}

}  // namespace sweepsort
