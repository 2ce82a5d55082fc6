// Simulated calls beside a neighbour that comes and goes. Arguments: its mean stay and mean absence
// in calls, and how much slower calls are while it is there. Prints the share of the choices that
// are the fastest way.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "common/choices.h"

int main(int, char** given) {
  const double stay = std::atof(given[1]), absence = std::atof(given[2]);
  const double slower = std::atof(given[3]);
  const int kTries = 1000;
  int right = 0;
  for (int seed = 0; seed < kTries; ++seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> chance(0, 1);
    std::normal_distribution<double> noise(0, 0.03);
    std::vector<double> took = {1, 1.06, 1.2, 1.5, 2.2};
    std::shuffle(took.begin(), took.end(), random);
    mirror::Choice choice("kind", {"a", "b", "c", "d", "e"}, -1);
    bool there = chance(random) < stay / (stay + absence), measure = true;
    int way = choice.next(measure);
    for (; measure; way = choice.next(measure)) {
      if (chance(random) < 1 / (there ? stay : absence)) there = !there;
      choice.record(way, took[way] * (there ? slower : 1) * std::exp(noise(random)), 0);
    }
    right += took[way] == 1;
  }
  std::printf("%g\n", double(right) / kTries);
}
