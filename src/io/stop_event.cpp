// stop_event.cpp - an eventfd, because poll() waits for it beside a pipe.
#include "io/stop_event.hpp"

#include <sys/eventfd.h>

namespace sweepsort {

StopEvent::StopEvent() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void StopEvent::set() const noexcept {
  if (event_) (void)::eventfd_write(event_.get(), 1);
}

}  // namespace sweepsort
