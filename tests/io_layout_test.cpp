// io_layout_test.cpp - formats, types and positions: every way in which a file can say what it holds, and
// every way to be wrong.
#include "catch.hpp"
#include "core/error.hpp"
#include "io/key_type_names.hpp"
#include "io/layout.hpp"

#include <cstring>
#include <functional>

using namespace sweepsort;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<std::byte> as_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// The beginning of a .npy file with a header text that may be anything.
std::vector<std::byte> npy_bytes(const std::string& text, int version = 1,
                                 std::optional<uint64_t> length = {}) {
  std::string file = "\x93NUMPY";
  file += {static_cast<char>(version), '\0'};
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    file += static_cast<char>(length.value_or(text.size()) >> (8 * i) & 0xff);
  return as_bytes(file + text);
}

Layout layout_of(const std::vector<std::byte>& prefix, uint64_t file_bytes, const std::string& name,
                 const FileOptions& options = {}) {
  return find_layout(prefix, file_bytes, name, options);
}

/// The layout of a .npy file with this header and `data_bytes` bytes of data.
Layout npy_layout(const std::string& text, uint64_t data_bytes, const FileOptions& options = {},
                  int version = 1) {
  const auto prefix = npy_bytes(text, version);
  return layout_of(prefix, prefix.size() + data_bytes, "a.npy", options);
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

const std::string good_header = "{'descr': '<u4', 'fortran_order': False, 'shape': (3,), }\n";

}  // namespace

TEST_CASE("a raw file's type comes from the option or the name's ending, and from nowhere else") {
  struct Row {
    const char* name;
    std::optional<KeyType> type;
  };
  for (const Row& row :
       {Row{"x.u8", KeyType::u8}, Row{"x.i8", KeyType::i8}, Row{"x.u16", KeyType::u16},
        Row{"x.i16", KeyType::i16}, Row{"x.u32", KeyType::u32}, Row{"x.i32", KeyType::i32},
        Row{"x.u64", KeyType::u64}, Row{"x.i64", KeyType::i64}, Row{"x.f32", KeyType::f32},
        Row{"x.f64", KeyType::f64}, Row{"x_uint32", KeyType::u32}, Row{"x_uint64", KeyType::u64},
        Row{"x_int16", KeyType::i16}, Row{"x_float64", KeyType::f64}, Row{"x.bin", {}}, Row{"xu32", {}},
        Row{"u4", {}}, Row{"x.U32", {}}, Row{"x.u32.bak", {}}}) {
    INFO(row.name);
    CHECK(type_from_name(row.name) == row.type);
  }
  const auto prefix = as_bytes("0123456789abcdef");
  CHECK(layout_of(prefix, 16, "x.u32").count == 4);
  CHECK(layout_of(prefix, 16, "x.u32", {.type = KeyType::u16}).count == 8);
  CHECK(layout_of(prefix, 16, "x.u32").notes == std::vector<std::string>{"x.u32: type u32, by its name"});
  CHECK(layout_of(prefix, 16, "x", {.type = KeyType::u64}).notes.empty());
  CHECK_THROWS_AS(layout_of(prefix, 16, "x.bin"), UsageError);
  CHECK_THROWS_WITH(layout_of(prefix, 16, "x.bin"), ContainsSubstring("x.bin: the key type is not known"));
}

TEST_CASE("numpy's type strings are read with their byte order, and foreign ones are not") {
  for (const KeyType type : all_key_types)
    for (const Endian endian : {Endian::little, Endian::big}) {
      const auto read = parse_numpy_descr(numpy_descr(type, endian));
      REQUIRE(read);
      CHECK(read->type == type);
      if (key_bytes(type) > 1) CHECK(read->endian == endian);
    }
  // numpy takes descriptions without a byte order to mean the machine's.
  for (const char* native : {"=i4", "|i4", "i4"}) {
    CHECK(parse_numpy_descr(native)->type == KeyType::i32);
    CHECK(parse_numpy_descr(native)->endian == Endian::little);
  }
  for (const char* bad :
       {"4", "<u3", "<U4", "u44", "<f2", "<c8", "|O", "<u44", "", "<", "<M8", "|b1", "<<4"}) {
    INFO(bad);
    CHECK_FALSE(parse_numpy_descr(bad));
  }
}

