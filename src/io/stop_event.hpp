// stop_event.hpp - tells threads that wait for a pipe to give up.
#pragma once

#include "core/error.hpp"
#include "io/file_descriptor.hpp"

namespace sweepsort {

/// Thrown by a read or write that was told to stop.
class Stopped : public Error {
 public:
  Stopped() : Error("internal: a read or a write was stopped") {}
};

/// Once set, the event stays set. A wait that checks it (pipes.hpp) throws Stopped, whether it has already
/// begun or comes later. All calls are thread-safe.
class StopEvent {
 public:
  /// If no descriptor is available, nobody is woken, and waits take as long as their pipes do.
  StopEvent();
  void set() const noexcept;
  /// Becomes readable when set; -1 if there is no descriptor.
  int fd() const { return event_.get(); }

 private:
  FileDescriptor event_;
};

}  // namespace sweepsort
