! Ziggurat on MPI ranks for Fortran 2008: the functions of ziggurat_mpi.h as a type that owns its
! solver.
!
!   use ziggurat_mpi
!   type(ziggurat_mpi_solver) :: solver
!   call solver%create(MPI_COMM_WORLD)                     ! of mpi_f08: MPI_COMM_WORLD%mpi_val
!   call solver%setup(row_ptr, columns, values, status)    ! the rows of this rank
!   call solver%solve(b, x, status)
!   if (status /= ZIGGURAT_OK) print *, solver%error()
!   call solver%destroy()                                  ! before MPI_Finalize
!
! Compile this file with the program and link with -lziggurat_mpi. The rows of a rank follow those
! of the previous rank; indices are counted from 1, and columns are global. All ranks call create,
! setup, update_values, solve, apply and destroy; the other procedures concern the calling rank.
! Threads: call ziggurat_mpi_set_threads(2) before the first create.
!
! status is one of the numbers below, the same on all ranks; without that argument, a failure stops
! the program with the library's sentence. A variable that goes out of scope destroys its solver,
! which has to happen on all ranks. Variables of the main program never go out of scope.
!
! Statuses and reports are those of the module ziggurat, for one process. A program that uses both
! takes only the solver of that one: use ziggurat, only: ziggurat_solver
module ziggurat_mpi
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  private

  integer, parameter, public :: ZIGGURAT_OK = 0, ZIGGURAT_ARGUMENT = 1, ZIGGURAT_NOT_CONVERGED = 2, &
    ZIGGURAT_ORDER = 3, ZIGGURAT_SETUP = 4, ZIGGURAT_BUSY = 5, ZIGGURAT_FILE = 6, ZIGGURAT_INTERNAL = 7

  ! How a solve went. Seconds are those of the calling rank.
  type, public, bind(c) :: ziggurat_report
    integer(c_int64_t) :: iterations
    real(c_double) :: relative_residual
    real(c_double) :: left_out
    real(c_double) :: setup_seconds
    real(c_double) :: solve_seconds
    integer(c_int64_t) :: levels
    real(c_double) :: operator_complexity
    character(kind=c_char) :: stop_reason(32)
  end type

  type, public :: ziggurat_mpi_solver
    private
    type(c_ptr) :: handle = c_null_ptr
    logical :: misfit = .false. ! the last call had vectors of wrong sizes on this rank
  contains
    procedure :: create, destroy
    procedure :: set, set_block_size, set_coordinates, set_near_null_space
    procedure, private :: setup_i32, setup_i64
    generic :: setup => setup_i32, setup_i64
    procedure :: update_values, solve, apply, error, describe
    final :: finish
  end type

  public :: ziggurat_mpi_set_threads

  interface
    integer(c_int) function c_set_threads(threads) bind(c, name="ziggurat_mpi_set_threads")
      import c_int, c_int64_t
      integer(c_int64_t), value :: threads
    end function
    type(c_ptr) function c_create(comm) bind(c, name="ziggurat_mpi_solver_create_f")
      import c_ptr, c_int
      integer(c_int), value :: comm
    end function
    subroutine c_destroy(solver) bind(c, name="ziggurat_mpi_solver_destroy")
      import c_ptr
      type(c_ptr), intent(inout) :: solver
    end subroutine
    type(c_ptr) function c_error(solver) bind(c, name="ziggurat_mpi_solver_error")
      import c_ptr
      type(c_ptr), value :: solver
    end function
    integer(c_int) function c_set_option(solver, key, value) bind(c, name="ziggurat_mpi_solver_set_option")
      import c_ptr, c_int, c_char
      type(c_ptr), value :: solver
      character(kind=c_char), intent(in) :: key(*), value(*)
    end function
    integer(c_int) function c_set_block_size(solver, block_size) &
        bind(c, name="ziggurat_mpi_solver_set_block_size")
      import c_ptr, c_int, c_int64_t
      type(c_ptr), value :: solver
      integer(c_int64_t), value :: block_size
    end function
    integer(c_int) function c_set_coordinates(solver, dimension, points, coordinates) &
        bind(c, name="ziggurat_mpi_solver_set_coordinates")
      import c_ptr, c_int, c_int64_t, c_double
      type(c_ptr), value :: solver
      integer(c_int64_t), value :: dimension, points
      real(c_double), intent(in) :: coordinates(*)
    end function
    integer(c_int) function c_set_near_null_space(solver, vectors, rows_here, values) &
        bind(c, name="ziggurat_mpi_solver_set_near_null_space")
      import c_ptr, c_int, c_int64_t, c_double
      type(c_ptr), value :: solver
      integer(c_int64_t), value :: vectors, rows_here
      real(c_double), intent(in) :: values(*)
    end function
    integer(c_int) function c_setup_i32(solver, rows_here, row_ptr, columns, values, base) &
        bind(c, name="ziggurat_mpi_solver_setup_i32")
      import c_ptr, c_int, c_int32_t, c_int64_t, c_double
      type(c_ptr), value :: solver
      integer(c_int64_t), value :: rows_here
      integer(c_int32_t), intent(in) :: row_ptr(*), columns(*)
      real(c_double), intent(in) :: values(*)
      integer(c_int), value :: base
    end function
    integer(c_int) function c_setup_i64(solver, rows_here, row_ptr, columns, values, base) &
        bind(c, name="ziggurat_mpi_solver_setup_i64")
      import c_ptr, c_int, c_int64_t, c_double
      type(c_ptr), value :: solver
      integer(c_int64_t), value :: rows_here
      integer(c_int64_t), intent(in) :: row_ptr(*), columns(*)
      real(c_double), intent(in) :: values(*)
      integer(c_int), value :: base
    end function
    integer(c_int) function c_update_values(solver, entries_here, values) &
        bind(c, name="ziggurat_mpi_solver_update_values")
      import c_ptr, c_int, c_int64_t, c_double
      type(c_ptr), value :: solver
      integer(c_int64_t), value :: entries_here
      real(c_double), intent(in) :: values(*)
    end function
    integer(c_int) function c_solve(solver, b, x, use_guess, report) bind(c, name="ziggurat_mpi_solver_solve")
      import c_ptr, c_int, ziggurat_report
      type(c_ptr), value :: solver, b, x
      integer(c_int), value :: use_guess
      type(ziggurat_report), intent(out) :: report
    end function
    integer(c_int) function c_apply(solver, r, z) bind(c, name="ziggurat_mpi_solver_apply")
      import c_ptr, c_int
      type(c_ptr), value :: solver, r, z
    end function
    integer(c_int64_t) function c_rows(solver) bind(c, name="ziggurat_mpi_solver_rows")
      import c_ptr, c_int64_t
      type(c_ptr), value :: solver
    end function
    integer(c_size_t) function c_describe(solver, buffer, room) bind(c, name="ziggurat_mpi_solver_describe")
      import c_ptr, c_size_t, c_char
      type(c_ptr), value :: solver
      character(kind=c_char), intent(out) :: buffer(*)
      integer(c_size_t), value :: room
    end function
    integer(c_size_t) function c_strlen(text) bind(c, name="strlen")
      import c_ptr, c_size_t
      type(c_ptr), value :: text
    end function
  end interface

