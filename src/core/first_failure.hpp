// first_failure.hpp - of several threads' exceptions the first.
#pragma once

#include <exception>
#include <mutex>

namespace sweepsort {

/// The failure that came first, among threads of which others fail only because that one did.
class FirstFailure {
 public:
  /// In a catch block, before anybody else is told to stop.
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