TEST_CASE("a raw file whose size is no multiple of the key is refused with the remainder") {
  for (uint64_t bytes = 0; bytes <= 17; ++bytes)
    for (const KeyType type : all_key_types) {
      const auto find = [&] { return layout_of(std::vector<std::byte>(bytes), bytes, "x", {.type = type}); };
      const size_t width = key_bytes(type);
      if (bytes % width == 0)
        CHECK(find().count == bytes / width);
      else
        CHECK_THROWS_WITH(find(), ContainsSubstring(std::to_string(bytes % width) + " left over"));
    }
}

TEST_CASE("a window of a raw file starts and ends where it is told") {
  const std::vector<std::byte> prefix(100);
  const auto window = [&](uint64_t skip, std::optional<uint64_t> read) {
    return layout_of(prefix, 100, "x", {.type = KeyType::u32, .skip_bytes = skip, .read_bytes = read});
  };
  CHECK(window(8, {}).data_offset == 8);
  CHECK(window(8, {}).count == 23);
  CHECK(window(7, 40).count == 10);
  CHECK(window(96, 1000).count == 1);
  CHECK(window(100, {}).count == 0);
  CHECK(window(0, 0).count == 0);
  CHECK_THROWS_WITH(window(101, {}), ContainsSubstring("cannot skip 101 bytes of 100"));
  CHECK_THROWS_WITH(window(0, 39), ContainsSubstring("--read-bytes 39 is not a multiple of the 4 bytes"));
  CHECK_THROWS_AS(window(0, 1001), UsageError);  // whatever the file has
  CHECK_THROWS_AS(
      layout_of(npy_bytes(good_header), 100, "a.npy", {.format = FileFormat::npy, .skip_bytes = 1}),
      UsageError);
}

TEST_CASE("a .npy header of every version gives type, byte order, offset and count") {
  for (const int version : {1, 2, 3}) {
    const Layout layout = npy_layout(good_header, 12, {}, version);
    CHECK(layout.format == FileFormat::npy);
    CHECK(layout.type == KeyType::u32);
    CHECK(layout.count == 3);
    CHECK(layout.data_offset == layout.header.size());
    CHECK(layout.data_offset == good_header.size() + (version == 1 ? 10 : 12));
    CHECK(output_header(layout, 3) == npy_bytes(good_header, version));
  }
}

TEST_CASE("a .npy header may be written in every way that Python reads the same") {
  for (const char* text : {"{'shape': (3,), 'fortran_order': True, 'descr': '<u4'}",
                           "{\"descr\":\"<u4\",'fortran_order':False,'shape':(3,)}",
                           "{'descr' : '<u4' , 'fortran_order' : False , 'shape' : ( 3 , ) , }",
                           "{'descr': '=u4', 'fortran_order': False, 'shape': (3L,), }",
                           "  {'descr': '<u4',\n'fortran_order': False,\t'shape': (3,)}   \n"}) {
    INFO(text);
    const Layout layout = npy_layout(text, 12);
    CHECK(layout.type == KeyType::u32);
    CHECK(layout.count == 3);
  }
  CHECK(npy_layout("{'descr': '>f8', 'fortran_order': False, 'shape': (1,)}", 8).is_swapped());
  CHECK_FALSE(npy_layout("{'descr': '|u1', 'fortran_order': False, 'shape': (1,)}", 1).is_swapped());
  CHECK(npy_layout("{'descr': '<i2', 'fortran_order': False, 'shape': (0,)}", 0).count == 0);
}

TEST_CASE("a .npy array of more dimensions is sorted only with flatten, and comes out with one") {
  const std::string text = "{'descr': '<u2', 'fortran_order': True, 'shape': (2, 3), }\n";
  CHECK_THROWS_WITH(npy_layout(text, 12), ContainsSubstring("the array has 2 dimensions"));
  const Layout layout = npy_layout(text, 12, {.flatten = true});
  CHECK(layout.count == 6);
  const auto header = output_header(layout, 6);
  CHECK(header.size() % 64 == 0);
  const Layout again = find_layout(header, header.size() + 12, "b.npy", {});
  CHECK(again.count == 6);
  CHECK(again.is_one_dimensional);
  CHECK_THROWS_WITH(npy_layout("{'descr': '<u2', 'fortran_order': False, 'shape': ()}", 2),
                    ContainsSubstring("0 dimensions"));
  CHECK(npy_layout("{'descr': '<u2', 'fortran_order': False, 'shape': (4611686018427387904, 0, 8)}", 0,
                   {.flatten = true})
            .count == 0);
}

