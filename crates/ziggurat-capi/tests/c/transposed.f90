! Solves with an upper triangular matrix and its transpose.
program transposed
  use, intrinsic :: iso_c_binding
  use ziggurat
  implicit none
  integer(c_int32_t), parameter :: row_ptr(4) = [1, 3, 5, 6], columns(5) = [1, 2, 2, 3, 3]
  real(c_double), parameter :: values(5) = [2d0, -1d0, 2d0, -1d0, 2d0]
  real(c_double), parameter :: upper(3) = [0d0, 1d0, 6d0], lower(3) = [2d0, 3d0, 4d0]
  real(c_double), parameter :: solution(3) = [1d0, 2d0, 3d0]
  real(c_double) :: x(3)
  type(ziggurat_report) :: report
  integer :: status

  block
    type(ziggurat_solver) :: solver
    call solver%setup(row_ptr, columns, values)
    call solver%solve(upper, x)
    if (sum(abs(x - solution)) > 1d-7) error stop 'A x = b'
    call solver%solve_transposed(lower, x, report=report)
    if (sum(abs(x - solution)) > 1d-7) error stop 'transpose(A) x = b'
    call solver%solve_transposed(lower, x, use_guess=.true., report=report)
    if (report%iterations /= 0) error stop 'from the solution'
    call solver%solve_transposed(lower(:2), x, status)
    if (status /= ZIGGURAT_ARGUMENT) error stop 'sizes'
  end block
  print '(a)', 'good'
end program
