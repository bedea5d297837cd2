// rendezvous.hpp - the points at which a kernel thread meets the scheduler. CUDA's functions are built on
// them.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>

namespace simt {

using Where = std::source_location;

enum class Collective : uint8_t {
  sync,
  shuffle,
  shuffle_up,
  shuffle_down,
  shuffle_xor,
  ballot,
  any,
  all,
  match_any,
  match_all,
  add,
  min,
  max,
  bit_and,
  bit_or,
  bit_xor,
  ordered_atomic_add,
};

enum class Barrier : uint8_t { sync, sync_or, sync_and, sync_count, grid_arrive, grid_wait };

/// Waits until every lane of `mask` has arrived with the same kind, mask and operand size. Returns the lane's
/// result. `argument`: the source lane of a shuffle, or the address of an ordered add.
uint64_t meet_warp(Collective kind, unsigned operand_bytes, uint32_t mask, uint64_t value, uint64_t argument,
                   Where where);

/// Waits until every thread of the block that has not exited has arrived.
int meet_block(Barrier kind, int predicate, Where where);

/// Which blocks of a launch may wait for each other: none, or all of a cooperative launch or of one cluster.
enum class Together : uint8_t { none, grid, cluster };

/// Notes that the block has arrived at the barrier of all blocks. Returns the barrier's number. `kind`: which
/// barrier it is, and so which launch it requires.
uint32_t arrive_at_grid(Together kind, Where where);
/// Waits until every block of the grid has arrived at barrier `number`.
void wait_for_grid(Together kind, uint32_t number, Where where);

/// Lets other threads run. Does nothing outside a kernel.
void scheduling_point(const char* what, Where where);

/// As scheduling_point(), for a thread that waits for others: it continues after them.
void polling_point(const char* what, Where where);

/// Throws Fault with the running thread's position.
[[noreturn]] void fault(const char* what, Where where);

unsigned lane_of_running_thread();
uint64_t steps_so_far();
/// True with probability 1/n, by the session's seed.
bool chance(unsigned n);

/// Whether spinning threads may repeat an operation: true of loads and exchanges, not of additions.
enum class Polling : uint8_t { possible, never };

/// Brackets one atomic operation. A seeded coin puts the thread switch before or after it, so that the code
/// before an atomic and the code after it can each be seen alone.
class AtomicStep {
 public:
  AtomicStep(const char* what, const void* address, size_t alignment, Polling polling, Where where);
  /// Memory changed.
  void changed();
  /// Memory was read or rewritten as it was.
  void unchanged();
  /// As unchanged(). Where Polling is possible, a thread that sees `value` again waits its turn.
  void polled(uint64_t value);

 private:
  void make_way();

  const char* what_;
  const void* address_;
  Where where_;
  Polling polling_;
  bool switch_after_;
};

// No local variable's address is taken: AddressSanitizer would watch it in every shuffle, a tenth of the
// time.
/// The bits of a value of at most 8 bytes; for a larger one, a digest.
template <class T>
uint64_t bits_of(const T& value) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 16);
  if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(uint32_t, value);
  } else if constexpr (sizeof(T) == 8) {
    return __builtin_bit_cast(uint64_t, value);
  } else {
    uint64_t words[2] = {};
    std::memcpy(words, &value, sizeof(T));
    return words[0] ^ (words[1] * 0x9e3779b97f4a7c15u);
  }
}

template <class T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

/// The value of 4 or 8 bytes that has these bits.
template <class T>
T value_of(uint64_t bits) {
  static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  if constexpr (sizeof(T) == 4)
    return __builtin_bit_cast(T, static_cast<uint32_t>(bits));
  else
    return __builtin_bit_cast(T, bits);
}

}  // namespace simt