TEST_CASE("a damaged or hostile .npy header is refused with its reason") {
  struct Row {
    std::string text;
    const char* reason;
  };
  const std::string tail = "'fortran_order': False, 'shape': (3,)}";
  const std::string head = "{'descr': '<u4', 'fortran_order': False, 'shape': ";
  const Row rows[] = {
      {"", "it ends where '{' should be"},
      {" ", "it ends where '{' should be"},
      {"[]", "'{' expected"},
      {"{}", "is missing"},
      {"{", "it ends where"},
      {"{'descr'", "it ends where ':' should be"},
      {"{'descr': '<u4', " + tail + " x", "something after"},
      {"{'descr': '<u4', " + tail + std::string(1, '\0'), "something after"},
      {"{'descr': '<u4', 'fortran_order': False}", "is missing"},
      {"{'fortran_order': False, 'shape': (3,)}", "is missing"},
      {"{'descr': '<u4', 'shape': (3,)}", "is missing"},
      {"{'descr': '<u4', 'descr': '<u4', " + tail, "twice"},
      {"{'extra': 1, 'descr': '<u4', " + tail, "unknown key 'extra'"},
      {"{'descr': '<u4' " + tail, "expected"},
      {"{'descr' '<u4', " + tail, "':' expected"},
      {"{descr: '<u4', " + tail, "'\"' expected"},
      {"{'descr: '<u4', " + tail, "expected"},
      {"{'descr': '<u4, 'fortran_order': False", "cannot be read as numbers"},
      {"{'descr': '<u4", "does not end"},
      {"{'descr': '\\x3cu4', " + tail, "escape"},
      {"{'descr': '|O', " + tail, "Python objects"},
      {"{'descr': 'O8', " + tail, "Python objects"},
      {"{'descr': [('a', '<u4')], " + tail, "structured"},
      {"{'descr': '<U4', " + tail, "type '<U4' cannot be read as numbers"},
      {"{'descr': '<f2', " + tail, "cannot be read as numbers"},
      {"{'descr': '<c8', " + tail, "cannot be read as numbers"},
      {"{'descr': '<u16', " + tail, "cannot be read as numbers"},
      {"{'descr': '|b1', " + tail, "cannot be read as numbers"},
      {"{'descr': 'u', " + tail, "cannot be read as numbers"},
      {"{'descr': '', " + tail, "cannot be read as numbers"},
      {"{'descr': '\x01\x02" + std::string(500, 'x') + "', " + tail,
       "'??xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'"},
      {"{'descr': 7, " + tail, "expected"},
      {"{'descr': '<u4', 'fortran_order': 0, 'shape': (3,)}", "neither True nor False"},
      {"{'descr': '<u4', 'fortran_order': 'False', 'shape': (3,)}", "neither True nor False"},
      {head + "3}", "'(' expected"},
      {head + "(3)}", "not a tuple"},
      {head + "[3]}", "'(' expected"},
      {head + "(3 3)}", "comma"},
      {head + "(-3,)}", "not a natural number"},
      {head + "(3.0,)}", "comma"},
      {head + "(1e3,)}", "comma"},
      {head + "(0x3,)}", "comma"},
      {head + "(03,)}", "begins with 0"},
      {head + "(,)}", "not a natural number"},
      {head + "(3,", "not a natural number"},
      {head + "(18446744073709551616,)}", "2^64 or more"},
      {head + "(99999999999999999999999,)}", "2^64 or more"},
      {head + "(18446744073709551615,)}", "the rest holds 3 keys"},
      {head + "(4611686018427387907,)}", "cut short"},  // times 4 it wraps to 12
      {head + "(4,)}", "cut short"},
      {head + "(2,)}", "longer than it should be"},
      {head + "(0,)}", "longer than it should be"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK_THAT(message_of([&] { npy_layout(row.text, 12); }), ContainsSubstring(row.reason));
  }
  // The product wraps to 12 bytes, but not if it is counted in 128 bits.
  CHECK_THAT(message_of([&] { npy_layout(head + "(4294967296, 4294967296, 3)}", 12, {.flatten = true}); }),
             ContainsSubstring("2^64 keys or more"));
}

TEST_CASE("a .npy file cut anywhere in its header is refused") {
  for (const int version : {1, 2}) {
    const auto whole = npy_bytes(good_header, version);
    for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
      const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(bytes));
      INFO(bytes);
      CHECK_THROWS_AS(layout_of(cut, bytes, "a.npy"), Error);
      CHECK_THROWS_AS(layout_of(cut, bytes, "a", {.format = FileFormat::npy}), Error);
    }
  }
}

