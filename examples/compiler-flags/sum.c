// Sums that lose digits, done with care (Kahan), and a small n-body step: what -ffast-math breaks, and what flags make fast.
#include <math.h>
#include <stdio.h>
#include <time.h>

enum { kBodies = 64, kSteps = 60 };

static double position[kBodies][3], velocity[kBodies][3];

static double KahanSum(int count) {
  double sum = 0, lost = 0;
  for (int i = 1; i <= count; ++i) {
    const double y = 1.0 / i - lost;
    const double t = sum + y;
    lost = (t - sum) - y;
    sum = t;
  }
  return sum;
}

static void Step(void) {
  for (int i = 0; i < kBodies; ++i) {
    double force[3] = {0, 0, 0};
    for (int j = 0; j < kBodies; ++j) {
      double d[3], square = 1e-3;
      for (int k = 0; k < 3; ++k) {
        d[k] = position[j][k] - position[i][k];
        square += d[k] * d[k];
      }
      const double weight = 1 / (square * sqrt(square));
      for (int k = 0; k < 3; ++k) force[k] += d[k] * weight;
    }
    for (int k = 0; k < 3; ++k) velocity[i][k] += 1e-5 * force[k];
  }
  for (int i = 0; i < kBodies; ++i) {
    for (int k = 0; k < 3; ++k) position[i][k] += velocity[i][k];
  }
}

int main(void) {
  for (int i = 0; i < kBodies; ++i) {
    for (int k = 0; k < 3; ++k) position[i][k] = sin(1.0 + 7 * i + 3 * k);
  }
  const clock_t begin = clock();
  const double sum = KahanSum(3000000);
  for (int step = 0; step < kSteps; ++step) Step();
  const double milliseconds = 1000.0 * (double)(clock() - begin) / CLOCKS_PER_SEC;
  // The harmonic number, to the last bit but one.
  if (fabs(sum - 15.491338678200574) > 4e-15) {
    fprintf(stderr, "wrong sum: %.17g\n", sum);
    return 1;
  }
  printf("milliseconds %.3f checksum %.6f\n", milliseconds, position[0][0]);
  return 0;
}
