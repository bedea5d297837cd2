// atomic_file.cpp - AtomicFile, with O_TMPFILE, fallocate, linkat and rename.
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

#include <cerrno>
#include <climits>
#include <vector>

namespace sweepsort {
namespace {

constexpr uint32_t permission_bits = 0777;
constexpr uint32_t owner_bits = 0700;
constexpr uint32_t private_mode = 0600;  // the file is opened a second time for O_DIRECT

/// Links the file `from` to a hidden name and renames that to `target`. Returns 0 or an errno value. A child
/// process does both: a SIGKILL of this process does not reach it, so the hidden name cannot be left behind
/// between the two steps. All signals must be blocked, so that no handler of ours runs in the child.
int link_and_rename(const char* from, const char* hidden, const char* target) noexcept {
  const auto do_both = [&] {
    if (::linkat(AT_FDCWD, from, AT_FDCWD, hidden, AT_SYMLINK_FOLLOW) != 0) return errno;
    if (::renameat2(AT_FDCWD, hidden, AT_FDCWD, target, 0) == 0) return 0;
    const int error = errno;
    ::unlink(hidden);
    return error;
  };
  volatile int error = ECANCELED;  // stays if the child itself is killed
  const pid_t child = ::vfork();   // shares our memory, so no page is copied
  if (child == 0) {
    error = do_both();
    ::_exit(error);
  }
  if (child < 0) return do_both();  // no more processes are available
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(child, &status, 0)) < 0 && errno == EINTR) {
  }
  // If vfork is only a fork (under ThreadSanitizer), the exit status is the only result.
  if (ended == child && WIFEXITED(status)) error = WEXITSTATUS(status);
  return error;
}

FileError cannot_create(const std::string& name, const std::string& directory, int error) {
  struct stat folder {};
  if (::stat(directory.c_str(), &folder) == 0 && folder.st_nlink == 0)
    return {name + ": its directory has been removed", "name an output in another one", error};
  if (error == EACCES)
    return {name + ": its directory is not writable: permission denied",
            "name an output in another directory", error};
  if (error == EPERM)
    return {name + ": its directory does not allow a temporary file",
            "'lsattr -d' shows chattr +i and +a; name an output in another one", error};
  return system_error(name, "create a file beside it", error);
}

/// Whether this process may treat a file of another user as if it were its own (CAP_FOWNER). In a user
/// namespace, that depends on the file's owner; the system says it of files that we may read.
bool may_act_as_owner(const std::string& file) {
  if (FileDescriptor(::open(file.c_str(), O_RDONLY | O_NOATIME | O_NONBLOCK | O_CLOEXEC))) return true;
  if (errno == EPERM) return false;
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return false;
  return (data[CAP_TO_INDEX(CAP_FOWNER)].effective & CAP_TO_MASK(CAP_FOWNER)) != 0;
}

/// Throws Error if something visible would prevent a rename from replacing `target`.
void require_rename_allowed(const std::string& name, const std::string& target,
                            const std::string& directory) {
  struct statx file {};
  struct statx folder {};
  if (::statx(AT_FDCWD, target.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &file) != 0 ||
      ::statx(AT_FDCWD, directory.c_str(), 0, STATX_BASIC_STATS, &folder) != 0)
    return;
  const uid_t user = ::geteuid();
  if ((file.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0)
    throw Error(name + ": is a mount point, which no other file can replace",
                "mount its directory instead, or name another file");
  if ((file.stx_attributes & STATX_ATTR_IMMUTABLE) != 0)
    throw Error(name + ": may not be changed (chattr +i)", "name another file");
  if ((file.stx_attributes & STATX_ATTR_APPEND) != 0)
    throw Error(name + ": may only be appended to (chattr +a)", "name another file");
  if ((folder.stx_attributes & STATX_ATTR_APPEND) != 0)
    throw Error(name + ": its directory takes new names only (chattr +a)", "name a new file");
  if ((folder.stx_mode & S_ISVTX) != 0 && user != file.stx_uid && user != folder.stx_uid &&
      !may_act_as_owner(target))
    throw Error(name + ": belongs to another user, who alone may replace it in this directory",
                "name another file");
}

Error appeared_meanwhile(const std::string& name) {
  return Error(name + ": was created meanwhile", "use -f to replace it");
}

}  // namespace

uint32_t of_any_group(uint32_t mode) {
  const uint32_t both = mode >> 3 & mode & 07;
  return (mode & owner_bits) | both << 3 | both;
}

