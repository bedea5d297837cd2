// fiber.hpp - a stack of one's own and the switch to another, annotated for AddressSanitizer.
#pragma once

#include <boost/context/detail/fcontext.hpp>

#include <cstddef>
#include <memory>

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

/// An execution context. Default-constructed it stands for the host's stack; start() gives it one of its own.
class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  bool started() const { return context_ != nullptr; }
  /// `body` runs at the first switch here and must not return. `colour` shifts the stack's top by cache
  /// lines, as equal tops would all fall into the same few cache sets.
  void start(void (*body)(), size_t colour);
  /// Leaves `from`, which is running, for `to`; returns when somebody switches back.
  static void switch_to(Fiber& from, Fiber& to);

 private:
  // What the sanitizer wants to be told, and what the destructor needs.
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
  // Whoever switches names both ends: the fiber left behind and the one that wakes.
  struct Crossing {
    Fiber* from;
    Fiber* to;
  };

  static void arrive(boost::context::detail::transfer_t transfer);
  static void enter(boost::context::detail::transfer_t transfer);

  // What a switch needs is this pointer; the rest stays out of the way of the caches.
  void* context_ = nullptr;
  std::unique_ptr<Stack> stack_;
};

inline void Fiber::arrive(boost::context::detail::transfer_t transfer) {
  const Crossing crossing = *static_cast<Crossing*>(transfer.data);
  crossing.from->context_ = transfer.fctx;
#if defined(SIMT_ASAN)
  // The host's stack is learnt here, whenever the host is the one left behind.
  Stack& left = *crossing.from->stack_;
  __sanitizer_finish_switch_fiber(crossing.to->stack_->fake_stack, &left.bottom, &left.bytes);
#endif
}

// Inline, as is all that calls it: a processor predicts returns by a stack of its own, which a switch
// invalidates, so that every frame that is alive across one costs a misprediction.
[[gnu::always_inline]] inline void Fiber::switch_to(Fiber& from, Fiber& to) {
  Crossing crossing{&from, &to};
#if defined(SIMT_ASAN)
  __sanitizer_start_switch_fiber(&from.stack_->fake_stack, to.stack_->bottom, to.stack_->bytes);
#endif
  arrive(boost::context::detail::jump_fcontext(to.context_, &crossing));
}

}  // namespace simt
