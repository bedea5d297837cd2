// fiber.hpp - an execution context with its own stack, and the switch to another, annotated for
// AddressSanitizer.
#pragma once

#include <boost/context/detail/fcontext.hpp>

#include <cstddef>
#include <memory>
#include <utility>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMT_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SIMT_ASAN 1
#endif
#if defined(SIMT_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif

namespace simt {

/// An execution context, or none. It may be moved, also while it runs.
class Fiber {
 public:
  Fiber() = default;
  /// A context on a stack of its own. `body` runs at the first switch to it and must not return. `colour`
  /// shifts the stack's top by cache lines, because equal tops would all fall into the same few cache sets.
  Fiber(void (*body)(), size_t colour);
  ~Fiber();
  Fiber(Fiber&& other) noexcept
      : context_(std::exchange(other.context_, nullptr)), stack_(std::move(other.stack_)) {}
  Fiber& operator=(Fiber&& other) noexcept {
    context_ = std::exchange(other.context_, nullptr);
    stack_ = std::move(other.stack_);
    return *this;
  }
  /// The context that calls this.
  static Fiber of_caller();

  /// Whether there is a context; the caller's counts once it has been left.
  explicit operator bool() const { return context_ != nullptr; }
  /// Leaves `from`, which is running, for `to`. Returns when somebody switches back.
  static void switch_to(Fiber& from, Fiber& to);

 private:
  // What the sanitizer must be told, and what the destructor needs.
  struct Stack {
    Stack() = default;
    ~Stack();
    Stack(const Stack&) = delete;
    Stack& operator=(const Stack&) = delete;

    void* mapping = nullptr;
    void (*body)() = nullptr;
    const void* bottom = nullptr;
    size_t bytes = 0;
    void* fake_stack = nullptr;
  };
  // A switch names both ends: the fiber left behind and the one that wakes.
  struct Crossing {
    Fiber* from;
    Fiber* to;
  };

  static void arrive(boost::context::detail::transfer_t transfer);
  static void enter(boost::context::detail::transfer_t transfer);

  // A switch needs only this pointer. The rest stays out of the caches' way.
  void* context_ = nullptr;
  std::unique_ptr<Stack> stack_;
};

inline void Fiber::arrive(boost::context::detail::transfer_t transfer) {
  const Crossing crossing = *static_cast<Crossing*>(transfer.data);
  crossing.from->context_ = transfer.fctx;
#if defined(SIMT_ASAN)
  // The host's stack becomes known here, whenever the host is the one left behind.
  Stack& left = *crossing.from->stack_;
  __sanitizer_finish_switch_fiber(crossing.to->stack_->fake_stack, &left.bottom, &left.bytes);
#endif
}

// Inline, like everything that calls it. A processor predicts returns with a stack of its own, which a switch
// invalidates. So every frame that is alive across a switch costs a misprediction.
[[gnu::always_inline]] inline void Fiber::switch_to(Fiber& from, Fiber& to) {
  Crossing crossing{&from, &to};
#if defined(SIMT_ASAN)
  __sanitizer_start_switch_fiber(&from.stack_->fake_stack, to.stack_->bottom, to.stack_->bytes);
#endif
  arrive(boost::context::detail::jump_fcontext(to.context_, &crossing));
}

}  // namespace simt