contains

  ! Number of threads of this rank, for all its solvers; 0, as without a call, for the rule of
  ! ziggurat_mpi.h. To be called before the first create.
  subroutine ziggurat_mpi_set_threads(threads, status)
    integer, intent(in) :: threads
    integer, intent(out), optional :: status
    type(ziggurat_mpi_solver) :: none
    call done(none, c_set_threads(int(threads, c_int64_t)), status)
  end subroutine

  ! Makes a solver with default options on a duplicate of comm, an integer handle of MPI. An earlier
  ! solver of this variable is destroyed.
  subroutine create(self, comm, status)
    class(ziggurat_mpi_solver), intent(inout) :: self
    integer, intent(in) :: comm
    integer, intent(out), optional :: status
    call c_destroy(self%handle)
    self%handle = c_create(int(comm, c_int))
    call done(self, merge(ZIGGURAT_OK, ZIGGURAT_ARGUMENT, c_associated(self%handle)), status)
  end subroutine

  ! Frees the solver. All ranks call it, before MPI_Finalize.
  subroutine destroy(self)
    class(ziggurat_mpi_solver), intent(inout) :: self
    call c_destroy(self%handle)
  end subroutine

  ! An option by its key, such as 'stopping.rtol' and '1e-6'. Setup and solve refuse options that
  ! differ between ranks.
  subroutine set(self, key, value, status)
    class(ziggurat_mpi_solver), intent(inout) :: self
    character(*), intent(in) :: key, value
    integer, intent(out), optional :: status
    call done(self, c_set_option(self%handle, key // c_null_char, value // c_null_char), status)
  end subroutine

  subroutine set_block_size(self, block_size, status)
    class(ziggurat_mpi_solver), intent(inout) :: self
    integer, intent(in) :: block_size
    integer, intent(out), optional :: status
    call done(self, c_set_block_size(self%handle, int(block_size, c_int64_t)), status)
  end subroutine

  ! One column per node or per unknown of this rank.
  subroutine set_coordinates(self, coordinates, status)
    class(ziggurat_mpi_solver), intent(inout) :: self
    real(c_double), intent(in) :: coordinates(:, :)
    integer, intent(out), optional :: status
    call done(self, c_set_coordinates(self%handle, size(coordinates, 1, c_int64_t), &
      size(coordinates, 2, c_int64_t), coordinates), status)
  end subroutine

  ! One column per vector, one row per row of this rank.
  subroutine set_near_null_space(self, vectors, status)
    class(ziggurat_mpi_solver), intent(inout) :: self
    real(c_double), intent(in) :: vectors(:, :)
    integer, intent(out), optional :: status
    call done(self, c_set_near_null_space(self%handle, size(vectors, 2, c_int64_t), &
      size(vectors, 1, c_int64_t), vectors), status)
  end subroutine

  subroutine setup_i32(self, row_ptr, columns, values, status)
    class(ziggurat_mpi_solver), intent(inout) :: self
    integer(c_int32_t), intent(in) :: row_ptr(:), columns(:)
    real(c_double), intent(in) :: values(:)
    integer, intent(out), optional :: status
    call done(self, c_setup_i32(self%handle, size(row_ptr, kind=c_int64_t) - 1, row_ptr, columns, values, 1), &
      status)
  end subroutine

  subroutine setup_i64(self, row_ptr, columns, values, status)
    class(ziggurat_mpi_solver), intent(inout) :: self
    integer(c_int64_t), intent(in) :: row_ptr(:), columns(:)
    real(c_double), intent(in) :: values(:)
    integer, intent(out), optional :: status
    call done(self, c_setup_i64(self%handle, size(row_ptr, kind=c_int64_t) - 1, row_ptr, columns, values, 1), &
      status)
  end subroutine

  ! New values for the rows of this rank, in the order of setup.
  subroutine update_values(self, values, status)
    class(ziggurat_mpi_solver), intent(inout) :: self
    real(c_double), intent(in) :: values(:)
    integer, intent(out), optional :: status
    call done(self, c_update_values(self%handle, size(values, kind=c_int64_t), values), status)
  end subroutine

  ! Solves A x = b from zero, or from x if use_guess is true on all ranks.
  subroutine solve(self, b, x, status, report, use_guess)
    class(ziggurat_mpi_solver), intent(inout) :: self
    real(c_double), intent(in), contiguous, target :: b(:)
    real(c_double), intent(inout), contiguous, target :: x(:)
    integer, intent(out), optional :: status
    type(ziggurat_report), intent(out), optional :: report
    logical, intent(in), optional :: use_guess
    type(ziggurat_report) :: here
    integer(c_int) :: guess, found
    integer(c_int64_t) :: rows
    guess = 0
    if (present(use_guess)) guess = merge(1, 0, use_guess)
    rows = c_rows(self%handle)
    found = c_solve(self%handle, address(b, rows), address(x, rows), guess, here)
    if (present(report)) report = here
    call done(self, found, status, fit(b, rows) .and. fit(x, rows))
  end subroutine

  ! One multigrid cycle: z = M r.
  subroutine apply(self, r, z, status)
    class(ziggurat_mpi_solver), intent(inout) :: self
    real(c_double), intent(in), contiguous, target :: r(:)
    real(c_double), intent(inout), contiguous, target :: z(:)
    integer, intent(out), optional :: status
    integer(c_int) :: found
    integer(c_int64_t) :: rows
    rows = c_rows(self%handle)
    found = c_apply(self%handle, address(r, rows), address(z, rows))
    call done(self, found, status, fit(r, rows) .and. fit(z, rows))
  end subroutine

  ! The reason why the last call failed.
  function error(self) result(text)
    class(ziggurat_mpi_solver), intent(in) :: self
    character(:), allocatable :: text
    if (self%misfit) then
      text = 'vectors must have as many elements as this rank has rows'
    else
      text = from_c(c_error(self%handle))
    end if
  end function

  ! The solver's choices, and its levels over all ranks.
  function describe(self) result(text)
    class(ziggurat_mpi_solver), intent(in) :: self
    character(:), allocatable :: text
    character(kind=c_char) :: none(1)
    integer(c_size_t) :: length
    length = c_describe(self%handle, none, 0_c_size_t)
    allocate (character(length + 1) :: text)
    length = c_describe(self%handle, text, length + 1)
    text = text(:length)
  end function

  ! The variable goes out of scope.
  subroutine finish(self)
    type(ziggurat_mpi_solver), intent(inout) :: self
    call c_destroy(self%handle)
  end subroutine

  ! Whether a vector has as many elements as this rank has rows. Without a matrix, the library says
  ! what is missing.
  pure logical function fit(vector, rows)
    real(c_double), intent(in) :: vector(:)
    integer(c_int64_t), intent(in) :: rows
    fit = rows == 0 .or. size(vector, kind=c_int64_t) == rows
  end function

  ! The address of a vector, or null if it does not fit: then the library refuses it on all ranks. A
  ! rank that returned without the call would keep the others waiting.
  type(c_ptr) function address(vector, rows)
    real(c_double), intent(in), contiguous, target :: vector(:)
    integer(c_int64_t), intent(in) :: rows
    address = c_null_ptr
    if (rows > 0 .and. fit(vector, rows)) address = c_loc(vector)
  end function

  subroutine done(self, found, status, vectors_fit)
    class(ziggurat_mpi_solver), intent(inout) :: self
    integer(c_int), intent(in) :: found
    integer, intent(out), optional :: status
    logical, intent(in), optional :: vectors_fit
    self%misfit = .false.
    if (present(vectors_fit)) self%misfit = .not. vectors_fit
    if (present(status)) then
      status = found
    else if (found /= ZIGGURAT_OK) then
      write (error_unit, '(2a)') 'ziggurat: ', self%error()
      error stop 1
    end if
  end subroutine

  function from_c(pointer) result(text)
    type(c_ptr), intent(in) :: pointer
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer(c_size_t) :: k, length
    length = c_strlen(pointer)
    call c_f_pointer(pointer, letters, [length])
    allocate (character(length) :: text)
    do k = 1, length
      text(k:k) = letters(k)
    end do
  end function

end module
