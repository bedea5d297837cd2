// talk.hpp - what a running command tells the user: log lines with -v, progress, a JSON report.
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

/// For the time that a command works. On stderr alone.
class Talk {
 public:
  Talk(std::string command, const Arguments& arguments);

  ProgressFunction progress() { return meter_.function(); }
  /// Says lines with -v; empty without.
  LogFunction log();
  /// Says lines; empty with -q.
  LogFunction note();

 private:
  bool verbose_;
  bool quiet_;
  ProgressMeter meter_;
};

/// Where --json wants the report.
class JsonReport {
 public:
  /// Throws UsageError where the report would replace one of the `precious` files or any other that is no
  /// report, Error where it cannot be written: before anything is done. A file that standard output is, is
  /// standard output.
  JsonReport(const Arguments& arguments, std::vector<std::string> precious);

  bool on_stdout() const { return target_ && target_->empty(); }
  /// Does nothing if no report is wanted: `make_report` is not called.
  void write(const std::function<nlohmann::ordered_json()>& make_report) const;

 private:
  void keep_off_precious() const;
  void keep_off_others(std::string_view state) const;
  void require_writable() const;
  void replace(std::string_view text, std::string_view state) const;

  std::optional<std::string> target_;  // a file; empty text: standard output
  std::vector<std::string> precious_;
  bool existed_ = false;  // an earlier report, or what our own messages may go to by now
};

/// What an output holds.
struct Contents {
  KeyType type;
  FileFormat format;
  Endian endian = Endian::little;
};

/// Says so where an output's name says another type or format of its elements than it has, or a type and not
/// that they are big-endian, or nothing where it is a SOSD file. Not with --quiet.
void note_misleading_name(std::string_view command, const Arguments& arguments, const std::string& output,
                          const Contents& contents);

/// With --in-place: says so where the input has other names, which keep the old file. Not with --quiet.
void note_other_links(std::string_view command, const Arguments& arguments, const std::string& input);

/// Says so where an input's name says another type than --type. Not with --quiet. Throws UsageError if keys
/// of another size would replace the input.
void note_other_type(std::string_view command, const Arguments& arguments, const std::string& input,
                     const FileOptions& file);

/// Whether an output, by its name, is standard output or the file or pipe that this is.
bool goes_to_stdout(const std::string& output);

/// Throws UsageError where a report or a table of times would mix with the data on standard output.
void keep_answers_off_data(const std::string& output, const JsonReport& json, uint32_t repeat);

}  // namespace sweepsort::cli
