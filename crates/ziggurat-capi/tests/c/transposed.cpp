// Solves with an upper triangular matrix and its transpose, and with new values.
#include <cmath>
#include <iostream>
#include <vector>
#include <ziggurat.hpp>

static bool is(const std::vector<double> &x, double first, double second, double third) {
  return std::abs(x[0] - first) + std::abs(x[1] - second) + std::abs(x[2] - third) < 1e-7;
}

int main() try {
  const std::vector<int> row_ptr{0, 2, 4, 5}, columns{0, 1, 1, 2, 2};
  std::vector<double> values{2, -1, 2, -1, 2}, x(3), too_short(2);
  ziggurat::solver solver(3, row_ptr, columns, values);
  const std::vector<double> upper{0, 1, 6}, lower{2, 3, 4};
  solver(upper, x);
  bool good = is(x, 1, 2, 3);
  auto report = solver.solve_transposed(lower, x);
  good = good && is(x, 1, 2, 3) && std::string(report.stop_reason) == "converged";
  good = good && solver.solve_transposed(lower, x, true).iterations == 0;
  try {
    solver.solve_transposed(lower, too_short);
    good = false;
  } catch (const ziggurat::error &error) {
    good = good && error.status() == ZIGGURAT_ARGUMENT;
  }
  std::cout << (good ? "good" : "wrong") << '\n';
  return good ? 0 : 1;
} catch (const std::exception &error) {
  std::cerr << error.what() << '\n';
  return 1;
}
