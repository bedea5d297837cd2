// page_array_test.cpp - arrays of pages: aligned, zeroed, and the same whether or not pages are made ahead.
#include "core/page_array.hpp"

#include "catch.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

using namespace sweepsort;

namespace {

constexpr size_t huge_page = 2u << 20;

bool is_zero(const PageArray& array) {
  return std::all_of(array.data(), array.data() + array.size(),
                     [](std::byte b) { return b == std::byte{0}; });
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
  array.touch(huge_page + 1, huge_page + 1);  // one does
  array.touch(3 * huge_page, 5);              // a small one at the end
  array.touch(huge_page, 0);
  CHECK(std::all_of(array.data(), array.data() + huge_page, [](std::byte b) { return b == std::byte{9}; }));
  CHECK(std::all_of(array.data() + huge_page, array.data() + array.size(),
                    [](std::byte b) { return b == std::byte{0}; }));
}
