// options_fuzz.cpp - runs any words as a command line through all of main, down to the calls of the library,
// which only check their options here.
//
// An input has one word per line; the command comes first.
#include "fuzz/require.hpp"
#include "sweepsort.hpp"

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

int sweepsort_main(int argc, char** argv);  // src/cli/main.cpp, whose main is renamed

namespace {

size_t messages = 0, answers = 0;

/// main has caught something and is about to print it. Only an Error has a text that is meant for people.
void check_caught() {
  const std::exception_ptr caught = std::current_exception();
  if (!caught) return;
  try {
    std::rethrow_exception(caught);
  } catch (const sweepsort::Error&) {
  } catch (...) {
    sweepsort::require(false, "main sees no exception but Error");
  }
}

}  // namespace

namespace sweepsort {
namespace {

/// The library's functions end with this here.
class Reached : public Error {
 public:
  Reached() : Error("reached") {}
};

void check(const FileOptions& file) {
  require(file.format <= FileFormat::sosd, "the format is one of four");
  require(!file.type || *file.type <= KeyType::f64, "the type is one of ten");
}

void check(const WhereOptions& where) {
  require(where.backend <= BackendChoice::cpu, "the backend is one of three");
  for (const int device : where.devices) require(device >= 0, "a device's number is not negative");
  require(where.threads <= 4096, "there are not more threads than a machine has");
}

void check_files(const std::string& input, const std::string& output, bool in_place) {
  require(!input.empty(), "the input has a name");
  require(in_place == output.empty(), "in place alone there is no output");
  require(!in_place || input != "-", "standard input cannot be replaced");
}

}  // namespace

bool are_one_output(const std::string& a, const std::string& b) { return a == b; }  // looks at no file
void replace_file(const std::string&, std::string_view) {
  require(false, "a command that ends here has no report");
}

SortReport sort_files(const std::vector<std::string>& inputs, const std::string& output,
                      const SortFileOptions& options) {
  check(options.file);
  check(options.where);
  require(!inputs.empty(), "something is sorted");
  for (const std::string& input : inputs) require(!input.empty(), "the input has a name");
  require(options.result <= SortResult::permutation, "the result is one of three");
  require(!output.empty() || options.in_place, "in place alone there is no output");
  throw Reached();
}

ScanReport scan_file(const std::string& input, const std::string& output, const ScanFileOptions& options) {
  check(options.file);
  check(options.where);
  check_files(input, output, options.in_place);
  require(!options.wrap || options.op == ScanOp::sum, "sums alone wrap");
  require(output != "-" || options.repeat == 0, "no table of times among the data");
  throw Reached();
}

MinReport min_file(const std::string& input, const MinFileOptions& options) {
  check(options.file);
  check(options.where);
  require(!input.empty(), "the input has a name");
  throw Reached();
}

CheckReport check_file(const std::string& input, const CheckOptions& options) {
  check(options.file);
  require(!input.empty() && options.threads <= 4096, "the input has a name, the threads a limit");
  throw Reached();
}

GenerateReport generate_file(const std::string&, const GenerateOptions& options) {
  require(options.count <= UINT64_MAX / 2 / key_bytes(options.type), "the bytes can be counted");
  require(options.format <= FileFormat::sosd && options.threads <= 4096, "format and threads are in range");
  throw Reached();
}

SystemReport system_report() { throw Reached(); }
std::string_view version() { return "0"; }

std::string_view name(Phase) { return "phase"; }

namespace cli {

// Replaces terminal.cpp and signals.cpp: nothing is printed, and the fuzzer keeps its signals.
void keep_standard_descriptors() {}
void allow_open_files() {}
void install_signal_handlers() {}
bool stderr_is_terminal() { return false; }

void write_error(std::string_view) noexcept {}

std::string printable(std::string_view text) { return std::string(text); }

void say(std::string_view, std::string_view message) noexcept {
  check_caught();
  require(!message.empty(), "a message says something");
  ++messages;
}

void say_hint(std::string_view hint) noexcept { require(!hint.empty(), "a hint says something"); }

void answer(std::string_view text) {
  require(!text.empty() && text.back() == '\n', "an answer is whole lines");
  ++answers;
}

void finish_answer() {}

}  // namespace cli
}  // namespace sweepsort

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  // The thread that shows progress waits for this signal, and every thread inherits the mask.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  return pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::string> words{"sweepsort"};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  messages = answers = 0;
  const int code = sweepsort_main(static_cast<int>(words.size()), argv.data());
  // There is an answer (help, a list) or the reason why not. A command that reached the library has thrown.
  sweepsort::require(code == (messages > 0 ? 2 : 0), "the exit code is 2 where something was wrong");
  sweepsort::require((messages > 0) != (answers > 0), "there is an answer or a message");
  return 0;
}
