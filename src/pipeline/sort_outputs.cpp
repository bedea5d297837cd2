// sort_outputs.cpp - outputs of keys, positions, values and counts.
#include "pipeline/sort_outputs.hpp"

#include "core/error.hpp"
#include "io/stop_event.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sweepsort {

SortOutputs::SortOutputs(const SortInput& input, const SortValues& values, const std::string& output,
                         const SortFileOptions& options, bool allow_anonymous)
    : input_(input), values_(values), options_(options) {
  OutputOptions how{.overwrite = options.overwrite || options.plan_only,  // a plan replaces nothing
                    .in_place = options.in_place,
                    .may_be_in_place = input.files().size() == 1 && !options.file.has_window() &&
                                       !has_positions(options.result),
                    .input = &input.file(),
                    .others = input.files(),
                    .only_planned = options.plan_only,
                    .allow_anonymous = allow_anonymous};
  how.others.erase(how.others.begin());
  const std::vector<const InputFile*> of_values = values.files();
  how.others.insert(how.others.end(), of_values.begin(), of_values.end());
  const std::string main = options.in_place ? input.file().path() : output;
  const std::string& second = has_counts() ? options.counts_output : options.values_output;
  if (!second.empty() && are_one_output(second, main))
    throw UsageError(second + ": is also the other output", "name another file for one of them");
  main_.output = open_output(main, how);
  if (format() == FileFormat::sosd && !has_positions(options.result))
    require_sosd(input.type(), input.endian(), name(), "leave --output-format out, or name raw or npy");
  if (second.empty()) return;
  how.in_place = false;
  how.others = input.files();
  how.others.insert(how.others.end(), of_values.begin(), of_values.end());
  if (!of_values.empty() && !has_counts()) how.input = of_values.front();  // the sorted values get its mode
  second_.emplace(File{.output = open_output(second, how)});
}

FileFormat SortOutputs::format() const {
  if (options_.output_format) return *options_.output_format;
  if (!has_positions(options_.result)) return input_.format();
  const FileFormat named = format_from_name(name());
  return named != FileFormat::raw || type_from_name(name()) ? named : input_.format();
}

KeyType SortOutputs::type() const {
  if (!has_positions(options_.result)) return input_.type();
  return main_.element_bytes == sizeof(uint32_t) ? KeyType::u32 : KeyType::u64;
}

std::vector<std::byte> SortOutputs::main_header(uint64_t count, size_t min_bytes) const {
  if (has_positions(options_.result)) return new_header(format(), type(), Endian::little, count, min_bytes);
  if (!is_count_late_ && format() == input_.format()) return input_.header(count);
  return new_header(format(), input_.type(), input_.endian(), count, min_bytes);
}

std::vector<std::byte> SortOutputs::second_header(uint64_t count, size_t min_bytes) const {
  if (has_counts())
    return new_header(format_from_name(options_.counts_output), KeyType::u64, Endian::little, count,
                      min_bytes);
  return is_count_late_ ? values_.header_of_some(count, min_bytes) : values_.header();
}

void SortOutputs::describe(std::optional<uint64_t> known) {
  // The header for more keys than can exist is at least as long as any other.
  const uint64_t count = known.value_or(uint64_t{1} << 62);
  count_ = known.value_or(0);
  is_count_late_ = !known || is_unique(options_.result);
  main_.element_bytes = has_positions(options_.result) ? position_bytes(count) : key_bytes(input_.type());
  main_.header = main_header(count, 0);
  if (second_) {
    second_->element_bytes = has_counts() ? sizeof(uint64_t) : values_.bytes();
    second_->header = second_header(count, 0);
  }
}

std::vector<SpaceNeed> SortOutputs::needs(uint64_t keys) {
  describe(keys);
  std::vector<SpaceNeed> all;
  for (const File* file : {&main_, second_ ? &*second_ : nullptr}) {
    if (!file || file->output->is_sequential()) continue;
    const std::string& name = file->output->name();
    all.push_back({name, directory_of(name), file->bytes(max_elements(keys))});
  }
  return all;
}

void SortOutputs::require_headers(std::optional<uint64_t> keys) {
  describe(keys);
  const auto refuse_pipe = [&](const File& file) {
    if (is_count_late_ && file.output->is_sequential() && !file.header.empty())
      throw Error(file.output->name() +
                      ": its format begins with the number of keys, which is known only when all are written",
                  "name a file for it");
  };
  refuse_pipe(main_);
  if (second_) refuse_pipe(*second_);
}

void SortOutputs::prepare(std::optional<uint64_t> keys, uint64_t most) {
  require_headers(keys);
  if (!keys) return;
  const uint64_t elements = std::min(max_elements(*keys), most);
  main_.output->reserve(main_.bytes(elements));
  if (second_) second_->output->reserve(second_->bytes(elements));
}

void SortOutputs::start() {
  if (!gate_.pass()) throw Stopped();
  if (is_count_late_) return;  // finish() writes the headers
  if (!main_.header.empty()) main_.output->write_header(main_.header);
  if (second_ && !second_->header.empty()) second_->output->write_header(second_->header);
}

std::unique_ptr<RecordSink> SortOutputs::sink(const Transfer& transfer, std::span<const std::byte> expected) {
  const auto target = [](const File& file) {
    return ColumnTarget{.output = file.output.get(), .data_offset = file.header.size()};
  };
  SinkTargets targets{.written_value_bytes = transfer.shape.value_bytes};
  if (second_) (has_counts() ? targets.counts : targets.values) = target(*second_);
  if (has_positions(options_.result)) {
    targets.values = target(main_);
    targets.written_value_bytes = static_cast<uint32_t>(main_.element_bytes);
  } else {
    targets.keys = target(main_);
    targets.keys.swapped_bytes = input_.swapped_bytes();
  }
  return is_unique(options_.result) ? make_unique_sink(transfer, targets, [this] { stop(); })
                                    : make_column_sink(transfer, targets, expected);
}

void SortOutputs::shorten(File& file, std::vector<std::byte> header, uint64_t count) {
  if (!header.empty()) file.output->write_at(0, header);
  file.output->cut(file.header.size() + count * file.element_bytes);
}

void SortOutputs::finish(uint64_t count) {
  if (!is_count_late_ && count != count_)
    throw Error(fmt::format("internal: {} elements were written where {} were expected", count, count_));
  if (!is_count_late_) return;
  count_ = count;
  shorten(main_, main_header(count_, main_.header.size()), count_);
  if (second_) shorten(*second_, second_header(count_, second_->header.size()), count_);
}

void SortOutputs::commit() {
  // The second output comes first, so that whoever sees the keys also finds their values or counts.
  std::vector<Output*> all;
  if (second_) all.push_back(second_->output.get());
  all.push_back(main_.output.get());
  sweepsort::commit(all, options_.in_place ? &input_.file() : nullptr);
}

void SortOutputs::stop() {
  if (!gate_.close()) return;  // another attempt may follow
  main_.output->stop();
  if (second_) second_->output->stop();
}

bool SortOutputs::has_streamed() const {
  return gate_.is_passed() &&
         (main_.output->is_sequential() || (second_ && second_->output->is_sequential()));
}

uint64_t SortOutputs::bytes() const {
  const auto of = [&](const File& file) { return file.header.size() + count_ * file.element_bytes; };
  return of(main_) + (second_ ? of(*second_) : 0);
}

}  // namespace sweepsort
