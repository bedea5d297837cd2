// talk.hpp - what a running command tells the user: log lines with -v, progress, and a JSON report.
#pragma once

#include "cli/arguments.hpp"
#include "cli/progress.hpp"
#include "sweepsort.hpp"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sweepsort::cli {

/// Exists while a command works. Writes only to stderr.
class Talk {
 public:
  Talk(std::string command, const Arguments& arguments);

  ProgressFunction progress() { return meter_.function(); }
  /// Prints lines with -v; empty without -v.
  LogFunction log();
  /// Prints lines; empty with -q.
  LogFunction note();

 private:
  bool verbose_;
  bool quiet_;
  ProgressMeter meter_;
};

/// The report that --json requests.
class JsonReport {
 public:
  /// Throws UsageError if the report would replace one of the `precious` files or another file that is not a
  /// report, and Error if it cannot be written; both before any work is done. A file that is also standard
  /// output is treated as standard output.
  JsonReport(const Arguments& arguments, std::vector<std::string> precious);

  bool on_stdout() const { return target_ && target_->empty(); }
  /// Does nothing, and does not call `make_report`, if no report was requested.
  void write(const std::function<nlohmann::ordered_json()>& make_report) const;

 private:
  void keep_off_precious() const;
  void keep_off_others(std::string_view state) const;
  void require_writable() const;
  void replace(std::string_view text, std::string_view state) const;

  std::optional<std::string> target_;  // a file; empty text: standard output
  std::vector<std::string> precious_;
  bool existed_ = false;  // it may hold an earlier report, or our own messages by now
};

/// The elements in an output.
struct Contents {
  KeyType type;
  FileFormat format;
  Endian endian = Endian::little;
};

/// Prints a note if an output's name suggests another type or format than it has; if it gives a type, but
/// does not show that the elements are big-endian; or if it gives no type although it is a SOSD file. Not
/// with --quiet.
void note_misleading_name(std::string_view command, const Arguments& arguments, const std::string& output,
                          const Contents& contents);

/// With --in-place: prints a note if the input has other names, which will keep the old file. Not with
/// --quiet.
void note_other_links(std::string_view command, const Arguments& arguments, const std::string& input);

/// Prints a note if an input's name gives another type than --type. Not with --quiet. Throws UsageError if
/// keys of another size would replace the input.
void note_other_type(std::string_view command, const Arguments& arguments, const std::string& input,
                     const FileOptions& file);

/// Whether an output, by its name, is standard output, or is the same file or pipe.
bool goes_to_stdout(const std::string& output);

/// Throws UsageError if a report or a table of times would be mixed with the data on standard output.
void keep_answers_off_data(const std::string& output, const JsonReport& json, uint32_t repeat, bool is_quiet);

}  // namespace sweepsort::cli
