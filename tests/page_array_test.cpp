// page_array_test.cpp - arrays of pages, which are aligned, zeroed, and the same whether or not pages are
// made ahead; and buffers that grow.
#include "core/page_array.hpp"

#include "catch.hpp"
#include "core/error.hpp"
#include "core/growing_buffer.hpp"
#include "core/pages.hpp"
#include "resource_limit.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

using namespace sweepsort;

namespace {

constexpr size_t huge_page = 2u << 20;

bool is_zero(const PageArray& array) {
  return std::all_of(array.data(), array.data() + array.size(),
                     [](std::byte b) { return b == std::byte{0}; });
}

/// The address space that the process has.
size_t mapped_bytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word && word != "VmSize:") {
  }
  size_t kibibytes = 0;
  REQUIRE(status >> kibibytes);
  return kibibytes * 1024;
}

}  // namespace

TEST_CASE("an array of pages is aligned and zeroed, and moves") {
  PageArray array(3 * huge_page + 5);
  CHECK(array.size() == 3 * huge_page + 5);
  CHECK(reinterpret_cast<uintptr_t>(array.data()) % huge_page == 0);
  CHECK(is_zero(array));
  array.data()[7] = std::byte{1};
  const PageArray moved = std::move(array);
  CHECK(moved.data()[7] == std::byte{1});
  CHECK(PageArray(0).data() == nullptr);
}

TEST_CASE("small pages that are made ahead leave every byte alone") {
  PageArray array(huge_page + 5, PageSize::small);
  std::fill_n(array.data(), 99, std::byte{9});
  for (size_t at = 0; at < array.size(); at += 4096)
    array.touch(at, std::min<size_t>(4096, array.size() - at));
  PageArray moved = std::move(array);
  moved.touch(0, 4096);
  CHECK(std::count(moved.data(), moved.data() + moved.size(), std::byte{9}) == 99);
  CHECK(std::count(moved.data(), moved.data() + moved.size(), std::byte{0}) == huge_page + 5 - 99);
}

TEST_CASE("pages that are made ahead leave every other byte alone") {
  PageArray array(3 * huge_page + 5);
  std::fill_n(array.data(), huge_page, std::byte{9});
  array.touch(1, huge_page - 1);              // no page begins there
  array.touch(huge_page + 1, huge_page + 1);  // a page begins there
  array.touch(3 * huge_page, 5);              // a small page at the end
  array.touch(huge_page, 0);
  CHECK(std::all_of(array.data(), array.data() + huge_page, [](std::byte b) { return b == std::byte{9}; }));
  CHECK(std::all_of(array.data() + huge_page, array.data() + array.size(),
                    [](std::byte b) { return b == std::byte{0}; }));
}

TEST_CASE("a growing buffer that may not double takes what it needs, or keeps what it has") {
  // The library that imitates large pages moves a buffer by copying it, for which there is no room here.
  if (system_page_bytes() > 4096) return;
  GrowingBuffer buffer;
  constexpr size_t mebibyte = 1 << 20;
  std::ranges::fill(buffer.room(8 * mebibyte), std::byte{7});
  buffer.commit(8 * mebibyte);
  {
    const ResourceLimit limit(RLIMIT_AS, mapped_bytes() + 2 * mebibyte);
    CHECK(buffer.room(mebibyte).size() >= mebibyte);
    CHECK(buffer.room(mebibyte).size() < 2 * mebibyte);
    CHECK_THROWS_AS(buffer.room(4 * mebibyte), Error);
  }
  std::ranges::fill(buffer.room(mebibyte).first(mebibyte), std::byte{7});
  buffer.commit(mebibyte);
  CHECK(buffer.room(4 * mebibyte).size() >= 4 * mebibyte);
  CHECK(buffer.size() == 9 * mebibyte);
  CHECK(std::ranges::all_of(buffer.bytes(), [](std::byte b) { return b == std::byte{7}; }));
}

TEST_CASE("a growing buffer keeps its content, and gives back only whole pages") {
  std::vector<std::byte> data(5'000'000);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i % 251 + 1);
  GrowingBuffer buffer;
  for (size_t at = 0; at < data.size(); at += 100'000) {
    std::copy_n(data.begin() + static_cast<ptrdiff_t>(at), 100'000, buffer.room(100'000).begin());
    buffer.commit(100'000);
  }
  REQUIRE(std::ranges::equal(buffer.bytes(), data));

  const size_t page = system_page_bytes();
  buffer.discard(page + 1, 3 * page);
  CHECK(buffer.bytes()[2 * page - 1] == data[2 * page - 1]);
  CHECK(buffer.bytes()[2 * page] == std::byte{0});
  CHECK(buffer.bytes()[4 * page - 1] == std::byte{0});
  CHECK(buffer.bytes()[4 * page] == data[4 * page]);
  buffer.discard(8 * page, page / 2);  // the system's calls would take the whole page
  CHECK(buffer.bytes()[8 * page] == data[8 * page]);
}
