// callback_watch.hpp - records whether a callback of the caller has thrown; the operation must then end and
// not try anything else.
#pragma once

#include <atomic>
#include <functional>

namespace sweepsort {

class CallbackWatch {
 public:
  /// Returns the options of an operation with its callbacks watched. This object must outlive them.
  template <class Options>
  Options watched(Options options) {
    watch(options.progress);
    watch(options.log);
    watch(options.note);
    return options;
  }

  bool has_thrown() const { return has_thrown_; }

 private:
  template <class... Arguments>
  void watch(std::function<void(Arguments...)>& callback) {
    if (!callback) return;
    callback = [this, callback](Arguments... arguments) {
      try {
        callback(arguments...);
      } catch (...) {
        has_thrown_ = true;
        throw;
      }
    };
  }

  std::atomic<bool> has_thrown_ = false;
};

}  // namespace sweepsort
