// temporary_files.cpp - the table of names that a signal handler may read.
#include "io/temporary_files.hpp"

#include "core/error.hpp"
#include "core/fingerprint.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>

namespace sweepsort {
namespace {

enum class SlotState : int { free, filling, used };

struct Slot {
  std::atomic<SlotState> state = SlotState::free;
  std::array<char, PATH_MAX> path{};
};
static_assert(std::atomic<SlotState>::is_always_lock_free, "a signal handler reads it");

// An output needs one, and only where it cannot be nameless; beyond this a program that sorts in many threads at
// once gets an error. Slots that were never used are no memory.
std::array<Slot, 1024> slots;

}  // namespace

void remove_temporary_files() noexcept {
  for (Slot& slot : slots)
    if (slot.state.load(std::memory_order_acquire) == SlotState::used) ::unlink(slot.path.data());
}

FileDescriptor open_nameless(const std::string& directory, uint32_t mode) {
  FileDescriptor file(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mode));
  // Kernels and file systems that do not know the flag say so in other words.
  if (!file && (errno == EISDIR || errno == EINVAL)) errno = EOPNOTSUPP;
  return file;
}

FileDescriptor open_new(const std::string& path, uint32_t mode) {
  return FileDescriptor(::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode));
}

std::string temporary_path(const std::string& directory) {
  return fmt::format("{}/.sweepsort.{:016x}.tmp", directory, random_secret());
}

TemporaryName::TemporaryName(const std::string& path) : path_(path), slot_(-1) {
  if (path.size() >= PATH_MAX) throw Error(path + ": the name is too long");
  for (size_t i = 0; i < slots.size(); ++i) {
    SlotState expected = SlotState::free;
    if (!slots[i].state.compare_exchange_strong(expected, SlotState::filling)) continue;
    std::memcpy(slots[i].path.data(), path.c_str(), path.size() + 1);
    slots[i].state.store(SlotState::used, std::memory_order_release);
    slot_ = static_cast<int>(i);
    return;
  }
  throw Error(path + ": too many temporary files at once");
}

void TemporaryName::keep() noexcept {
  if (slot_ >= 0) slots[static_cast<size_t>(slot_)].state.store(SlotState::free, std::memory_order_release);
  slot_ = -1;
}

TemporaryName::~TemporaryName() {
  if (slot_ < 0) return;
  ::unlink(path_.c_str());
  keep();
}

}  // namespace sweepsort
