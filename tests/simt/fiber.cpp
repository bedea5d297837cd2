// fiber.cpp - the stacks of fibers: mapped, with a guard page below.
#include "fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace simt {

namespace {

// AddressSanitizer puts red zones around every local variable, and its reports need stack space.
#if defined(SIMT_ASAN)
constexpr size_t stack_size = 256 * 1024;
#else
constexpr size_t stack_size = 64 * 1024;
#endif

}  // namespace

Fiber::Stack::~Stack() {
  if (mapping != nullptr) munmap(mapping, stack_size);
}

Fiber::~Fiber() = default;

Fiber Fiber::of_caller() {
  Fiber caller;
  caller.stack_ = std::make_unique<Stack>();
  return caller;
}

void Fiber::enter(boost::context::detail::transfer_t transfer) {
  Fiber* const self = static_cast<Crossing*>(transfer.data)->to;
  arrive(transfer);
  self->stack_->body();
}

Fiber::Fiber(void (*body)(), size_t colour) : stack_(std::make_unique<Stack>()) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
  void* const mapping = mmap(nullptr, stack_size, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  stack_->mapping = mapping;
  if (mprotect(mapping, page, PROT_NONE) != 0) throw std::bad_alloc();
  stack_->body = body;
  stack_->bottom = static_cast<std::byte*>(mapping) + page;
  stack_->bytes = stack_size - page;
  constexpr size_t cache_line = 64;
  constexpr size_t colours = 61;
  const size_t shift = colour % colours * cache_line;
  context_ = boost::context::detail::make_fcontext(static_cast<std::byte*>(mapping) + stack_size - shift,
                                                   stack_->bytes - shift, &Fiber::enter);
}

}  // namespace simt
