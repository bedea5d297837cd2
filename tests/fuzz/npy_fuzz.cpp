// npy_fuzz.cpp - any bytes as the beginning of a file: every format either finds the keys or throws an Error.
#include "core/error.hpp"
#include "fuzz/require.hpp"
#include "io/layout.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

namespace sweepsort {
namespace {

struct Case {
  std::string name;
  FileOptions options;
};

const Case all_cases[] = {{"array.npy", {}},
                          {"-", {.flatten = true}},
                          {"array.npy", {.type = KeyType::i64, .endian = Endian::big}},
                          {"keys_uint64", {}},
                          {"keys", {.format = FileFormat::sosd, .type = KeyType::u32}},
                          {"keys.u32", {.skip_bytes = 10, .read_bytes = 64}}};

/// A message goes to a terminal. Whatever the file holds, it is one printable line about that file.
void check_message(const Error& error, const std::string& name) {
  const std::string text = error.what();
  require(text.starts_with(name + ": "), "a message starts with the file's name");
  require(text.size() < 400, "a message is short");
  require(std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; }),
          "a message has printable characters alone");
}

void check_header(const NpyHeader& header, std::span<const std::byte> prefix) {
  require(header.bytes >= 10 && header.bytes <= prefix.size(),
          "the data starts behind a header that was there");
  require(header.dimensions <= header.bytes, "a dimension takes at least a digit");
  require(!header.is_countable || header.dimensions > 0 || header.count == 1, "a scalar is one key");
  if (!header.is_countable) return;
  const auto written = make_npy_header(header.type, header.endian, header.count);
  const NpyHeader again = parse_npy_header(written, "again");
  const bool has_order = key_bytes(header.type) > 1;
  require(again.bytes == written.size() && written.size() % 64 == 0, "a written header is whole and aligned");
  require(again.type == header.type && again.count == header.count && again.dimensions == 1 &&
              (!has_order || again.endian == header.endian),
          "a written header says what the one read said");
}

void check_layout(const Layout& layout, std::span<const std::byte> prefix,
                  std::optional<uint64_t> file_bytes) {
  const auto end = static_cast<unsigned __int128>(layout.count) * key_bytes(layout.type) + layout.data_offset;
  if (file_bytes) {
    require(end <= *file_bytes, "the keys end inside the file");
  } else {
    constexpr auto most = std::numeric_limits<uint64_t>::max();
    require(layout.count == unknown_count || layout.count <= most / key_bytes(layout.type),
            "the bytes of a stream can be counted");
  }
  if (layout.format == FileFormat::raw) {
    require(layout.header.empty(), "raw keys have no header");
    return;
  }
  require(std::ranges::equal(layout.header, prefix.first(layout.data_offset)),
          "the header is kept byte for byte");
  if (layout.is_one_dimensional)
    require(output_header(layout, layout.count) == layout.header, "the same count keeps the header");
  if (layout.format != FileFormat::npy) return;
  const auto half = output_header(layout, layout.count / 2);
  require(parse_npy_header(half, "half").count == layout.count / 2,
          "the header of another count says that one");
}

void try_layout(std::span<const std::byte> prefix, std::optional<uint64_t> file_bytes,
                const std::string& name, const FileOptions& options) {
  try {
    check_layout(find_layout(prefix, file_bytes, name, options), prefix, file_bytes);
  } catch (const Error& error) {
    check_message(error, name);
  }
}

/// The size of a file that holds exactly what the header says.
std::optional<uint64_t> fitting_size(std::span<const std::byte> prefix) {
  const std::string name = "array.npy";
  try {
    const NpyHeader header = parse_npy_header(prefix, name);
    check_header(header, prefix);
    const auto bytes = static_cast<unsigned __int128>(header.count) * key_bytes(header.type) + header.bytes;
    // The prefix is all of the file or its first layout_prefix_bytes.
    if (!header.is_countable || bytes > std::numeric_limits<uint64_t>::max() || bytes < prefix.size())
      return {};
    return static_cast<uint64_t>(bytes);
  } catch (const Error& error) {
    check_message(error, name);
    return {};
  }
}

}  // namespace
}  // namespace sweepsort

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sweepsort;
  const std::span file(reinterpret_cast<const std::byte*>(data), size);
  const auto prefix = file.first(std::min(size, layout_prefix_bytes));
  const std::optional<uint64_t> fitting = fitting_size(prefix);
  for (const auto& [name, options] : all_cases) {
    try_layout(prefix, size, name, options);
    try_layout(prefix, std::nullopt, name, options);
    if (fitting) try_layout(prefix, fitting, name, options);
  }
  return 0;
}
