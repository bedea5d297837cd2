// turnstile.hpp - threads that pass a point one after the other, in the order of their numbers.
#pragma once

#include "core/error.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace sweepsort {

/// Number 0 may pass first; everybody else when the one before has called pass(). What is written between
/// wait() and pass() is visible to all who come later. Whoever cannot do their turn calls cancel(), else
/// those behind would wait for ever.
class Turnstile {
 public:
  /// Returns when it is `number`'s turn; throws Error after cancel().
  void wait(uint64_t number) {
    // Turns of a chunk in the caches take microseconds, less than it takes to sleep and be woken.
    for (int round = 0; round < spin_rounds; ++round) {
      if (cancelled_.load(std::memory_order_relaxed)) break;
      if (turn_.load(std::memory_order_acquire) == number) return;
      relax();
    }
    std::unique_lock lock(mutex_);
    passed_.wait(lock, [&] { return turn_.load(std::memory_order_acquire) == number || cancelled_; });
    if (cancelled_) throw Error("internal: waited for a turn that never came");
  }

  /// The turn of `number` is over.
  void pass(uint64_t number) {
    {
      const std::lock_guard lock(mutex_);
      turn_.store(number + 1, std::memory_order_release);
    }
    passed_.notify_all();
  }

  void cancel() {
    {
      const std::lock_guard lock(mutex_);
      cancelled_ = true;
    }
    passed_.notify_all();
  }

 private:
  static constexpr int spin_rounds = 2000;

  static void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    std::this_thread::yield();
#endif
  }

  std::atomic<uint64_t> turn_ = 0;
  std::mutex mutex_;
  std::condition_variable passed_;
  std::atomic<bool> cancelled_ = false;
};

}  // namespace sweepsort
