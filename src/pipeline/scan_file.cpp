// scan_file.cpp - passes a file through a scan by chunks; each chunk is carried by one thread:
//
//     read -> host order -> sum -> scan (carry from the chunk before) -> compare -> file order -> write
#include "pipeline/scan_file.hpp"

#include "core/bytes.hpp"
#include "core/checked.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/key_text.hpp"
#include "core/team.hpp"
#include "io/byte_swap.hpp"
#include "io/output.hpp"
#include "io/write_gate.hpp"
#include "pipeline/callback_watch.hpp"
#include "pipeline/phase_clock.hpp"
#include "pipeline/scan_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace sweepsort {
namespace {

void check_options(const std::string& input, const std::string& output, const ScanFileOptions& options) {
  if (options.in_place && options.file.has_window())
    throw UsageError(input + ": scanning a part of it in place would lose the rest",
                     "leave out --skip-bytes and --read-bytes, or --in-place, and name an output with -o");
  if (options.in_place) require_regular_in_place(input);
  if (options.in_place && !output.empty() && output != input)
    throw UsageError("an in-place scan has no other output", "leave -o out");
  if (!options.in_place && output.empty()) throw UsageError("no output", "name one; '-' is standard output");
}

/// The last element that a worker has seen.
struct LastElement {
  uint64_t end = 0;  // number of elements up to and including it
  uint64_t bits = 0;

  void see(uint64_t chunk_end, std::span<const std::byte> elements, size_t width) {
    if (elements.empty()) return;
    end = chunk_end;  // a worker's chunks come in rising order
    std::memcpy(&bits, elements.data() + elements.size() - width, width);
  }
};

class ScanFileRun {
 public:
  ScanFileRun(const StreamEnvironment& environment, const std::string& input, const std::string& output,
              const ScanFileOptions& options)
      : environment_(environment),
        options_(callbacks_.watched(options)),
        device_(only_device(options.where)),
        reader_(input, options.file, options.in_place ? InputUse::to_replace : InputUse::read) {
    require_file_to_repeat(reader_, options.repeat);
    output_type_ = options.output_type.value_or(layout().type);
    check_types();
    const std::string& path = options.in_place ? input : output;
    output_ =
        open_output(path, {.overwrite = options.overwrite,
                           .in_place = options.in_place,
                           .may_be_in_place = output_type_ == layout().type && !options.file.has_window(),
                           .input = &reader_.file(),
                           .allow_anonymous = environment.allow_anonymous});
  }

  ScanReport run() {
    clock_.run(Phase::prepare, 0, [&](const MovedFunction&) { prepare(); });
    const std::vector<PhaseTime> so_far = report_.phases;
    const WhereOptions where = where_for(options_.algorithm, options_.where);
    std::optional<uint64_t> known_bytes;
    if (!reader_.is_stream()) known_bytes = layout().data_bytes();
    const uint64_t output_bytes = known_bytes ? layout().count * key_bytes(output_type_) : 0;
    const BackendDecision decision = environment_.choose(known_bytes, output_bytes, environment_.status,
                                                         threads_at_once(where.threads), where);
    note_ignored(gpu_options(where), decision.no_gpu, lines_);
    // No second try with a pipe: its beginning has already been consumed.
    run_as_decided(
        decision, where, lines_, report_.backend_why,
        [&](BackendChoice which) {
          report_.phases = so_far;  // without those of a GPU that failed
          scan_on(which);
        },
        [&] {
          return !callbacks_.has_thrown() && !reader_.is_stream() &&
                 !(output_->is_sequential() && gate_.is_passed());
        });
    clock_.run(Phase::sync, output_->is_sequential() ? 0 : report_.output_bytes, [&](const MovedFunction&) {
      commit(*output_, options_.in_place ? &reader_.file() : nullptr);
    });
    report_.total_s = seconds_since(start_) - time_of(report_.phases, Phase::repeat);
    return std::move(report_);
  }

 private:
  const Layout& layout() const { return reader_.layout(); }
  const std::string& input_name() const { return reader_.file().name(); }

  void log(const std::string& line) const { lines_.say(line); }

  void check_types() const {
    const KeyType type = layout().type;
    if (options_.op == ScanOp::bit_xor && (is_floating(type) || is_floating(output_type_)))
      throw UsageError(fmt::format("{}: an exclusive or of {} means nothing", input_name(),
                                   name(is_floating(type) ? type : output_type_)),
                       is_floating(type) ? "scan integers, or read the bytes as integers: " + as_integers()
                                         : "name an integer type with --output-type");
    if (!can_widen(type, output_type_))
      throw UsageError(
          fmt::format("{}: {} does not hold every {}", input_name(), name(output_type_), name(type)),
          wider_types_hint(type));
    if (options_.in_place && output_type_ != type)
      throw UsageError("an in-place scan keeps the type of its input", "name an output with -o");
    if (options_.in_place && options_.output_format)
      throw UsageError("an in-place scan keeps the format of its input",
                       "name an output with -o, or leave --output-format out");
  }

