// progress.hpp - how far a long operation is: on a terminal a line that is rewritten, anywhere on SIGUSR1.
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

/// Erases the line that stands on the terminal, if there is one. Async-signal-safe: for who is about to die.
void erase_progress_line() noexcept;

/// One at a time in a process. A thread of its own prints, so that a phase without reports still shows its
/// age, and takes SIGUSR1, so that nothing has to be printed by a signal handler.
class ProgressMeter {
 public:
  ProgressMeter(std::string command, ProgressWhen when);
  ~ProgressMeter();
  ProgressMeter(const ProgressMeter&) = delete;
  ProgressMeter& operator=(const ProgressMeter&) = delete;

  /// For the library's options; valid as long as this object.
  ProgressFunction function();

  /// Says a line on standard error without mixing it with the progress line.
  void say_between(const std::string& message);

 private:
  void report(Phase phase, uint64_t bytes_done, uint64_t bytes_total);
  void run();
  // These with mutex_ held. Where there is no memory for a line, none is shown.
  std::string line() const;
  void show(bool phase_ended) noexcept;
  void answer() noexcept;  // SIGUSR1

  const std::string command_;
  const bool rewrite_;              // one rewritten line; else a line now and then
  const bool visible_;              // else SIGUSR1 alone
  const Clock::duration patience_;  // nothing is shown of operations that end sooner

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
