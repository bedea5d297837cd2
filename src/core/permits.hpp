// permits.hpp - lets at most so many threads do something at a time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace sweepsort {

/// Not std::counting_semaphore: that of GCC 12 can lose a wake-up (libstdc++'s atomic_wait.h goes to sleep
/// until the counter changes from what it was before the spinning, which need not be 0), so that a thread
/// sleeps for ever although a permit is free.
class Permits {
 public:
  explicit Permits(uint32_t free) : free_(free) {}

  /// One permit, from the constructor to the destructor. Waits for it.
  class Holder {
   public:
    explicit Holder(Permits& permits) : permits_(permits) { permits_.take(); }
    ~Holder() { permits_.give_back(); }
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;

   private:
    Permits& permits_;
  };

 private:
  void take() {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [&] { return free_ > 0; });
    --free_;
  }
  void give_back() {
    {
      const std::lock_guard lock(mutex_);
      ++free_;
    }
    returned_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable returned_;
  uint32_t free_;
};

}  // namespace sweepsort