  /// The options that read the elements as unsigned integers instead.
  std::string as_integers() const {
    Layout bits = layout();
    bits.type = key_bytes(bits.type) == 4 ? KeyType::u32 : KeyType::u64;
    return bits.format == FileFormat::raw ? fmt::format("-t {}", name(bits.type)) : as_raw_options(bits);
  }

  /// "use one of u64, i64, f64".
  std::string wider_types_hint(KeyType type) const {
    std::string list;
    for (const KeyType to : all_key_types)
      if (to != type && can_widen(type, to) && !(options_.op == ScanOp::bit_xor && is_floating(to)))
        list += fmt::format("{}{}", list.empty() ? "" : ", ", name(to));
    return list.empty() ? fmt::format("leave --output-type out: no other type holds every {}", name(type))
                        : "use one of " + list;
  }

  void prepare() {
    for (const std::string& line : layout().notes) log(line);
    report_.type = layout().type;
    report_.output_type = output_type_;
    report_.format = layout().format;
    report_.output_format = options_.output_format.value_or(layout().format);
    report_.endian = layout().endian;
    if (report_.output_format == FileFormat::sosd)
      require_sosd(output_type_, layout().endian, output_->name(), "name another --output-format");
    if (layout().count == unknown_count) return prepare_for_any_length();
    header_ = output_type_ == layout().type && report_.output_format == layout().format
                  ? output_header(layout(), layout().count)
                  : new_header(report_.output_format, output_type_, layout().endian, layout().count);
    output_->reserve(header_.size() + bytes_of(layout().count, key_bytes(output_type_)));
  }

  /// For a stream without a header.
  void prepare_for_any_length() {
    if (report_.output_format == FileFormat::raw) return;
    if (output_->is_sequential())
      throw Error(
          fmt::format(
              "{}: its format begins with the number of elements, which is known only at the end of {}",
              output_->name(), input_name()),
          "leave --output-format out, or name a file for the output");
    // The header for more elements than can exist is at least as long as any other.
    header_ = new_header(report_.output_format, output_type_, layout().endian, uint64_t{1} << 62);
    is_count_late_ = true;
  }

  ScanJob job(const Backend& backend) const {
    // The output of a chunk, and its buffers, should be as large as with other types.
    const size_t growth = key_bytes(output_type_) / key_bytes(layout().type);
    const size_t chunk = environment_.chunk_bytes != 0 ? environment_.chunk_bytes
                                                       : backend.stream_shape().chunk_bytes / growth;
    return {.type = layout().type,
            .output_type = output_type_,
            .op = options_.op,
            .kind = options_.kind,
            .algorithm = options_.algorithm,
            .wrap = options_.wrap,
            .chunk_bytes = chunk};
  }

  void scan_on(BackendChoice which) {
    const auto backend = environment_.make(which, device_, options_.where.threads);
    ScanJob job = this->job(*backend);
    reader_.start(job.chunk_bytes);
    job.workers = stream_workers(threads_or_all(options_.where.threads), backend->stream_shape().max_workers,
                                 reader_.chunks());
    const uint64_t bytes = reader_.is_stream() ? 0 : layout().data_bytes();
    if (options_.repeat != 0) {
      const uint64_t both = layout().count * (key_bytes(job.type) + key_bytes(job.output_type));
      require_memory_to_repeat(environment_, *backend, reader_, {both});
    }
    const auto session = backend->begin_scan(job);
    ScanSummary summary;
    clock_.run(Phase::scan, bytes,
               [&](const MovedFunction& moved) { summary = pass_through(*session, job, moved); });
    clock_.last().bytes = reader_.count() * key_bytes(layout().type);
    report_.count = reader_.count();
    report_.input_bytes = reader_.input_bytes();
    if (is_count_late_)
      output_->write_at(
          0, new_header(report_.output_format, output_type_, layout().endian, report_.count, header_.size()));
    report_.output_bytes = header_.size() + report_.count * key_bytes(output_type_);
    if (report_.count != 0 && !summary.total_overflows) report_.total = key_text(output_type_, summary.total);
    report_.algorithm = summary.algorithm;
    const BackendInfo info = backend->info();
    report_.backend = info.name;
    report_.device = info.description;
    if (options_.repeat != 0)
      clock_.run(Phase::repeat, 0, [&](const MovedFunction&) { repeat(*backend, job); });
  }

