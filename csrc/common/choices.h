// Keeps, for every kind of call, the way to run it that was measured as the fastest.
//
// The first calls of a kind take turns among the ways, each of which gives the right result; then
// the one stays whose time is the smallest share, in the median over the rounds, of what the ways
// of its round took: ways that follow one another have the same neighbours on the machine, calls
// that lie far apart have not. A way that made the system find memory has another turn.
// Choices are kept in a file, one line each, so that later processes replay them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace mirror {

// One kind of call: its ways and what is known about them. Threads may share it.
class Choice {
 public:
  Choice(std::string key, std::vector<std::string> ways, int chosen);

  // The way to take now. `measure`: its time is wanted, by `record`, and how many page faults it
  // met.
  int next(bool& measure);
  void record(int way, double microseconds, int64_t page_faults);

  // "key <tab> chosen way or - <tab> calls <tab> way=median microseconds ...": ways not measured
  // are left out.
  std::string text() const;

 private:
  void decide();
  // Of a way that is left: the median over the rounds of its time as a share of the ways' median.
  std::function<double(size_t)> shares(size_t rounds) const;
  // Takes out the ways whose statistic is more than `factor` times the best; returns the best.
  int drop(double factor, const std::function<double(size_t)>& statistic);

  const std::string key_;
  const std::vector<std::string> ways_;
  std::atomic<int> chosen_;  // -1: not yet
  std::atomic<int64_t> calls_{0};
  mutable std::mutex mutex_;
  std::vector<std::vector<double>> times_;  // per way
  int left_out_ = 0;                        // calls that were not counted
  std::vector<bool> out_;                   // ways that are behind
};

// Choices in memory, one per line.
std::string choices_text();

// Forgets what is in memory, and takes the choices of a file from now on ("": of none).
void use_choices_file(const std::string& path);

Choice* find_choice(uint64_t kind);  // nullptr: not met yet
Choice& add_choice(uint64_t kind, std::string key, std::vector<std::string> ways);

// The choice for a kind of call. `kind` identifies it in this process, `key()` in the file, and
// `ways()` names its ways: both are called once per kind.
template <typename Key, typename Ways>
Choice& choice(uint64_t kind, const Key& key, const Ways& ways) {
  if (Choice* const found = find_choice(kind)) return *found;
  return add_choice(kind, key(), ways());
}

// Page faults of this process so far that needed no disk; 0 where that cannot be known.
int64_t page_faults();

// Does `run(way)` for the way to take now; its time is recorded as long as none is chosen.
template <typename Run>
void run_chosen(Choice& choice, const Run& run) {
  bool measure = false;
  const int way = choice.next(measure);
  if (!measure) {
    run(way);
    return;
  }
  const int64_t faults = page_faults();
  const auto start = std::chrono::steady_clock::now();
  run(way);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  choice.record(way, took.count(), page_faults() - faults);
}

// Mixes one more number into the hash of a kind.
inline uint64_t mixed(uint64_t hash, uint64_t part) {
  hash = (hash ^ part) * 0x9E3779B97F4A7C15ULL;
  return hash ^ (hash >> 29);
}

// Sixteen hexadecimal digits.
std::string hexadecimal(uint64_t value);

}  // namespace mirror
