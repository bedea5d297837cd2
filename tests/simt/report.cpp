// report.cpp - who waits where, in as few lines as possible.
#include "engine.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace simt {

namespace {

std::string base_name(const char* path) {
  const std::string text = path;
  return text.substr(text.find_last_of('/') + 1);
}

std::string hex(uint32_t mask) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text = "0x";
  for (int shift = 28; shift >= 0; shift -= 4) text += digits[mask >> shift & 15];
  return text;
}

/// "0-3,7" for a set of numbers below 64.
std::string ranges(uint64_t set) {
  std::string text;
  for (int i = 0; i < 64; ++i) {
    if ((set >> i & 1) == 0) continue;
    int last = i;
    while (last < 63 && (set >> (last + 1) & 1) != 0) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(i);
    if (last > i) text += '-' + std::to_string(last);
    i = last;
  }
  return text;
}

}  // namespace

class Reporter {
 public:
  explicit Reporter(const Engine& engine) : engine_(engine) {}

  std::string text() const {
    std::string lines;
    for (uint32_t slot = 0; slot < engine_.slots_; ++slot)
      if (engine_.blocks_[slot]->alive != 0) lines += describe_block(*engine_.blocks_[slot]);
    const uint64_t waiting = engine_.order_.size() - engine_.next_block_;
    if (waiting != 0)
      lines += "  " + std::to_string(waiting) + " blocks have not started, for want of room\n";
    return lines;
  }

 private:
  static std::string describe_thread(const Thread& thread, const Warp& warp) {
    if ((warp.alive >> thread.lane & 1) == 0) return "exited";
    const std::string place = thread.where.line() == 0
                                  ? std::string(thread.what)
                                  : std::string(thread.what) + " at " + base_name(thread.where.file_name()) +
                                        ":" + std::to_string(thread.where.line());
    if ((warp.ready >> thread.lane & 1) != 0) return "can run, last seen at " + place;
    switch (thread.state) {
      case State::at_collective: return place + ", mask " + hex(thread.mask);
      case State::polling: return "polls: " + place;
      case State::set_aside: return "set aside at " + place;
      default: return place;
    }
  }

  // The lanes of a warp at one place form one group. Warps with the same groups share their lines.
  static std::string describe_block(const Block& block) {
    std::vector<std::pair<std::string, uint64_t>> groups;
    for (uint32_t w = 0; w < block.warps; ++w) {
      std::map<std::string, uint64_t> places;
      for (uint32_t lane = 0; lane < Schedule::lanes && w * Schedule::lanes + lane < block.threads; ++lane) {
        const Thread& thread = block.thread[w * Schedule::lanes + lane];
        places[describe_thread(thread, block.warp[w])] |= uint64_t{1} << lane;
      }
      for (const auto& [place, lanes] : places) add(groups, "lanes " + ranges(lanes) + ": " + place, w);
    }
    std::string lines;
    for (const auto& [text, warps] : groups)
      lines += "  block " + std::to_string(block.index) + " warps " + ranges(warps) + " " + text + "\n";
    return lines;
  }

  static void add(std::vector<std::pair<std::string, uint64_t>>& groups, const std::string& text,
                  uint32_t warp) {
    for (auto& [known, warps] : groups) {
      if (known != text) continue;
      warps |= uint64_t{1} << warp;
      return;
    }
    groups.emplace_back(text, uint64_t{1} << warp);
  }

  const Engine& engine_;
};

std::string describe_waits(const Engine& engine) { return Reporter(engine).text(); }

}  // namespace simt
