// terminal.hpp - standard output and standard error: writes text, and checks that it arrived.
#pragma once

#include <string>
#include <string_view>

namespace sweepsort::cli {

/// Opens /dev/null or the end of a pipe, with the wrong access mode, on each of the descriptors 0, 1 and 2
/// that the parent closed. Otherwise the output file could become descriptor 1 or 2 and receive our messages.
/// Using such a descriptor fails with EBADF. If not even a pipe can be made, ends the process with code 2.
void keep_standard_descriptors();

/// Allows as many open files as the system grants. Each input needs one or two, and a sort may have thousands
/// of inputs.
void allow_open_files();

bool stderr_is_terminal();

/// Writes to standard error. It is no error if it is closed or its terminal is gone, because nobody could be
/// told.
void write_error(std::string_view text) noexcept;

/// File names may contain control characters for a terminal; each is replaced by '?'.
std::string printable(std::string_view text);

/// Writes "sweepsort: COMMAND: MESSAGE" to standard error. If there is no memory for that, says so instead.
void say(std::string_view command, std::string_view message) noexcept;

/// Writes "hint: HINT" to standard error; nothing if there is no memory for it.
void say_hint(std::string_view hint) noexcept;

/// Writes the answer to standard output.
void answer(std::string_view text);

/// Flushes standard output. Throws Error if any part of the answer was lost (disk full, closed).
void finish_answer();

}  // namespace sweepsort::cli
