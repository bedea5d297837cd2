// terminal.cpp - standard output and standard error.
#include "cli/terminal.hpp"

#include "core/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

namespace sweepsort::cli {

void keep_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    const bool is_input = descriptor == STDIN_FILENO;
    // open() and pipe() return the lowest free number first, and all lower ones are in use.
    if (open("/dev/null", is_input ? O_WRONLY : O_RDONLY) == descriptor) continue;
    // There may be no /dev. Nothing can be read from a pipe's second end, or written to its first.
    int ends[2];
    if (pipe(ends) != 0 || (is_input && dup2(ends[1], descriptor) != descriptor)) _exit(2);
    close(ends[1]);
  }
}

void allow_open_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &files);
}

bool stderr_is_terminal() { return isatty(STDERR_FILENO) != 0; }

std::string printable(std::string_view text) {
  std::string shown(text);
  unsigned char before = 0;
  for (char& c : shown) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_c1 = before == 0xc2 && byte >= 0x80 && byte < 0xa0;  // in UTF-8
    if (byte < 0x20 || byte == 0x7f || is_c1) c = '?';
    before = byte;
  }
  return shown;
}

void write_error(std::string_view text) noexcept { std::fwrite(text.data(), 1, text.size(), stderr); }

// Writes a line with one call, so that lines of several threads or processes do not mix.
void say(std::string_view command, std::string_view message) noexcept try {
  write_error(fmt::format("sweepsort: {}{}{}\n", command, command.empty() ? "" : ": ", printable(message)));
} catch (const std::bad_alloc&) {
  write_error("sweepsort: out of memory\n");
}

void say_hint(std::string_view hint) noexcept try {
  write_error(fmt::format("hint: {}\n", printable(hint)));
} catch (const std::bad_alloc&) {
  // The error itself is understandable without the hint.
}

/// The first error of a write to standard output; 0: none.
int answer_error = 0;

void answer(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() && answer_error == 0)
    answer_error = errno;
}

void finish_answer() {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && !std::ferror(stdout)) return;
  const int error = answer_error != 0 ? answer_error : errno;
  throw Error(fmt::format("standard output: {}", error != 0 ? std::strerror(error) : "write error"));
}

}  // namespace sweepsort::cli
