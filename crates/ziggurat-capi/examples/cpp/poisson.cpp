// Solves the Poisson equation on a square of n x n points.
//
//   c++ -std=c++17 poisson.cpp $(pkg-config --cflags --libs ziggurat) -o poisson && ./poisson 300
#include <cstdlib>
#include <iostream>
#include <vector>
#include <ziggurat.hpp>

int main(int argc, char **argv) try {
  int n = argc > 1 ? std::atoi(argv[1]) : 300;
  if (n < 1 || n > 5000) throw std::invalid_argument("points per side: 1 to 5000");
  std::vector<int> row_ptr{0}, columns;
  std::vector<double> values;
  auto entry = [&](int column, double value) { columns.push_back(column), values.push_back(value); };
  for (int row = 0; row < n * n; row++) {
    if (row >= n) entry(row - n, -1);
    if (row % n > 0) entry(row - 1, -1);
    entry(row, 4);
    if (row % n < n - 1) entry(row + 1, -1);
    if (row < n * (n - 1)) entry(row + n, -1);
    row_ptr.push_back(static_cast<int>(columns.size()));
  }
  std::vector<double> b(n * n, 1.0), x(n * n);

  ziggurat::solver solve;
  solve.set("stopping.rtol", 1e-10).setup(n * n, row_ptr, columns, values);
  auto [iterations, residual] = solve(b, x);
  std::cout << solve.describe() << "converged in " << iterations << " iterations, relative residual "
            << residual << '\n';

  // Errors are exceptions.
  try {
    solve.set("method", "classic");
  } catch (const ziggurat::error &error) {
    std::cout << "refused: " << error.what() << '\n';
  }
  std::vector<double> too_short(3);
  try {
    solve(too_short, x);
  } catch (const ziggurat::error &error) {
    std::cout << "refused: " << error.what() << '\n';
  }
  return 0;
} catch (const std::exception &error) {
  std::cerr << error.what() << '\n';
  return 1;
}
