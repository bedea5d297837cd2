// stop_event.hpp - tells threads that wait for a pipe to give up.
#pragma once

#include "core/error.hpp"
#include "io/file_descriptor.hpp"

namespace sweepsort {

/// What a read or a write ends with that was told to.
class Stopped : public Error {
 public:
  Stopped() : Error("internal: a read or a write was stopped") {}
};

/// Once set it stays so: a wait that looks for it (pipes.hpp) throws Stopped, whether it has begun or comes
/// later. All calls are thread-safe.
class StopEvent {
 public:
  /// Without a descriptor to be had nobody is woken: waits take as long as their pipes do.
  StopEvent();
  void set() const noexcept;
  /// Readable when set; -1 if there is none.
  int fd() const { return event_.get(); }

 private:
  FileDescriptor event_;
};

}  // namespace sweepsort
