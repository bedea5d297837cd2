// talk.cpp - log lines, progress and the JSON report.
#include "cli/talk.hpp"

#include "cli/terminal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

namespace sweepsort::cli {
namespace {

/// The beginning of every report, as dump() writes it.
constexpr std::string_view report_begin = "{\n  \"schema\": \"sweepsort.";

/// Whether a report is written under another name and renamed when it is complete. It is written directly if
/// the target has no name of its own (a pipe, a device, a deleted file), if the name cannot be given to
/// another file, or if the target is the file that receives our messages.
bool is_replaced(const std::string& target) {
  struct stat file {};
  struct stat messages {};
  struct statx more {};
  if (::stat(target.c_str(), &file) != 0) return true;
  if (!S_ISREG(file.st_mode) || file.st_nlink == 0) return false;
  if (::fstat(STDERR_FILENO, &messages) == 0 && messages.st_dev == file.st_dev &&
      messages.st_ino == file.st_ino)
    return false;
  std::error_code unknown;
  const std::filesystem::path folder = std::filesystem::canonical(target, unknown).parent_path();
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return false;
  return ::statx(AT_FDCWD, target.c_str(), 0, 0, &more) != 0 ||
         (more.stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0;
}

}  // namespace

Talk::Talk(std::string command, const Arguments& arguments)
    : verbose_(arguments.has("verbose")),
      quiet_(arguments.has("quiet")),
      meter_(std::move(command), read_progress(arguments)) {
  if (verbose_ && quiet_)
    throw UsageError("--quiet and --verbose contradict each other", "leave one of them out");
  if (quiet_ && read_progress(arguments) == ProgressWhen::always)
    throw UsageError("--quiet and --progress always contradict each other", "leave one of them out");
}

LogFunction Talk::log() {
  if (!verbose_) return {};
  return [this](const std::string& line) { meter_.say_between(line); };
}

LogFunction Talk::note() {
  if (quiet_) return {};
  return [this](const std::string& line) { meter_.say_between(line); };
}

JsonReport::JsonReport(const Arguments& arguments, std::vector<std::string> precious)
    : target_(arguments.find("json")), precious_(std::move(precious)) {
  if (target_ && !target_->empty() && goes_to_stdout(*target_)) target_->clear();
  keep_off_precious();
  require_writable();
  keep_off_others("nothing was done");
  std::error_code unknown;
  existed_ = target_ && !target_->empty() && std::filesystem::exists(*target_, unknown);
}

void JsonReport::require_writable() const {
  if (!target_ || target_->empty()) return;
  const bool exists = ::access(target_->c_str(), F_OK) == 0;
  const int why_not = exists ? 0 : errno;
  std::error_code unknown;
  std::filesystem::path file = *target_;
  if (std::filesystem::is_symlink(file, unknown) && !exists)  // of a file that the report would make
    file = file.parent_path() / std::filesystem::read_symlink(file, unknown);
  const std::filesystem::path folder = file.parent_path();
  const std::string place = exists ? *target_ : folder.empty() ? "." : folder.string();
  struct stat status {};
  const bool is_known = ::stat(place.c_str(), &status) == 0;
  if (exists && is_known && (S_ISBLK(status.st_mode) || S_ISSOCK(status.st_mode)))
    throw Error(fmt::format("--json={}: is neither a file nor a pipe", *target_),
                "nothing was done; name a file that can be written");
  if (exists && is_known && S_ISDIR(status.st_mode))
    errno = EISDIR;
  else if (!exists && why_not != ENOENT)
    errno = why_not;
  else if (!exists && is_known && status.st_nlink == 0)
    errno = ENOENT;  // a working directory that has been removed
  else if (!exists && target_->starts_with("/dev/fd/"))
    errno = EBADF;
  else if (::access(place.c_str(), W_OK) == 0)
    return;
  throw Error(fmt::format("--json={}: {}", *target_, std::strerror(errno)),
              "nothing was done; name a file that can be written");
}

void JsonReport::keep_off_precious() const {
  if (!target_ || target_->empty()) return;
  for (const std::string& file : precious_) {
    if (are_one_output(*target_, file))
      throw UsageError(fmt::format("--json={}: the report would replace the data", *target_),
                       "give it a name of its own");
  }
}

void JsonReport::keep_off_others(std::string_view state) const {
  std::error_code unknown;
  if (!target_ || target_->empty() || !std::filesystem::is_regular_file(*target_, unknown) ||
      std::filesystem::file_size(*target_, unknown) == 0)
    return;
  std::ifstream file(*target_, std::ios::binary);
  std::string begin(report_begin.size(), '\0');  // stays zero if the file cannot be read
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  if (begin == report_begin) return;
  throw UsageError(fmt::format("--json={}: exists and is not a report", *target_),
                   fmt::format("{}; a report replaces an earlier one, but no other file: name another, or "
                               "remove it",
                               state));
}

void JsonReport::replace(std::string_view text, std::string_view state) const try {
  replace_file(*target_, text);
} catch (const Error& error) {
  throw Error(fmt::format("--json={}", error.what()), std::string(state));
}

void JsonReport::write(const std::function<nlohmann::ordered_json()>& make_report) const {
  if (!target_) return;
  // File names may be invalid UTF-8, for which the default error handler would throw.
  const std::string text =
      make_report().dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  if (target_->empty()) return answer(text);
  // Check again: a link to a missing file may lead to the output by now, and another file may have appeared.
  keep_off_precious();
  constexpr std::string_view state = "everything else is done: only the report was not written";
  if (!existed_) keep_off_others(state);
  if (is_replaced(*target_)) return replace(text, state);
  std::FILE* const file = std::fopen(target_->c_str(), "we");
  const bool is_written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error = errno;
  if (file && std::fclose(file) == 0 && is_written) return;
  throw Error(fmt::format("--json={}: {}", *target_, std::strerror(is_written ? errno : error)),
              std::string(state));
}

void note_other_type(std::string_view command, const Arguments& arguments, const std::string& input,
                     const FileOptions& file) {
  const std::optional<KeyType> named = type_from_name(input);
  if (!named || !file.type || named == file.type) return;
  const std::string as =
      fmt::format("{}: its name says {}, --type says {}", input, name(*named), name(*file.type));
  if (arguments.has("in-place") && key_bytes(*named) != key_bytes(*file.type))
    throw UsageError(as, "leave --type out, or write to another file with -o");
  if (!arguments.has("quiet")) say(command, as);
}

void note_other_links(std::string_view command, const Arguments& arguments, const std::string& input) {
  std::error_code unknown;
  if (!arguments.has("in-place") || arguments.has("quiet") ||
      !std::filesystem::is_regular_file(input, unknown))
    return;
  const uintmax_t names = std::filesystem::hard_link_count(input, unknown);
  if (unknown || names < 2) return;
  say(command, fmt::format("{}: has {} names (hard links); the others keep the old contents", input, names));
}

namespace {

/// Names can only mark SOSD files of unsigned types.
std::string sosd_hint(const std::string& output, KeyType type) {
  const std::string renamed = fmt::format("{}_uint{}", output, 8 * key_bytes(type));
  const bool says_it = format_from_name(renamed) == FileFormat::sosd && type_from_name(renamed) == type;
  return fmt::format("read it with --format sosd -t {}{}", name(type),
                     says_it ? ", or rename it: " + renamed : "");
}

}  // namespace

void note_misleading_name(std::string_view command, const Arguments& arguments, const std::string& output,
                          const Contents& contents) {
  if (output.empty() || arguments.has("quiet")) return;  // in place: the name is the input's
  const KeyType type = contents.type;
  const FileFormat format = contents.format;
  const FileFormat named = format_from_name(output);
  const std::optional<KeyType> named_type = type_from_name(output);
  if (named == FileFormat::raw && !named_type) {
    if (format != FileFormat::sosd || output == "-" || output.starts_with("/dev/")) return;
    // If it were read as bare keys, its count would become one of the keys.
    say(command, fmt::format("{}: holds sosd {}, but its name does not say so", output, name(type)));
    return say_hint(sosd_hint(output, type));
  }
  const bool is_swapped = format == FileFormat::raw && contents.endian == Endian::big && key_bytes(type) > 1;
  if (named == format && (!named_type || *named_type == type) && !is_swapped) return;
  const auto both = [&](FileFormat of, std::string_view its_type) {
    return named == format ? std::string(its_type) : fmt::format("{} {}", name(of), its_type);
  };
  say(command, fmt::format("{}: holds {}{}, although its name says {}", output,
                           is_swapped ? "big-endian " : "", both(format, name(type)),
                           named_type ? both(named, name(*named_type)) : std::string(name(named))));
  const bool has_order =
      named == FileFormat::npy || contents.endian == Endian::little || key_bytes(type) == 1;
  const bool would_do = named != format && (!named_type || *named_type == type) && has_order;
  if (would_do && command != "generate")
    return say_hint(fmt::format("use --output-format {}, or rename it", name(named)));
  if (format == FileFormat::npy)
    return say_hint("rename it: other programs may read it as bare keys if it is not called .npy");
  if (format == FileFormat::sosd && named == FileFormat::sosd) return say_hint(sosd_hint(output, type));
  std::string options;
  if (named != format) options += fmt::format("--format {} ", name(format));
  if (named != format || named_type != type) options += fmt::format("-t {} ", name(type));
  if (is_swapped) options += "--endian big ";
  options.pop_back();
  say_hint(fmt::format("read it with {}, or rename it", options));
}

bool goes_to_stdout(const std::string& output) {
  return output == "-" || (!output.empty() && are_one_output(output, "-"));
}

void keep_answers_off_data(const std::string& output, const JsonReport& json, uint32_t repeat,
                           bool is_quiet) {
  if (!goes_to_stdout(output) || (!json.on_stdout() && (repeat == 0 || is_quiet))) return;
  throw UsageError(fmt::format("{} would mix with the data on standard output",
                               json.on_stdout() ? "--json" : "the table of --repeat"),
                   json.on_stdout() ? "write the report with --json=FILE, or the data to a file"
                                    : "write the data with -o FILE (-o /dev/null for the times alone)");
}

}  // namespace sweepsort::cli
