// lanes.hpp - sessions that take turns: while one sorts, the next is filled and the last one emptied.
#pragma once

#include "backend/backend.hpp"
#include "pipeline/stages.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sweepsort {

/// A session a lane, each used over and over. They lie on the backends in turn.
class Lanes {
 public:
  /// Sessions hold `job.count` records or fewer. Nothing is taken yet.
  Lanes(const Backends& backends, SortJob job, uint32_t lanes);

  /// All sessions at once. Throws Error where there is no room for them.
  void begin();
  /// The lane's session, empty, for so many records.
  SortSession& session(uint32_t lane, uint64_t count);
  /// The same as it is.
  SortSession& operator[](uint32_t lane) { return *sessions_[lane]; }

  /// Items through the stages (stages.hpp), each sorted by its lane's session.
  void run(decltype(Stages::load) load, decltype(Stages::store) store,
           const std::function<void()>& cancel = {});

  /// Of all that was run so far.
  StageTimes times() const { return times_; }
  /// Of the first item that was sorted.
  const std::string& algorithm() const { return first_sort_.algorithm; }
  std::string algorithm_why() const {
    return first_sort_.why.empty() ? "" : "of the first part: " + first_sort_.why;
  }

 private:
  const Backends& backends_;
  SortJob job_;
  std::vector<std::unique_ptr<SortSession>> sessions_;
  StageTimes times_;
  SortSummary first_sort_;
};

}  // namespace sweepsort
