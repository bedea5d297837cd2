// turnstile.hpp - lets threads pass a point one after another, in the order of their numbers.
#pragma once

#include "core/error.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace sweepsort {

/// Number 0 may pass first; every other number passes when the number before it has called pass(). What is
/// written between wait() and pass() is visible to all later numbers. A thread that cannot take its turn
/// calls cancel(); otherwise those after it would wait forever.
class Turnstile {
 public:
  /// Returns when it is `number`'s turn. Throws Error after cancel().
  void wait(uint64_t number) {
    // A turn over a chunk in the caches takes microseconds, less than sleeping and being woken.
    for (int round = 0; round < spin_rounds; ++round) {
      if (cancelled_.load(std::memory_order_relaxed)) break;
      if (turn_.load(std::memory_order_acquire) == number) return;
      relax();
    }
    std::unique_lock lock(mutex_);
    passed_.wait(lock, [&] { return turn_.load(std::memory_order_acquire) == number || cancelled_; });
    if (cancelled_) throw Error("internal: waited for a turn that never came");
  }

  /// Ends the turn of `number`.
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
