// progress.cpp - the progress thread.
#include "cli/progress.hpp"

#include "cli/option_groups.hpp"
#include "cli/option_values.hpp"
#include "cli/terminal.hpp"
#include "cli/units.hpp"
#include "core/bytes.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <new>
#include <string_view>
#include <system_error>

namespace sweepsort::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto rewrite_interval = 100ms;
constexpr auto line_interval = 1s;  // if lines cannot be rewritten

std::atomic<bool> line_on_terminal = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler asks for it");

double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

/// "0:07", "1:02:03".
std::string clock_time(double time_s) {
  const auto total = static_cast<uint64_t>(std::llround(time_s));
  const uint64_t hours = total / 3600, minutes = total / 60 % 60, rest = total % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, rest)
                   : fmt::format("{}:{:02}", minutes, rest);
}

/// Whether a line can be written at once. Not to a terminal that is stopped (Ctrl-S), and not to a pipe that
/// is full: the work would have to wait for whoever reads them.
bool takes_lines() {
  pollfd error_output{STDERR_FILENO, POLLOUT, 0};
  return ::poll(&error_output, 1, 0) == 1 && (error_output.revents & POLLOUT) != 0;
}

}  // namespace

void erase_progress_line() noexcept {
  constexpr std::string_view erasure = "\r\x1b[K";
  if (!line_on_terminal.exchange(false) || !takes_lines()) return;
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, erasure.data(), erasure.size());
}

ProgressWhen read_progress(const Arguments& arguments) {
  return read_choice(arguments, progress_option,
                     arguments.has("quiet") ? ProgressWhen::never : ProgressWhen::automatic);
}

ProgressMeter::ProgressMeter(std::string command, ProgressWhen when)
    : command_(std::move(command)),
      rewrite_(stderr_is_terminal()),
      visible_(when == ProgressWhen::always || (when == ProgressWhen::automatic && rewrite_)),
      patience_(when == ProgressWhen::always ? 0ms : 300ms) {
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    // No thread is available: the work goes on, but progress is not shown between its phases.
  }
}

ProgressMeter::~ProgressMeter() {
  stop_ = true;
  if (thread_.joinable()) {
    pthread_kill(thread_.native_handle(), SIGUSR1);  // wakes the thread, the only one that receives it
    thread_.join();
  }
  const std::scoped_lock lock(mutex_);
  if (started_ && visible_) show(true);
  erase_progress_line();
}

void ProgressMeter::say_between(const std::string& message) {
  const std::scoped_lock lock(mutex_);
  erase_progress_line();
  say(command_, message);
}

ProgressFunction ProgressMeter::function() {
  return [this](Phase phase, uint64_t done, uint64_t total) { report(phase, done, total); };
}

void ProgressMeter::report(Phase phase, uint64_t bytes_done, uint64_t bytes_total) {
  const std::scoped_lock lock(mutex_);
  if (!started_ || phase != phase_) {
    if (started_ && visible_) show(true);
    started_ = true;
    phase_ = phase;
    // If the first report of a phase already counts bytes, the phase began earlier: use the time of the
    // report before.
    phase_start_ = bytes_done > 0 ? last_report_ : Clock::now();
  }
  last_report_ = Clock::now();
  bytes_done_ = bytes_done;
  bytes_total_ = bytes_total;
}

std::string ProgressMeter::line() const {
  const double elapsed = seconds(Clock::now() - phase_start_);
  const std::string label = fmt::format("{:<8}", name(phase_));
  if (bytes_done_ == 0) {  // the phase has just begun, or does not count bytes
    const std::string size = bytes_total_ > 0 ? format_bytes({bytes_total_}) + "  " : "";
    return label + size + clock_time(elapsed);
  }
  const auto done = static_cast<double>(bytes_done_), total = static_cast<double>(bytes_total_);
  const std::string rate = format_rate(done, elapsed, "B");
  if (bytes_total_ == 0) return fmt::format("{}{}  {}", label, format_bytes({bytes_done_}), rate);
  const std::string left =
      bytes_done_ < bytes_total_ ? fmt::format("  {} left", clock_time(elapsed * (total - done) / done)) : "";
  return fmt::format("{}{} of {}  {:.0f}%  {}{}", label, format_bytes({bytes_done_}),
                     format_bytes({bytes_total_}), 100 * done / total, rate, left);
}

void ProgressMeter::show(bool phase_ended) noexcept try {
  const auto now = Clock::now();
  if (!takes_lines()) return;
  if (rewrite_) {
    if (now - start_ < patience_) return;
    // Return to the first column, write the line, and erase the rest of a longer one.
    write_error(fmt::format("\r{}\x1b[K", line()));
    line_on_terminal = true;
  } else if (phase_ended || now - last_shown_ >= line_interval) {
    say(command_, line());
    last_shown_ = now;
  }
} catch (const std::bad_alloc&) {
  // A missing line is better than a failed sort.
}

void ProgressMeter::answer() noexcept try {
  if (!takes_lines()) return;
  erase_progress_line();
  say(command_, line());
} catch (const std::bad_alloc&) {
}

void ProgressMeter::run() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  constexpr timespec interval{0, std::chrono::nanoseconds(rewrite_interval).count()};
  while (!stop_) {
    const bool asked = visible_ ? sigtimedwait(&signals, nullptr, &interval) == SIGUSR1
                                : sigwaitinfo(&signals, nullptr) == SIGUSR1;
    if (stop_) break;
    const std::scoped_lock lock(mutex_);
    if (asked) answer();
    if (started_ && visible_) show(false);
  }
}

}  // namespace sweepsort::cli
