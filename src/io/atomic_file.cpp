// atomic_file.cpp - O_TMPFILE, fallocate, linkat, rename.
#include "io/atomic_file.hpp"

#include "core/error.hpp"
#include "io/reserve.hpp"
#include "io/system_error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>

namespace sweepsort {
namespace {

constexpr uint32_t permission_bits = 0777;
constexpr uint32_t owner_bits = 0700;
constexpr const char* access_list = "system.posix_acl_access";

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

/// Whether we may do to anybody's file what its owner may.
bool may_act_as_owner() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return false;
  return (data[CAP_TO_INDEX(CAP_FOWNER)].effective & CAP_TO_MASK(CAP_FOWNER)) != 0;
}

/// What would keep a rename from replacing `target`, as far as it can be seen: an Error.
void require_replaceable(const std::string& name, const std::string& target, const std::string& directory) {
  struct statx file {};
  struct statx folder {};
  if (::statx(AT_FDCWD, target.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &file) != 0 ||
      ::statx(AT_FDCWD, directory.c_str(), 0, STATX_BASIC_STATS, &folder) != 0)
    return;
  const uid_t user = ::geteuid();
  if ((file.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0)
    throw Error(name + ": is a mount point, which no other file can replace",
                "mount its directory instead, or name another file");
  if ((file.stx_attributes & STATX_ATTR_APPEND) != 0)
    throw Error(name + ": may only be appended to (chattr +a)", "name another file");
  if ((folder.stx_attributes & STATX_ATTR_APPEND) != 0)
    throw Error(name + ": its directory takes new names only (chattr +a)", "name a new file");
  if ((folder.stx_mode & S_ISVTX) != 0 && user != file.stx_uid && user != folder.stx_uid &&
      !may_act_as_owner())
    throw Error(name + ": belongs to another user, who alone may replace it in this directory",
                "name another file");
}

Error appeared_meanwhile(const std::string& name) {
  return Error(name + ": appeared meanwhile", "-f replaces it");
}

}  // namespace

AtomicFile::AtomicFile(std::string name, std::string target, const AtomicFileOptions& options)
    : name_(std::move(name)), target_(std::move(target)), options_(options) {
  directory_ = parent_of(target_);
  if (options_.replace) {
    require_replaceable(name_, target_, directory_);
    if (temporary_path(directory_).size() >= PATH_MAX) throw Error(name_ + ": the name is too long");
  }
  FileDescriptor file = options_.allow_anonymous ? create_anonymous() : FileDescriptor();
  if (!file) file = create_hidden();
  check_mode(file.get());
  file_ = PositionedFile(std::move(file), name_, Caching::ask);
  open_directory_ = FileDescriptor(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A directory that may be written but not read cannot be opened: then the name is durable when the system
  // says so.
  if (!open_directory_ && errno != EACCES) throw system_error(name_, "open its directory", errno);
}

/// The owner's bits are added to the mode so that the file can be opened a second time; set_mode takes them
/// off again.
FileDescriptor AtomicFile::create_anonymous() const {
  FileDescriptor file = open_nameless(directory_, options_.mode | 0600);
  if (!file && errno == EOPNOTSUPP) return {};
  if (!file) throw cannot_create(name_, errno);
  // Only /proc can turn it into a named file for an ordinary user.
  if (::access(path_of(file.get()).c_str(), F_OK) != 0) return {};
  return file;
}

FileDescriptor AtomicFile::create_hidden() {
  hidden_ = std::make_unique<TemporaryName>(temporary_path(directory_));
  FileDescriptor file = open_new(hidden_->path(), options_.mode | 0600);
  if (!file) throw cannot_create(name_, errno);
  return file;
}

void AtomicFile::reserve(uint64_t bytes) { reserve_space(file_.fd(), name_, 0, bytes); }

void AtomicFile::cut(uint64_t bytes) {
  if (retried([&] { return ::ftruncate(file_.fd(), static_cast<off_t>(bytes)); }) != 0)
    throw system_error(name_, fmt::format("cut it to {} bytes", bytes), errno);
}

/// Only root may give a file to somebody else, and others to a group of theirs alone: what is refused stays
/// ours. False: the group did.
bool AtomicFile::set_owner() const {
  struct stat created {};
  if (!options_.owner || ::fstat(file_.fd(), &created) != 0) return true;
  const auto [user, group] = *options_.owner;
  if (created.st_uid == user && created.st_gid == group) return true;
  return ::fchown(file_.fd(), user, group) == 0 || ::fchown(file_.fd(), static_cast<uid_t>(-1), group) == 0 ||
         created.st_gid == group;
}

/// The access control list of the file that is replaced, in place of one that the directory gives to new
/// files. Its mode shows the list's mask where others have the rights of the group. False: there is one, and
/// it cannot be had.
bool AtomicFile::copy_access_list() const {
  if (!options_.owner) return true;
  std::array<char, 1 << 16> list;  // as long as an attribute can be
  const ssize_t bytes = ::getxattr(target_.c_str(), access_list, list.data(), list.size());
  if (bytes >= 0)
    return ::fsetxattr(file_.fd(), access_list, list.data(), static_cast<size_t>(bytes), 0) == 0;
  if (errno != ENODATA && errno != EOPNOTSUPP) return errno == ENOENT;
  return ::fremovexattr(file_.fd(), access_list) == 0 || errno == ENODATA || errno == EOPNOTSUPP;
}

/// The kernel took the umask off the mode at creation.
uint32_t AtomicFile::mode_of(const struct stat& created) const {
  const uint32_t allowed = options_.mode_is_exact ? permission_bits : created.st_mode;
  return options_.mode & allowed & permission_bits;
}

/// A file system that lets nobody set a mode is found before the work.
void AtomicFile::check_mode(int fd) const {
  struct stat created {};
  if (::fstat(fd, &created) != 0) throw system_error(name_, "examine", errno);
  const uint32_t present = created.st_mode & permission_bits;
  if (mode_of(created) != present && ::fchmod(fd, present) != 0)
    throw system_error(name_, "set the mode", errno);
}

void AtomicFile::set_mode(Rights kept) const {
  struct stat created {};
  if (::fstat(file_.fd(), &created) != 0) throw system_error(name_, "examine", errno);
  uint32_t mode = mode_of(created);
  // Who was in the group is one of the others now, and may do no more than before.
  if (kept == Rights::not_of_group) mode &= owner_bits | (mode >> 3 & 07);
  if (kept == Rights::of_owner) mode &= owner_bits;
  if (mode != (created.st_mode & permission_bits) && ::fchmod(file_.fd(), mode) != 0)
    throw system_error(name_, "set the mode", errno);
}

void AtomicFile::sync() {
  // The owner first, which takes bits off the mode. Nobody gets rights that were another group's.
  const bool keeps_group = set_owner();
  const bool keeps_list = keeps_group && copy_access_list();
  set_mode(keeps_list ? Rights::all : keeps_group ? Rights::of_owner : Rights::not_of_group);
  if (retried([&] { return ::fdatasync(file_.fd()); }) != 0)
    throw system_error(name_, "write it to the disk", errno);
}

void AtomicFile::settle() {
  if (file_.close() != 0) throw system_error(name_, "close", errno);
  if (open_directory_ && retried([&] { return ::fsync(open_directory_.get()); }) != 0 && errno != EINVAL)
    throw system_error(name_, "write its directory to the disk", errno);
}

void AtomicFile::check_name() const {
  struct stat status {};
  // It may be gone by now, or not be ours any more.
  if (::access(directory_.c_str(), W_OK | X_OK) != 0)
    throw system_error(name_, "give the file its name", errno);
  if (::lstat(target_.c_str(), &status) != 0) return;
  if (!options_.replace) throw appeared_meanwhile(name_);
  if (S_ISDIR(status.st_mode)) throw system_error(name_, "give the file its name", EISDIR);
  require_replaceable(name_, target_, directory_);
}

void AtomicFile::give_name() {
  if (hidden_) return rename_to_target(*hidden_);
  const std::string self = path_of(file_.fd());
  if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, target_.c_str(), AT_SYMLINK_FOLLOW) == 0) return;
  if (errno != EEXIST) throw system_error(name_, "give the file its name", errno);
  if (!options_.replace) throw appeared_meanwhile(name_);
  // linkat never replaces, rename does: so the file has a hidden name for the instant between the two.
  TemporaryName hidden(temporary_path(directory_));
  const int error = link_and_rename(self.c_str(), hidden.path().c_str(), target_.c_str());
  if (error != 0) throw system_error(name_, "give the file its name", error);
  hidden.keep();
}

void AtomicFile::rename_to_target(TemporaryName& hidden) {
  const char* const from = hidden.path().c_str();
  const char* const to = target_.c_str();
  int failed = ::renameat2(AT_FDCWD, from, AT_FDCWD, to, options_.replace ? 0u : RENAME_NOREPLACE);
  if (failed && errno == EINVAL && !options_.replace) {
    // A file system that cannot refuse to replace: a second link can, and the destructor removes the first
    // name. Where there are no links, either, nothing can but a look.
    if (::link(from, to) == 0) return;
    const bool has_no_links = errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS;
    if (has_no_links && ::access(to, F_OK) == 0) throw appeared_meanwhile(name_);
    failed = has_no_links ? ::rename(from, to) : -1;
  }
  if (failed && errno == EEXIST) throw appeared_meanwhile(name_);
  if (failed) throw system_error(name_, "give the file its name", errno);
  hidden.keep();
}

}  // namespace sweepsort