  ScanSummary pass_through(ScanSession& session, const ScanJob& job, const MovedFunction& moved) {
    ScanCheck check(job.type, job.output_type, job.op, job.kind);
    const bool verify = options_.verify && check.is_possible();
    Turnstile writes;  // for a pipe
    gate_.open_again();
    std::vector<LastElement> last(job.workers);
    if (!header_.empty() && !is_count_late_) output_->write_header(header_);
    const auto turn = [&](uint32_t worker, uint64_t index) {
      ReadChunk chunk;
      const auto place = [&](size_t offset) { return session.begin_chunk(worker, offset); };
      if (!reader_.read(index, place, chunk)) return false;
      if (verify) check.note_input(index, chunk.bytes);
      const size_t input_bytes = chunk.bytes.size();
      const std::span<std::byte> scanned = session.scan(worker, index, chunk.first_element, chunk.count);
      if (verify) check.note_output(index, scanned);
      last[worker].see(chunk.first_element + chunk.count, scanned, key_bytes(job.output_type));
      if (layout().endian == Endian::big && key_bytes(job.output_type) > 1)
        swap_key_bytes(scanned, key_bytes(job.output_type));
      if (output_->is_sequential()) writes.wait(index);
      const bool right = is_right(session, job, chunk);
      const bool goes_on =
          right && write(header_.size() + chunk.first_element * key_bytes(job.output_type), scanned);
      if (output_->is_sequential()) writes.pass(index);
      moved(input_bytes);
      if (!right) reader_.stop();
      return goes_on;
    };
    parallel_turns(job.workers, turn, [&] {
      session.cancel();
      reader_.cancel();
      writes.cancel();
      // If nothing is written yet, there may be a second try.
      if (gate_.close()) output_->stop();
    });
    ScanSummary summary = session.finish();
    if (summary.overflow) refuse_overflow(*summary.overflow);
    reader_.finish();
    if (verify && !check.agrees())
      throw Error(fmt::format("{}: the scanned elements do not add up; {}", output_->name(),
                              output_->is_sequential() ? "what was written there is wrong"
                                                       : "the result was discarded"),
                  try_elsewhere);
    report_.verified = verify;
    // For floats, which are summed in parts, the session's total may be rounded differently.
    if (job.kind == ScanKind::inclusive) summary.total = std::ranges::max(last, {}, &LastElement::end).bits;
    return summary;
  }

  /// Whether no element of the chunk comes after an overflow. Wrong data in a pipe could not be taken back.
  static bool is_right(const ScanSession& session, const ScanJob& job, const ReadChunk& chunk) {
    const auto overflow = session.overflow();
    if (!overflow) return true;
    const uint64_t right = job.kind == ScanKind::exclusive ? *overflow + 1 : *overflow;
    return chunk.first_element + chunk.count <= right;
  }

  /// Returns false, and writes nothing, if another thread has failed before anything was written.
  bool write(uint64_t at, std::span<const std::byte> bytes) {
    if (!gate_.pass()) return false;
    output_->write_at(at, bytes);
    return true;
  }

  [[noreturn]] void refuse_overflow(uint64_t index) {
    std::string hint = "use --wrap to let it wrap around";
    const KeyType widest = is_signed(output_type_) ? KeyType::i64 : KeyType::u64;
    if (output_type_ != widest && !options_.in_place)
      hint = fmt::format("use --output-type {}, or --wrap to let it wrap around", name(widest));
    throw InputError(
        fmt::format("{}: the sum overflows {} at element {}", input_name(), name(output_type_), index), hint);
  }

  void repeat(Backend& backend, const ScanJob& job) {
    const auto fill = [this](uint64_t at, std::span<std::byte> to) { reader_.read_at(at, to); };
    const Measurement measured = backend.measure_scan(job, layout().count, fill, options_.repeat);
    report_.repeat_s = measured.times_s;
    report_.copy_bandwidth_bytes_s = measured.bandwidth_bytes_s;
  }

  const StreamEnvironment& environment_;
  CallbackWatch callbacks_;
  const ScanFileOptions options_;
  const Lines lines_{options_.log, options_.note};
  Clock::time_point start_ = Clock::now();
  int device_;
  ChunkReader reader_;
  KeyType output_type_ = KeyType::u8;
  std::unique_ptr<Output> output_;
  std::vector<std::byte> header_;
  bool is_count_late_ = false;  // the header is written at the end
  WriteGate gate_;
  ScanReport report_;
  PhaseClock clock_{report_.phases, options_.progress};
};

}  // namespace

ScanReport scan_file_with(const StreamEnvironment& environment, const std::string& input,
                          const std::string& output, const ScanFileOptions& options) {
  check_options(input, output, options);
  refuse_shared_pipe(std::span(&input, 1), output);
  where_for(options.algorithm, options.where);
  return ScanFileRun(environment, input, output, options).run();
}

}  // namespace sweepsort
