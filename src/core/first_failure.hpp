// first_failure.hpp - keeps the first of the exceptions that several threads throw.
#pragma once

#include <exception>
#include <mutex>

namespace sweepsort {

/// The first failure among threads. Later failures are often only consequences of the first.
class FirstFailure {
 public:
  /// Call this in a catch block, before telling other threads to stop.
  void note() {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace sweepsort
