// terminal.hpp - standard output and standard error: what is said, and whether it arrived.
#pragma once

#include <string>
#include <string_view>

namespace sweepsort::cli {

/// Opens /dev/null on each of the descriptors 0, 1, 2 that the parent closed, the wrong way round: otherwise
/// the output file would become descriptor 1 or 2 and take in our messages. Using such a descriptor fails
/// with EBADF.
void keep_standard_descriptors();

/// As many open files as the system grants: each input is one or two, and a sort may have thousands.
void allow_open_files();

bool stderr_is_terminal();

/// Standard error as it is. Nobody is left to tell if it is closed, or its terminal gone: that is no error.
void write_error(std::string_view text) noexcept;

/// Names of files may hold what a terminal would obey: '?' in its place.
std::string printable(std::string_view text);

/// "sweepsort: COMMAND: MESSAGE" on standard error; where there is no memory for that, that there is none.
void say(std::string_view command, std::string_view message) noexcept;

/// "hint: HINT" on standard error; nothing where there is no memory for it.
void say_hint(std::string_view hint) noexcept;

/// The answer, on standard output.
void answer(std::string_view text);

/// Flushes standard output. Throws Error if any part of the answer was lost (disk full, closed).
void finish_answer();

}  // namespace sweepsort::cli
