! Procedures of the module ziggurat_mpi before create, with vectors of wrong sizes on the last rank,
! and with what the example does not use. Prints a line for each row that ends otherwise.
program misuse
  use, intrinsic :: iso_c_binding
  use mpi
  use ziggurat_mpi
  implicit none
  integer, parameter :: n = 500
  integer :: rank, ranks, code, failures = 0, status, k
  integer(c_int32_t) :: row_ptr(n + 1), columns(3 * n), entries = 0, i
  real(c_double) :: values(3 * n), b(n), x(n), ones(n, 1), pairs(2, n)
  character(:), allocatable :: text
  logical :: last

  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  last = rank == ranks - 1

  ! -u'' + u, of which the solution is 1.
  row_ptr(1) = 1
  do k = 1, n
    b(k) = 1
    do i = n * rank + k - 1, n * rank + k + 1
      if (i < 1 .or. i > n * ranks) then
        b(k) = b(k) + 1
      else
        entries = entries + 1
        columns(entries) = i
        values(entries) = merge(3d0, -1d0, i == n * rank + k)
      end if
    end do
    row_ptr(k + 1) = entries + 1
  end do
  ones = 1

  block
    type(ziggurat_mpi_solver) :: solver, none
    call solver%solve(b, x, status)
    call row('no solver', status, ZIGGURAT_ARGUMENT, solver%error(), 'null pointer')
    call ziggurat_mpi_set_threads(-1, status)
    call row('no threads', status, ZIGGURAT_ARGUMENT, none%error(), 'threads is -1')
    call ziggurat_mpi_set_threads(2, status)
    call row('threads', status, ZIGGURAT_OK, '', '')
    call solver%create(MPI_COMM_NULL, status)
    call row('null communicator', status, ZIGGURAT_ARGUMENT, solver%error(), 'no solver was made')
    call solver%create(MPI_COMM_WORLD, status)
    call row('create', status, ZIGGURAT_OK, '', '')
    call ziggurat_mpi_set_threads(3, status)
    call row('threads too late', status, ZIGGURAT_ORDER, none%error(), '2 threads are running')
    call solver%create(MPI_COMM_WORLD, status)
    call row('create again', status, ZIGGURAT_OK, '', '')
    call solver%apply(b, x, status)
    call row('too early', status, ZIGGURAT_ORDER, solver%error(), 'no matrix yet')
    call solver%setup(row_ptr(:merge(0, n + 1, last)), columns, values, status)
    call row('no row_ptr', status, ZIGGURAT_ARGUMENT, solver%error(), 'rows is -1')

    call solver%set('stopping.rtol', '1e-12')
    call solver%set_block_size(1)
    call solver%set_coordinates(reshape([(1d0 * (n * rank + k), k = 1, n)], [1, n]))
    call solver%set_near_null_space(ones)
    call solver%setup(row_ptr, columns, values, status)
    call row('setup', status, ZIGGURAT_OK, '', '')
    text = solver%describe()
    call row('describe', merge(0, 1, len(text) > 100), 0, text, 'level')

    call solver%solve(b(:merge(n - 1, n, last)), x, status)
    call row('short b', status, ZIGGURAT_ARGUMENT, solver%error(), refusal('b'))
    call solver%solve(b, x(:merge(n - 1, n, last)), status)
    call row('short x', status, ZIGGURAT_ARGUMENT, solver%error(), refusal('x'))
    call solver%apply(b, x(:merge(n - 1, n, last)), status)
    call row('short z', status, ZIGGURAT_ARGUMENT, solver%error(), refusal('z'))
    call solver%update_values(values(:entries - merge(1, 0, last)), status)
    call row('few values', status, ZIGGURAT_ARGUMENT, solver%error(), 'entries')

    ! Elements that are not next to each other are copied.
    pairs = 7
    call solver%solve(b, pairs(2, :), status)
    call row('solve', status, ZIGGURAT_OK, '', '')
    call row('solution', merge(0, 1, maxval(abs(pairs(2, :) - 1)) < 1d-10), 0, '', '')
    call row('the others', merge(0, 1, all(abs(pairs(1, :) - 7) < 1d-10)), 0, '', '')
    call solver%apply(b, x, status)
    call row('apply', merge(status, 1, abs(x(n / 2) - 1) < 0.9), ZIGGURAT_OK, '', '')
    call solver%destroy()
    call solver%apply(b, x, status)
    call row('destroyed', status, ZIGGURAT_ARGUMENT, '', '')
  end block

  call MPI_Allreduce(MPI_IN_PLACE, failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
  call MPI_Finalize(code)
  if (failures > 0) error stop 1

contains

  ! Only the rank with the wrong vector knows its size.
  function refusal(name) result(words)
    character(*), intent(in) :: name
    character(:), allocatable :: words
    words = name // ' is a null pointer'
    if (last) words = 'as many elements as this rank has rows'
  end function

  ! One row: the status of a call, the expected one, and words of the sentence.
  subroutine row(what, found, expected, sentence, words)
    character(*), intent(in) :: what, sentence, words
    integer, intent(in) :: found, expected
    if (found == expected .and. index(sentence, words) > 0) return
    failures = failures + 1
    print '(a, i0, 3a, i0, a, i0, 2a)', 'rank ', rank, ', ', what, ': status ', found, &
      ' (expected ', expected, '): ', sentence
  end subroutine

end program
