// temporary_files.cpp - the table of names that a signal handler can read.
#include "io/temporary_files.hpp"

#include "core/error.hpp"
#include "core/fingerprint.hpp"
#include "io/system_error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>

namespace sweepsort {
namespace {

enum class SlotState : uint8_t { free, no_file, changing, file };

// An output needs a name if it replaces another file or cannot be nameless. A program that sorts in very many
// threads at once gets an error beyond this number. Entries that were never used take no memory.
constexpr size_t max_names = 1024;
std::array<std::atomic<SlotState>, max_names> states;
std::array<std::array<char, PATH_MAX>, max_names> paths;
std::atomic<bool> is_ending = false;
static_assert(decltype(states)::value_type::is_always_lock_free && decltype(is_ending)::is_always_lock_free,
              "a signal handler reads them");

/// Blocks all signals in this thread.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

/// Whether names cannot be removed from this directory (chattr +a).
bool keeps_all_names(const std::string& directory) {
  struct statx folder {};
  return ::statx(AT_FDCWD, directory.c_str(), 0, STATX_BASIC_STATS, &folder) == 0 &&
         (folder.stx_attributes & STATX_ATTR_APPEND) != 0;
}

}  // namespace

// A step first marks its name as changing and then checks whether the process is ending. This function first
// marks the process as ending and then looks at the names. Whichever comes second sees the other's mark,
// because the order is sequentially consistent.
void remove_temporary_files() noexcept {
  is_ending = true;
  for (size_t i = 0; i < max_names; ++i) {
    while (states[i] == SlotState::changing) ::poll(nullptr, 0, 1);
    if (states[i] == SlotState::file) ::unlink(paths[i].data());
  }
}

FileDescriptor open_nameless(const std::string& directory, uint32_t mode) {
  FileDescriptor file(
      retried([&] { return ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mode); }));
  // Kernels and file systems that do not know the flag report other errors.
  if (!file && (errno == EISDIR || errno == EINVAL)) errno = EOPNOTSUPP;
  return file;
}

TemporaryName::TemporaryName(const std::string& directory)
    : path_(fmt::format("{}/.sweepsort.{:016x}.tmp", directory, random_secret())), slot_(0) {
  if (path_.size() >= PATH_MAX) throw Error(directory + ": its name is too long for a temporary file in it");
  for (; slot_ < max_names; ++slot_) {
    SlotState expected = SlotState::free;
    if (!states[slot_].compare_exchange_strong(expected, SlotState::no_file)) continue;
    std::memcpy(paths[slot_].data(), path_.c_str(), path_.size() + 1);
    return;
  }
  throw Error(path_ + ": too many temporary files at once");
}

void TemporaryName::step(const std::function<bool()>& change) {
  const SignalsBlocked blocked;
  std::atomic<SlotState>& state = states[slot_];
  const SlotState before = state.exchange(SlotState::changing);
  if (is_ending) {
    state = before;
    for (;;) ::pause();
  }
  state = change() ? SlotState::file : SlotState::no_file;
}

FileDescriptor TemporaryName::open(uint32_t mode) {
  FileDescriptor file;
  int error = EPERM;
  if (keeps_all_names(path_.substr(0, path_.rfind('/')))) return errno = error, FileDescriptor();
  step([&] {
    file = FileDescriptor(
        retried([&] { return ::open(path_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode); }));
    error = errno;
    return static_cast<bool>(file);
  });
  errno = error;
  return file;
}

TemporaryName::~TemporaryName() {
  if (states[slot_] == SlotState::file) ::unlink(path_.c_str());
  states[slot_] = SlotState::free;
}

}  // namespace sweepsort
