// sort_outputs_test.cpp - widths, lengths and first bytes of a sort's outputs, where a whole sort would take
// more than 2^32 keys or one unlucky moment.
#include "pipeline/sort_outputs.hpp"

#include "catch.hpp"
#include "io/stop_event.hpp"
#include "io/write_gate.hpp"
#include "temporary_folder.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

namespace sweepsort::test {
namespace {

constexpr uint64_t narrow_keys = uint64_t{1} << 32;

/// Outputs of the first positions of distinct keys.
struct Positions {
  Positions() {
    std::ofstream(folder / "in.u8") << "abc";
    options.result = SortResult::first_positions;
    options.output_format = FileFormat::raw;
    input.emplace(std::vector<std::string>{folder / "in.u8"}, options.file);
    values.emplace(options, *input);
    outputs.emplace(*input, *values, folder / "out", options, true);
  }
  /// The size of the output with `elements` positions of a stream of `keys` keys.
  uint64_t bytes(uint64_t keys, uint64_t elements) {
    outputs->prepare(keys, elements);
    outputs->start();
    outputs->finish(elements);
    outputs->commit();
    return std::filesystem::file_size(folder / "out");
  }

  TemporaryFolder folder;
  SortFileOptions options;
  std::optional<SortInput> input;
  std::optional<SortValues> values;
  std::optional<SortOutputs> outputs;
};

TEST_CASE("positions have 4 bytes up to 2^32 keys and 8 beyond, however few are written") {
  CHECK(Positions().bytes(narrow_keys, 3) == 3 * 4);
  CHECK(Positions().bytes(narrow_keys + 1, 3) == 3 * 8);
}

TEST_CASE("a position that does not fit 4 bytes is not narrowed in silence") {
  std::array<uint64_t, 3> positions{1, narrow_keys - 1, 2};
  const std::span<std::byte> narrow = narrowed(std::as_writable_bytes(std::span(positions)));
  REQUIRE(narrow.size() == 3 * sizeof(uint32_t));
  const auto* const all = reinterpret_cast<const uint32_t*>(narrow.data());
  CHECK((all[0] == 1 && all[1] == 0xffffffff && all[2] == 2));
  std::array<uint64_t, 3> wide{1, narrow_keys, 2};
  CHECK_THROWS_AS(narrowed(std::as_writable_bytes(std::span(wide))), Error);
}

TEST_CASE("a sort that was stopped writes nothing, and another attempt does") {
  Positions sort;
  sort.outputs->prepare(3);
  sort.outputs->stop();
  CHECK_THROWS_AS(sort.outputs->start(), Stopped);
  sort.outputs->begin_attempt();
  sort.outputs->start();
}

TEST_CASE("a write gate is passed or closed, whichever comes first") {
  WriteGate gate;
  CHECK_FALSE(gate.close());  // nobody writes
  CHECK_FALSE(gate.pass());
  CHECK_FALSE(gate.is_passed());
  gate.open_again();
  CHECK((gate.pass() && gate.pass() && gate.is_passed()));
  CHECK(gate.close());  // the writers must be stopped
  gate.open_again();    // what was written stays written
  CHECK(gate.is_passed());
}

}  // namespace
}  // namespace sweepsort::test
