// write_gate.hpp - decides between the thread that begins to write a result and one that fails meanwhile.
#pragma once

#include <atomic>
#include <cstdint>

namespace sweepsort {

/// Nothing has been written before the gate is passed. A failure closes it, so that another attempt can
/// follow from the beginning; if the gate has been passed already, the failure must stop the writers. All
/// functions are thread-safe.
class WriteGate {
 public:
  /// Call this before anything is written. Returns false if the gate is closed: then nothing may be written.
  bool pass() {
    State before = State::open;
    return state_.compare_exchange_strong(before, State::passed) || before == State::passed;
  }
  /// Call this after a failure. Returns true if the gate has been passed: then writers may be waiting.
  bool close() {
    State before = State::open;
    return !state_.compare_exchange_strong(before, State::closed) && before == State::passed;
  }
  bool is_passed() const { return state_ == State::passed; }
  /// Call this before another attempt.
  void open_again() {
    State before = State::closed;
    state_.compare_exchange_strong(before, State::open);
  }

 private:
  enum class State : uint8_t { open, passed, closed };
  std::atomic<State> state_ = State::open;
};

}  // namespace sweepsort
