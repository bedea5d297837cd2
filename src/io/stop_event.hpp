// stop_event.hpp - tells threads that wait for a pipe to give up.
#pragma once

#include "core/error.hpp"
#include "io/file_descriptor.hpp"

namespace sweepsort {

/// What a read ends with that was told to.
class Stopped : public Error {
 public:
  Stopped() : Error("internal: a read was stopped") {}
};

/// Once set it stays so: a wait that looks for it (wait_until_readable, can_be_read) throws Stopped, whether
/// it has begun or comes later. All calls are thread-safe.
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