AtomicFile::AtomicFile(std::string name, std::string target, const AtomicFileOptions& options)
    : name_(std::move(name)), target_(std::move(target)), options_(options) {
  directory_ = parent_of(target_);
  if (options_.replace) require_rename_allowed(name_, target_, directory_);
  FileDescriptor file = options_.allow_anonymous ? create_anonymous() : FileDescriptor();
  is_anonymous_ = static_cast<bool>(file);
  if (options_.replace || !is_anonymous_) hidden_.emplace(directory_);
  if (!is_anonymous_) file = create_hidden();
  file_ = PositionedFile(std::move(file), name_, Caching::ask);
  open_directory_ =
      FileDescriptor(retried([&] { return ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  // A directory that is writable but not readable cannot be opened. The name then becomes durable whenever
  // the system writes it.
  if (!open_directory_ && errno != EACCES) throw system_error(name_, "open its directory", errno);
}

FileDescriptor AtomicFile::create_anonymous() {
  FileDescriptor file = open_nameless(directory_, options_.mode | private_mode);
  if (!file && errno == EOPNOTSUPP) return {};
  if (!file) throw cannot_create(name_, directory_, errno);
  // Without privileges, only the path in /proc can be used to give it a name.
  if (::access(path_of(file.get()).c_str(), F_OK) != 0) return {};
  decide_mode(file.get());
  return file;
}

/// The first file only shows what the umask and the directory do to the mode. It stays empty, so whoever
/// opens it gets nothing.
FileDescriptor AtomicFile::create_hidden() {
  const auto create = [&](uint32_t mode) {
    FileDescriptor file = hidden_->open(mode);
    if (!file) throw cannot_create(name_, directory_, errno);
    return file;
  };
  {
    const FileDescriptor first = create(options_.mode | private_mode);
    decide_mode(first.get());
  }
  hidden_->step([&] { return ::unlink(hidden_->path().c_str()) != 0; });
  return create(private_mode);
}

/// Derives the final mode from the mode that the file got at creation: the kernel applies the umask, unless
/// the directory gives new files an access control list. If the file system does not allow setting a mode,
/// this fails here, before the work.
void AtomicFile::decide_mode(int created_file) {
  struct stat created {};
  if (::fstat(created_file, &created) != 0) throw system_error(name_, "examine", errno);
  const uint32_t present = created.st_mode & permission_bits;
  mode_ = options_.mode & (options_.owner ? permission_bits : present);
  if (options_.group &&
      (*options_.group != created.st_gid || ::fgetxattr(created_file, access_list_attribute, nullptr, 0) > 0))
    mode_ = of_any_group(mode_);
  if (mode_ != present && ::fchmod(created_file, present) != 0)
    throw system_error(name_, "set the mode", errno);
}

void AtomicFile::reserve(uint64_t bytes) { reserve_space(file_.fd(), name_, 0, bytes); }

void AtomicFile::cut(uint64_t bytes) {
  if (retried([&] { return ::ftruncate(file_.fd(), static_cast<off_t>(bytes)); }) != 0)
    throw system_error(name_, fmt::format("cut it to {} bytes", bytes), errno);
}

/// Users can only give a file to one of their own groups. Returns false if the group could not be set.
bool AtomicFile::set_group() const {
  struct stat created {};
  if (!options_.owner || ::fstat(file_.fd(), &created) != 0) return true;
  const gid_t group = options_.owner->group;
  return created.st_gid == group || ::fchown(file_.fd(), static_cast<uid_t>(-1), group) == 0;
}

/// Only root may give a file to another user. If the system refuses, it stays ours.
void AtomicFile::set_user() const {
  struct stat created {};
  if (!options_.owner || ::fstat(file_.fd(), &created) != 0) return;
  if (created.st_uid != options_.owner->user)
    (void)!::fchown(file_.fd(), options_.owner->user, static_cast<gid_t>(-1));
}

/// Copies the access control list of the file that is replaced, or removes the one that the directory gave to
/// the new file. (If there is a list, the group bits of the mode show its mask.) Returns false if there is a
/// list that cannot be copied.
bool AtomicFile::copy_access_list() const {
  if (!options_.owner) return true;
  std::vector<char> list(1 << 16);  // the maximum length of an attribute
  const ssize_t bytes = ::getxattr(target_.c_str(), access_list_attribute, list.data(), list.size());
  if (bytes >= 0)
    return ::fsetxattr(file_.fd(), access_list_attribute, list.data(), static_cast<size_t>(bytes), 0) == 0;
  if (errno != ENODATA && errno != EOPNOTSUPP) return errno == ENOENT;
  return ::fremovexattr(file_.fd(), access_list_attribute) == 0 || errno == ENODATA || errno == EOPNOTSUPP;
}

void AtomicFile::set_mode(Rights kept) const {
  struct stat created {};
  if (::fstat(file_.fd(), &created) != 0) throw system_error(name_, "examine", errno);
  uint32_t mode = mode_;
  if (kept == Rights::not_of_group) mode = of_any_group(mode);
  if (kept == Rights::of_owner) mode &= owner_bits;
  if (mode != (created.st_mode & permission_bits) && ::fchmod(file_.fd(), mode) != 0)
    throw system_error(name_, "set the mode", errno);
}

void AtomicFile::sync() {
  // Nobody may get rights that belonged to another group. The user comes last, as only a file's owner may set
  // its list and mode.
  const bool keeps_group = set_group();
  const bool keeps_list = keeps_group && copy_access_list();
  set_mode(keeps_list ? Rights::all : keeps_group ? Rights::of_owner : Rights::not_of_group);
  set_user();
  if (retried([&] { return ::fdatasync(file_.fd()); }) != 0)
    throw system_error(name_, "write it to the disk", errno);
}

/// The file once more, now that it has a name: of one without a name btrfs (before Linux 6.16) brings the
/// bytes to the disk, but not where they are; then a power failure would leave the name with zeros. Elsewhere
/// nothing is left to write but the mode.
void AtomicFile::settle() {
  if (retried([&] { return ::fsync(file_.fd()); }) != 0 && errno != EINVAL)
    throw system_error(name_, "write it to the disk", errno);
  if (file_.close() != 0) throw system_error(name_, "close", errno);
  if (open_directory_ && retried([&] { return ::fsync(open_directory_.get()); }) != 0 && errno != EINVAL)
    throw system_error(name_, "write its directory to the disk", errno);
}

void AtomicFile::check_name() const {
  struct stat status {};
  // The directory may have been removed by now, or no longer be writable.
  if (::access(directory_.c_str(), W_OK | X_OK) != 0)
    throw system_error(name_, "give the file its name", errno);
  if (::lstat(target_.c_str(), &status) != 0) return;
  if (!options_.replace) throw appeared_meanwhile(name_);
  if (S_ISDIR(status.st_mode)) throw system_error(name_, "give the file its name", EISDIR);
  require_rename_allowed(name_, target_, directory_);
}

void AtomicFile::give_name() {
  if (!is_anonymous_) return rename_to_target();
  const std::string self = path_of(file_.fd());
  if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, target_.c_str(), AT_SYMLINK_FOLLOW) == 0) return;
  if (errno != EEXIST) throw system_error(name_, "give the file its name", errno);
  if (!options_.replace) throw appeared_meanwhile(name_);
  // linkat never replaces a file, but rename does. So the file has a hidden name between the two calls.
  int error = 0;
  hidden_->step([&] {
    error = link_and_rename(self.c_str(), hidden_->path().c_str(), target_.c_str());
    return error != 0;
  });
  if (error != 0) throw system_error(name_, "give the file its name", error);
}

void AtomicFile::rename_to_target() {
  const char* const from = hidden_->path().c_str();
  const char* const to = target_.c_str();
  int error = 0;
  // The step returns whether a file still has the hidden name.
  hidden_->step([&] {
    const auto done = [&](int result) {
      error = result != 0 ? errno : 0;
      return result == 0;
    };
    if (done(::renameat2(AT_FDCWD, from, AT_FDCWD, to, options_.replace ? 0u : RENAME_NOREPLACE)))
      return false;
    if (error != EINVAL || options_.replace) return true;
    // This file system does not support RENAME_NOREPLACE. A link fails if the target exists; the hidden name
    // is then removed with the rest. Without links, all that is left is to check first.
    if (done(::link(from, to)) || (error != EPERM && error != EOPNOTSUPP && error != ENOSYS)) return true;
    if (::access(to, F_OK) != 0) return !done(::rename(from, to));
    error = EEXIST;
    return true;
  });
  if (error == EEXIST) throw appeared_meanwhile(name_);
  if (error != 0) throw system_error(name_, "give the file its name", error);
}

}  // namespace sweepsort
