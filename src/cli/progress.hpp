// progress.hpp - shows the progress of a long operation: in a rewritten line on a terminal, and on SIGUSR1
// anywhere.
#pragma once

#include "cli/arguments.hpp"
#include "core/clock.hpp"
#include "sweepsort.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace sweepsort::cli {

enum class ProgressWhen : uint8_t { automatic, always, never };

ProgressWhen read_progress(const Arguments& arguments);

/// Erases the progress line on the terminal, if there is one. Async-signal-safe; meant for a process that is
/// about to end.
void erase_progress_line() noexcept;

/// At most one per process. A separate thread prints, so that a phase without reports still shows its
/// duration. It also receives SIGUSR1, so that no signal handler needs to print.
class ProgressMeter {
 public:
  ProgressMeter(std::string command, ProgressWhen when);
  ~ProgressMeter();
  ProgressMeter(const ProgressMeter&) = delete;
  ProgressMeter& operator=(const ProgressMeter&) = delete;

  /// For the library's options; valid while this object exists.
  ProgressFunction function();

  /// Prints a line on standard error without mixing it with the progress line.
  void say_between(const std::string& message);

 private:
  void report(Phase phase, uint64_t bytes_done, uint64_t bytes_total);
  void run();
  // Call these with mutex_ held. If there is no memory for a line, none is shown.
  std::string line() const;
  void show(bool phase_ended) noexcept;
  void answer() noexcept;  // SIGUSR1

  const std::string command_;
  const bool rewrite_;              // one rewritten line; otherwise a line now and then
  const bool visible_;              // otherwise only on SIGUSR1
  const Clock::duration patience_;  // shorter operations show nothing

  std::mutex mutex_;
  bool started_ = false;
  Phase phase_ = Phase::prepare;
  uint64_t bytes_done_ = 0;
  uint64_t bytes_total_ = 0;
  Clock::time_point start_ = Clock::now();
  Clock::time_point phase_start_ = start_;
  Clock::time_point last_report_ = start_;
  Clock::time_point last_shown_ = start_;

  std::atomic<bool> stop_ = false;
  std::thread thread_;  // last: it uses everything above
};

}  // namespace sweepsort::cli
