! Solves the Poisson equation on a square of n x n points.
!
!   gfortran ziggurat.f90 poisson.f90 $(pkg-config --libs ziggurat) -o poisson && ./poisson
program poisson
  use, intrinsic :: iso_c_binding
  use ziggurat
  implicit none
  integer, parameter :: n = 200
  integer(c_int32_t) :: row_ptr(n * n + 1), columns(5 * n * n), row, entries
  real(c_double) :: values(5 * n * n), b(n * n), x(n * n)
  type(ziggurat_report) :: report
  integer :: status

  entries = 0
  do row = 1, n * n
    row_ptr(row) = entries + 1
    if (row > n) call entry(row - n, -1d0)
    if (mod(row - 1, n) > 0) call entry(row - 1, -1d0)
    call entry(row, 4d0)
    if (mod(row, n) > 0) call entry(row + 1, -1d0)
    if (row <= n * (n - 1)) call entry(row + n, -1d0)
  end do
  row_ptr(n * n + 1) = entries + 1
  b = 1

  block
    type(ziggurat_solver) :: solver ! freed at the end of the block
    call solver%set('stopping.rtol', '1e-10')
    call solver%setup(row_ptr, columns(:entries), values(:entries))
    call solver%solve(b, x, report=report)
    print '(a, i0, a, es8.1)', 'converged in ', report%iterations, ' iterations, relative residual ', &
      report%relative_residual
    values = 2 * values
    call solver%update_values(values(:entries))
    call solver%solve(b, x, use_guess=.true.)
    print '(a, es8.1)', 'the middle of the solution: ', x(n * n / 2 + n / 2)
    call solver%set('method', 'classic', status)
    print '(a, i0, 2a)', 'status ', status, ': ', solver%error()
  end block

contains

  subroutine entry(column, value)
    integer(c_int32_t), intent(in) :: column
    real(c_double), intent(in) :: value
    entries = entries + 1
    columns(entries) = column
    values(entries) = value
  end subroutine

end program
