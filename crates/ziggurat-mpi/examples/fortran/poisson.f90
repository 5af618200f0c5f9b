! Solves the Poisson equation on a square of n x n points, of which each rank has some. The solution
! is known, u = s (1 - s) t (1 - t): for quadratic functions the five-point formula is exact.
!
!   mpifort ziggurat_mpi.f90 poisson.f90 $(pkg-config --libs ziggurat_mpi) -o poisson
!   mpirun -n 4 ./poisson
program poisson
  use, intrinsic :: iso_c_binding
  use mpi
  use ziggurat_mpi
  implicit none
  integer(c_int64_t), parameter :: n = 100
  integer :: rank, ranks, code, status
  integer(c_int64_t) :: first, last, row, entries
  integer(c_int64_t), allocatable :: row_ptr(:), columns(:)
  real(c_double), allocatable :: values(:), b(:), x(:), u(:)
  real(c_double) :: s, t
  type(ziggurat_report) :: report

  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)

  ! Rows and columns are counted from 1 over all ranks, row_ptr on each rank.
  first = n * n * rank / ranks + 1
  last = n * n * (rank + 1) / ranks
  allocate (b(first:last), x(first:last), u(first:last))
  allocate (row_ptr(size(b) + 1), columns(5 * size(b)), values(5 * size(b)))
  entries = 0
  row_ptr(1) = 1
  do row = first, last
    if (row > n) call entry(row - n, -1d0)
    if (mod(row - 1, n) > 0) call entry(row - 1, -1d0)
    call entry(row, 4d0)
    if (mod(row, n) > 0) call entry(row + 1, -1d0)
    if (row <= n * (n - 1)) call entry(row + n, -1d0)
    row_ptr(row - first + 2) = entries + 1
    s = (mod(row - 1, n) + 1d0) / (n + 1)
    t = ((row - 1) / n + 1d0) / (n + 1)
    u(row) = s * (1 - s) * t * (1 - t)
    b(row) = 2 * (s * (1 - s) + t * (1 - t)) / (n + 1)**2
  end do

  block
    type(ziggurat_mpi_solver) :: solver ! freed at the end of the block, before MPI_Finalize
    call solver%create(MPI_COMM_WORLD)
    call solver%set('stopping.rtol', '1e-10')
    call solver%setup(row_ptr, columns(:entries), values(:entries))
    call solver%solve(b, x, report=report)
    call show('converged', u)
    values = 2 * values
    call solver%update_values(values(:entries))
    call solver%solve(b, x, report=report, use_guess=.true.)
    call show('twice the matrix: converged', u / 2)
    call solver%set('method', 'classic', status)
    if (rank == 0) print '(a, i0, 2a)', 'status ', status, ': ', solver%error()
  end block
  call MPI_Finalize(code)

contains

  subroutine entry(column, value)
    integer(c_int64_t), intent(in) :: column
    real(c_double), intent(in) :: value
    entries = entries + 1
    columns(entries) = column
    values(entries) = value
  end subroutine

  ! The largest error over all ranks.
  subroutine show(text, expected)
    character(*), intent(in) :: text
    real(c_double), intent(in) :: expected(:)
    real(c_double) :: here, largest
    here = maxval(abs(x - expected))
    call MPI_Reduce(here, largest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD, code)
    if (rank == 0) print '(2a, i0, a, es8.1)', text, ' in ', report%iterations, &
      ' iterations, largest error ', largest
  end subroutine

end program