TEST_CASE("a .npy header's stated length is checked before anything is done with it") {
  const auto layout = [](uint64_t length, int version) {
    const auto prefix = npy_bytes(good_header, version, length);
    return layout_of(prefix, prefix.size() + 12, "a.npy");
  };
  CHECK_THROWS_WITH(layout(10'001, 1), ContainsSubstring("more than 10000 are refused"));
  CHECK_THROWS_WITH(layout(0xffff'ffff, 2), ContainsSubstring("more than 10000 are refused"));
  CHECK_THROWS_WITH(layout(9'999, 2), ContainsSubstring("ends inside it"));
  CHECK_THROWS_WITH(layout(good_header.size() - 10, 1), ContainsSubstring("damaged .npy header"));
  CHECK_THROWS_WITH(layout(0, 1), ContainsSubstring("it ends where '{' should be"));
  const std::string long_header = good_header + std::string(10'000 - good_header.size(), ' ');
  CHECK(npy_layout(long_header, 12).count == 3);
  for (const int version : {0, 4, 255})
    CHECK_THAT(message_of([&] { npy_layout(good_header, 12, {}, version); }), ContainsSubstring("version"));
}

TEST_CASE("options that contradict a .npy header are usage errors") {
  CHECK_THROWS_AS(npy_layout(good_header, 12, {.type = KeyType::i32}), UsageError);
  CHECK_THROWS_AS(npy_layout(good_header, 12, {.endian = Endian::big}), UsageError);
  CHECK(npy_layout(good_header, 12, {.type = KeyType::u32, .endian = Endian::little}).count == 3);
  CHECK_THROWS_WITH(layout_of(as_bytes("0123"), 4, "x.npy", {.type = KeyType::u32}),
                    ContainsSubstring("not a .npy file"));
}

TEST_CASE("a SOSD file is recognised by its name, and refused if its count is another") {
  std::vector<std::byte> file(8 + 4 * 8);
  const uint64_t count = 4;
  std::memcpy(file.data(), &count, sizeof count);
  const Layout layout = layout_of(file, file.size(), "books_uint64");
  CHECK(layout.format == FileFormat::sosd);
  CHECK(layout.data_offset == 8);
  CHECK(layout.count == 4);
  CHECK(output_header(layout, 4) == std::vector<std::byte>(file.begin(), file.begin() + 8));
  CHECK(layout_of(file, file.size(), "books.u64").format == FileFormat::raw);
  CHECK_THROWS_WITH(layout_of(file, file.size(), "books_uint32"),
                    ContainsSubstring("longer than it should be"));
  CHECK_THROWS_WITH(layout_of(file, 32, "books_uint64"), ContainsSubstring("cut short"));
  CHECK(layout_of(file, file.size(), "books_uint32", {.format = FileFormat::raw}).count == 10);
  CHECK_THROWS_WITH(layout_of(file, file.size(), "books_uint64", {.type = KeyType::u32}),
                    ContainsSubstring("its name says u64, the type asked for is u32"));
  CHECK(layout_of(file, file.size(), "books_uint64", {.type = KeyType::i64}).type == KeyType::i64);
  CHECK(layout_of(file, 0, "books_uint64", {.format = FileFormat::raw}).count == 0);
}

TEST_CASE("an archive of arrays is refused, and a file that only has its name is not") {
  const auto archive = as_bytes("PK\x03\x04 and more");
  CHECK_THROWS_WITH(layout_of(archive, 12, "x.npz", {.type = KeyType::u32}),
                    ContainsSubstring("a .npz archive"));
  CHECK(layout_of(archive, 12, "x.npz", {.format = FileFormat::raw, .type = KeyType::u32}).count == 3);
  CHECK(layout_of(archive, 12, "x.u32", {.format = FileFormat::raw}).count == 3);
  CHECK(layout_of(as_bytes("0123"), 4, "x.npz", {.type = KeyType::u32}).count == 1);
}

TEST_CASE("what is compressed, text or a table by its name and its first bytes is refused") {
  const auto refused = [](std::string_view text, const std::string& name, bool under_any_name = false) {
    INFO(name);
    const auto bytes = as_bytes(text);
    CHECK_THROWS_WITH(layout_of(bytes, 8, name, {.type = KeyType::u32}),
                      !ContainsSubstring("left over") && ContainsSubstring(name));
    CHECK(layout_of(bytes, 8, name, {.format = FileFormat::raw, .type = KeyType::u32}).count == 2);
    CHECK(layout_of(bytes, 8, name, {.type = KeyType::u32, .read_bytes = 8}).count == 2);
    if (!under_any_name) CHECK(layout_of(bytes, 8, "x.u32").count == 2);
    CHECK(layout_of(as_bytes("\x01\x02\x03\x04\x05\x06\x07\x08"), 8, name, {.type = KeyType::u32}).count ==
          2);
  };
  refused("\x1f\x8b\x08 gzip", "x.u32.gz");
  refused("\x28\xb5\x2f\xfd....", "x.zst", true);
  refused("\xfd\x37zXZ...", "x.xz", true);
  refused("BZh91AY&", "x.bz2");
  refused("PK\x03\x04 zip", "x.zip", true);
  refused("\x89HDF....", "x.h5", true);
  refused("PAR1....", "x.parquet");
  refused("1\n2\n3\n4\n", "x.txt");
  refused("1,2,3,4\n", "x.csv");
  refused(
      "\xef\xbb\xbf"
      "1,2,3",
      "x.csv");
  CHECK(layout_of(as_bytes("GATTACA\n"), 8, "dna.txt", {.type = KeyType::u8}).count == 8);
}

TEST_CASE(
    "what no keys begin with is refused under any name, and from a pipe; letters that are keys are not") {
  using namespace std::string_view_literals;
  const auto find = [](std::string_view text, const std::string& name, KeyType type) {
    return find_layout(as_bytes(text), name == "standard input" ? std::nullopt : std::optional(text.size()),
                       name, {.type = type});
  };
  const auto blocked_gzip = "\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\x03\0"sv;
  const auto lines = "@read 1\nGATTACAGATTACA\n+\nFFFFFFFFFFFFFF\n"sv;
  for (const std::string name : {"reads", "reads.u32", "standard input"}) {
    CHECK_THROWS_WITH(find(blocked_gzip, name, KeyType::u32),
                      ContainsSubstring("compressed, by its first bytes"));
    CHECK_THROWS_WITH(find("BZh91AY&SY.."sv, name, KeyType::u32), ContainsSubstring("compressed, by"));
    CHECK_THROWS_WITH(find(lines.substr(0, 40), name, KeyType::u32),
                      ContainsSubstring("text, but keys are binary"));
    CHECK_NOTHROW(find(blocked_gzip, name, KeyType::u8));
    CHECK_NOTHROW(find(lines, name, KeyType::i8));
  }
  auto no_system = std::string(blocked_gzip);
  no_system[9] = 100;
  CHECK_NOTHROW(find(no_system, "x", KeyType::u32));
  CHECK_NOTHROW(find("PAR1PAR2PAR3PAR4PAR5PAR6PAR7PAR8PAR9", "x", KeyType::u32));
  CHECK_NOTHROW(find("GATTACA\nGATTACA\nGATTACA\nGATTACA\nGATTACA\n", "x", KeyType::u64));
  CHECK_THROWS_WITH(find("GATTACA\nGATTACA\nGATTACA\nGATTACA\nGATTA\nGA", "x", KeyType::u64),
                    ContainsSubstring("text"));
  const auto small_keys = "\x1f\x8b\x08\0\0\0\0\0\x02\x01\0\0\0\0\0\0\x05\0\0\0\0\0\0\0"sv;
  CHECK_NOTHROW(find(small_keys, "x", KeyType::u64));
  for (const std::string name : {"x.u8", "x.i8"}) {
    CHECK_NOTHROW(find_layout(as_bytes(lines), lines.size(), name, {}));
    CHECK_NOTHROW(find_layout(as_bytes(blocked_gzip), blocked_gzip.size(), name, {}));
  }
  // Values may look like anything, except like a format that their name says, too.
  const FileOptions how{.type = KeyType::u32};
  CHECK_NOTHROW(find_layout(as_bytes(lines.substr(0, 40)), 40, "v.bin", how, Holds::values));
  CHECK_THROWS_WITH(find_layout(as_bytes(blocked_gzip), 20, "v.gz", how, Holds::values),
                    ContainsSubstring("compressed"));
}

TEST_CASE("a SOSD file whose count does not match its size is refused") {
  const auto find = [](uint64_t count, uint64_t bytes, KeyType type = KeyType::u64) {
    std::vector<std::byte> file(8);
    std::memcpy(file.data(), &count, sizeof count);
    return layout_of(file, bytes, "x", {.format = FileFormat::sosd, .type = type});
  };
  CHECK(find(4, 40).count == 4);
  CHECK_THROWS_WITH(find(5, 40),
                    ContainsSubstring("the SOSD count says 5 keys, the rest holds 4 keys: it is cut short"));
  CHECK_THROWS_WITH(find(3, 40), ContainsSubstring("longer than it should be"));
  CHECK_THROWS_WITH(find(4, 41), ContainsSubstring("the rest holds 4 keys and 1 byte"));
  CHECK_THROWS_AS(find(uint64_t{1} << 61, 8), Error);  // times 8 it wraps to 0
  CHECK_THROWS_AS(find(0, 40, KeyType::u16), UsageError);
  CHECK_THROWS_WITH(
      layout_of(std::vector<std::byte>(7), 7, "x", {.format = FileFormat::sosd, .type = KeyType::u64}),
      ContainsSubstring("too short"));
  CHECK_THROWS_AS(layout_of(std::vector<std::byte>(8), 8, "x", {.format = FileFormat::sosd}), UsageError);
}

TEST_CASE("a stream's layout is known from its beginning, but for the count of a raw one") {
  const std::vector<std::byte> nothing;
  CHECK(find_layout(nothing, {}, "standard input", {.type = KeyType::u32}).count == unknown_count);
  // The stream may end before a window does.
  CHECK(find_layout(nothing, {}, "standard input", {.type = KeyType::u32, .read_bytes = 40}).count ==
        unknown_count);
  CHECK(find_layout(npy_bytes(good_header), {}, "standard input", {}).count == 3);
  const auto endless = npy_bytes("{'descr': '<u8', 'fortran_order': False, 'shape': (4611686018427387904,)}");
  CHECK_THROWS_WITH(find_layout(endless, {}, "standard input", {}), ContainsSubstring("no stream can hold"));
}

TEST_CASE("a new .npy header is one that numpy would write: padded to 64, read back the same") {
  for (const KeyType type : all_key_types)
    for (const Endian endian : {Endian::little, Endian::big})
      for (const uint64_t count : {uint64_t{0}, uint64_t{7}, uint64_t{1} << 40}) {
        const auto header = new_header(FileFormat::npy, type, endian, count);
        CHECK(header.size() % 64 == 0);
        CHECK(header.back() == std::byte{'\n'});
        const Layout layout = find_layout(header, header.size() + count * key_bytes(type), "x.npy", {});
        CHECK(layout.type == type);
        CHECK(layout.count == count);
        CHECK(layout.is_swapped() == (endian == Endian::big && key_bytes(type) > 1));
      }
}
