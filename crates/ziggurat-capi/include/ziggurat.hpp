// Ziggurat for C++17: the functions of ziggurat.h as a class that owns its solver.
//
//   ziggurat::solver solve(rows, row_ptr, columns, values);   // std::vector or anything alike
//   auto [iterations, residual] = solve(b, x);                // as in AMGCL
//
// A failure throws ziggurat::error with the library's sentence. Containers need data() and size(), as
// std::vector, std::array, std::span and the vectors of Eigen have them; indices are int32_t or int64_t.
#ifndef ZIGGURAT_HPP
#define ZIGGURAT_HPP

#include <cstdio>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "ziggurat.h"

namespace ziggurat {

// Why a call failed. status() is one of the numbers of ziggurat.h, such as ZIGGURAT_ARGUMENT.
class error : public std::runtime_error {
 public:
  error(int status, const std::string &text) : std::runtime_error(text), status_(status) {}
  int status() const noexcept { return status_; }

 private:
  int status_;
};

class solver {
 public:
  // Without a matrix: set options first, then call setup.
  solver() : handle_(ziggurat_create()) {
    if (!handle_) throw error(ZIGGURAT_INTERNAL, "no memory for a solver");
  }

  // For a matrix in compressed rows, with default options.
  template <class Pointers, class Columns, class Values>
  solver(int64_t rows, const Pointers &row_ptr, const Columns &columns, const Values &values, int base = 0)
      : solver() {
    setup(rows, row_ptr, columns, values, base);
  }

  ~solver() { ziggurat_destroy(&handle_); }
  solver(const solver &) = delete;
  solver &operator=(const solver &) = delete;
  solver(solver &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  solver &operator=(solver &&other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  // Options, see ziggurat.h; each returns the solver, so that calls can be chained.
  solver &set(const std::string &key, const std::string &value) {
    return check(ziggurat_set_option(handle_, key.c_str(), value.c_str()));
  }
  solver &set(const std::string &key, double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", value);
    return set(key, std::string(text));
  }
  solver &set(const std::string &key, int value) { return set(key, std::to_string(value)); }
  solver &config(const std::string &toml) { return check(ziggurat_set_config(handle_, toml.c_str())); }
  solver &threads(int64_t count) { return check(ziggurat_set_threads(handle_, count)); }
  solver &block_size(int64_t unknowns) { return check(ziggurat_set_block_size(handle_, unknowns)); }
  template <class Values>
  solver &coordinates(int64_t dimension, const Values &points) {
    auto count = static_cast<int64_t>(points.size()) / (dimension > 0 ? dimension : 1);
    return check(ziggurat_set_coordinates(handle_, dimension, count, points.data()));
  }
  template <class Values>
  solver &near_null_space(int64_t vectors, const Values &values) {
    auto rows = static_cast<int64_t>(values.size()) / (vectors > 0 ? vectors : 1);
    return check(ziggurat_set_near_null_space(handle_, vectors, rows, values.data()));
  }

  template <class Pointers, class Columns, class Values>
  void setup(int64_t rows, const Pointers &row_ptr, const Columns &columns, const Values &values, int base = 0) {
    using index = std::remove_cv_t<std::remove_reference_t<decltype(*row_ptr.data())>>;
    using column = std::remove_cv_t<std::remove_reference_t<decltype(*columns.data())>>;
    static_assert(std::is_same_v<index, column>, "row pointers and columns have the same type");
    static_assert(std::is_integral_v<index> && (sizeof(index) == 4 || sizeof(index) == 8),
                  "indices have 32 or 64 bits");
    need(rows >= 0 && static_cast<size_t>(rows) + 1 == row_ptr.size(), "row_ptr has rows + 1 elements");
    auto entries = static_cast<size_t>(row_ptr.data()[rows] - static_cast<index>(base));
    need(entries <= columns.size() && entries <= values.size(), "columns and values have row_ptr[rows] elements");
    if constexpr (sizeof(index) == 4) {
      check(ziggurat_setup_i32(handle_, rows, reinterpret_cast<const int32_t *>(row_ptr.data()),
                               reinterpret_cast<const int32_t *>(columns.data()), values.data(), base));
    } else {
      check(ziggurat_setup_i64(handle_, rows, reinterpret_cast<const int64_t *>(row_ptr.data()),
                               reinterpret_cast<const int64_t *>(columns.data()), values.data(), base));
    }
  }

  template <class Values>
  void update_values(const Values &values) {
    check(ziggurat_update_values(handle_, static_cast<int64_t>(values.size()), values.data()));
  }

  // Solves A x = b from zero, or from x. Throws if it does not converge.
  template <class Right, class Left>
  std::tuple<int64_t, double> operator()(const Right &b, Left &&x, bool use_guess = false) {
    auto done = solve(b, x, use_guess);
    if (std::string(done.stop_reason) != "converged") throw error(ZIGGURAT_NOT_CONVERGED, message());
    return {done.iterations, done.relative_residual};
  }

  // The same, but returns the report also if the solve does not converge.
  template <class Right, class Left>
  ziggurat_report solve(const Right &b, Left &&x, bool use_guess = false) {
    return solve(ziggurat_solve, b, x, use_guess);
  }

  // Solves A^T x = b; returns the report also if the solve does not converge.
  template <class Right, class Left>
  ziggurat_report solve_transposed(const Right &b, Left &&x, bool use_guess = false) {
    return solve(ziggurat_solve_transposed, b, x, use_guess);
  }

  // One multigrid cycle: z = M r.
  template <class Right, class Left>
  void apply(const Right &r, Left &&z) {
    sized(r), sized(z);
    check(ziggurat_apply(handle_, r.data(), z.data()));
  }

  void save(const std::string &path) { check(ziggurat_save(handle_, path.c_str())); }
  void load(const std::string &path) { check(ziggurat_load(handle_, path.c_str())); }
  int64_t rows() const { return ziggurat_rows(handle_); }

  std::string describe() const {
    std::string text(ziggurat_describe(handle_, nullptr, 0), '\0');
    ziggurat_describe(handle_, text.data(), text.size() + 1);
    return text;
  }

  // For functions of ziggurat.h that are not here.
  ziggurat_solver *handle() noexcept { return handle_; }

 private:
  std::string message() const { return ziggurat_error(handle_); }
  solver &check(int status) {
    if (status != ZIGGURAT_OK) throw error(status, message());
    return *this;
  }
  static void need(bool holds, const char *what) {
    if (!holds) throw error(ZIGGURAT_ARGUMENT, std::string("wrong sizes: ") + what);
  }
  template <class Right, class Left>
  ziggurat_report solve(int (*function)(ziggurat_solver *, const double *, double *, int, ziggurat_report *),
                        const Right &b, Left &x, bool use_guess) {
    sized(b), sized(x);
    ziggurat_report report{};
    int status = function(handle_, b.data(), x.data(), use_guess, &report);
    if (status != ZIGGURAT_NOT_CONVERGED) check(status);
    return report;
  }
  template <class Vector>
  void sized(const Vector &vector) const {
    need(static_cast<int64_t>(vector.size()) == rows(), "vectors have as many elements as the matrix has rows");
  }

  ziggurat_solver *handle_;
};

}  // namespace ziggurat

#endif
