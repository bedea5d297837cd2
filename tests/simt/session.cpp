// session.cpp - which settings are valid, and printing the seed when a test fails.
#include "session.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace simt {

namespace {

Session* innermost = nullptr;

}  // namespace

uint64_t base_seed() {
  static const uint64_t seed = [] {
    const char* const text = std::getenv("SWEEPSORT_SEED");
    return text == nullptr ? uint64_t{1} : std::strtoull(text, nullptr, 10);
  }();
  return seed;
}

Activation::Activation(Session& session)
    : outer_(innermost), exceptions_at_entry_(std::uncaught_exceptions()) {
  innermost = &session;
}

Activation::~Activation() {
  if (std::uncaught_exceptions() > exceptions_at_entry_)
    std::fprintf(stderr, "simt: failed with seed %llu; replay with SWEEPSORT_SEED=%llu\n",
                 static_cast<unsigned long long>(innermost->seed),
                 static_cast<unsigned long long>(innermost->seed));
  innermost = outer_;
}

Session& active_session() {
  if (innermost != nullptr) return *innermost;
  static Session fallback;
  fallback.launches = 0;  // every launch is its first
  innermost = nullptr;    // it has installed itself, but is no scope
  return fallback;
}

}  // namespace simt
