! Ziggurat for Fortran 2008: the functions of ziggurat.h as a type that owns its solver.
!
!   use ziggurat
!   type(ziggurat_solver) :: solver
!   call solver%setup(row_ptr, columns, values, status)    ! indices are counted from 1
!   call solver%solve(b, x, status)
!   if (status /= ZIGGURAT_OK) print *, solver%error()
!
! Compile this file with the program and link with -lziggurat. The solver is freed when its variable
! ends. status is one of the numbers below; without that argument, a failure stops the program with
! the library's sentence.
module ziggurat
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  private

  integer, parameter, public :: ZIGGURAT_OK = 0, ZIGGURAT_ARGUMENT = 1, ZIGGURAT_NOT_CONVERGED = 2, &
    ZIGGURAT_ORDER = 3, ZIGGURAT_SETUP = 4, ZIGGURAT_BUSY = 5, ZIGGURAT_FILE = 6, ZIGGURAT_INTERNAL = 7

  ! How a solve went.
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

  type, public :: ziggurat_solver
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: set, set_threads, set_block_size, set_coordinates, set_near_null_space
    procedure, private :: setup_i32, setup_i64
    generic :: setup => setup_i32, setup_i64
    procedure :: update_values, solve, solve_transposed, apply, error, describe
    final :: destroy
  end type

  interface
    type(c_ptr) function c_create() bind(c, name="ziggurat_create")
      import c_ptr
    end function
    subroutine c_destroy(solver) bind(c, name="ziggurat_destroy")
      import c_ptr
      type(c_ptr), intent(inout) :: solver
    end subroutine
    type(c_ptr) function c_error(solver) bind(c, name="ziggurat_error")
      import c_ptr
      type(c_ptr), value :: solver
    end function
    integer(c_int) function c_set_option(solver, key, value) bind(c, name="ziggurat_set_option")
      import c_ptr, c_int, c_char
      type(c_ptr), value :: solver
      character(kind=c_char), intent(in) :: key(*), value(*)
    end function
    integer(c_int) function c_set_threads(solver, threads) bind(c, name="ziggurat_set_threads")
      import c_ptr, c_int, c_int64_t
      type(c_ptr), value :: solver
      integer(c_int64_t), value :: threads
    end function
    integer(c_int) function c_set_block_size(solver, block_size) bind(c, name="ziggurat_set_block_size")
      import c_ptr, c_int, c_int64_t
      type(c_ptr), value :: solver
      integer(c_int64_t), value :: block_size
    end function
    integer(c_int) function c_set_coordinates(solver, dimension, points, coordinates) &
        bind(c, name="ziggurat_set_coordinates")
      import c_ptr, c_int, c_int64_t, c_double
      type(c_ptr), value :: solver
      integer(c_int64_t), value :: dimension, points
      real(c_double), intent(in) :: coordinates(*)
    end function
    integer(c_int) function c_set_near_null_space(solver, vectors, rows, values) &
        bind(c, name="ziggurat_set_near_null_space")
      import c_ptr, c_int, c_int64_t, c_double
      type(c_ptr), value :: solver
      integer(c_int64_t), value :: vectors, rows
      real(c_double), intent(in) :: values(*)
    end function
    integer(c_int) function c_setup_i32(solver, rows, row_ptr, columns, values, base) &
        bind(c, name="ziggurat_setup_i32")
      import c_ptr, c_int, c_int32_t, c_int64_t, c_double
      type(c_ptr), value :: solver
      integer(c_int64_t), value :: rows
      integer(c_int32_t), intent(in) :: row_ptr(*), columns(*)
      real(c_double), intent(in) :: values(*)
      integer(c_int), value :: base
    end function
    integer(c_int) function c_setup_i64(solver, rows, row_ptr, columns, values, base) &
        bind(c, name="ziggurat_setup_i64")
      import c_ptr, c_int, c_int64_t, c_double
      type(c_ptr), value :: solver
      integer(c_int64_t), value :: rows
      integer(c_int64_t), intent(in) :: row_ptr(*), columns(*)
      real(c_double), intent(in) :: values(*)
      integer(c_int), value :: base
    end function
    integer(c_int) function c_update_values(solver, entries, values) bind(c, name="ziggurat_update_values")
      import c_ptr, c_int, c_int64_t, c_double
      type(c_ptr), value :: solver
      integer(c_int64_t), value :: entries
      real(c_double), intent(in) :: values(*)
    end function
    integer(c_int) function c_solve(solver, b, x, use_guess, report) bind(c, name="ziggurat_solve")
      import c_ptr, c_int, c_double, ziggurat_report
      type(c_ptr), value :: solver
      real(c_double), intent(in) :: b(*)
      real(c_double), intent(inout) :: x(*)
      integer(c_int), value :: use_guess
      type(ziggurat_report), intent(out) :: report
    end function
    integer(c_int) function c_solve_transposed(solver, b, x, use_guess, report) &
        bind(c, name="ziggurat_solve_transposed")
      import c_ptr, c_int, c_double, ziggurat_report
      type(c_ptr), value :: solver
      real(c_double), intent(in) :: b(*)
      real(c_double), intent(inout) :: x(*)
      integer(c_int), value :: use_guess
      type(ziggurat_report), intent(out) :: report
    end function
    integer(c_int) function c_apply(solver, r, z) bind(c, name="ziggurat_apply")
      import c_ptr, c_int, c_double
      type(c_ptr), value :: solver
      real(c_double), intent(in) :: r(*)
      real(c_double), intent(out) :: z(*)
    end function
    integer(c_int64_t) function c_rows(solver) bind(c, name="ziggurat_rows")
      import c_ptr, c_int64_t
      type(c_ptr), value :: solver
    end function
    integer(c_size_t) function c_describe(solver, buffer, room) bind(c, name="ziggurat_describe")
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

  ! An option by its key, such as 'stopping.rtol' and '1e-6'.
  subroutine set(self, key, value, status)
    class(ziggurat_solver), intent(inout) :: self
    character(*), intent(in) :: key, value
    integer, intent(out), optional :: status
    call made(self)
    call done(self, c_set_option(self%handle, key // c_null_char, value // c_null_char), status)
  end subroutine

  subroutine set_threads(self, threads, status)
    class(ziggurat_solver), intent(inout) :: self
    integer, intent(in) :: threads
    integer, intent(out), optional :: status
    call made(self)
    call done(self, c_set_threads(self%handle, int(threads, c_int64_t)), status)
  end subroutine

  subroutine set_block_size(self, block_size, status)
    class(ziggurat_solver), intent(inout) :: self
    integer, intent(in) :: block_size
    integer, intent(out), optional :: status
    call made(self)
    call done(self, c_set_block_size(self%handle, int(block_size, c_int64_t)), status)
  end subroutine

  ! One column per node or per unknown.
  subroutine set_coordinates(self, coordinates, status)
    class(ziggurat_solver), intent(inout) :: self
    real(c_double), intent(in) :: coordinates(:, :)
    integer, intent(out), optional :: status
    call made(self)
    call done(self, c_set_coordinates(self%handle, size(coordinates, 1, c_int64_t), &
      size(coordinates, 2, c_int64_t), coordinates), status)
  end subroutine

  ! One column per vector.
  subroutine set_near_null_space(self, vectors, status)
    class(ziggurat_solver), intent(inout) :: self
    real(c_double), intent(in) :: vectors(:, :)
    integer, intent(out), optional :: status
    call made(self)
    call done(self, c_set_near_null_space(self%handle, size(vectors, 2, c_int64_t), &
      size(vectors, 1, c_int64_t), vectors), status)
  end subroutine

  subroutine setup_i32(self, row_ptr, columns, values, status)
    class(ziggurat_solver), intent(inout) :: self
    integer(c_int32_t), intent(in) :: row_ptr(:), columns(:)
    real(c_double), intent(in) :: values(:)
    integer, intent(out), optional :: status
    call made(self)
    call done(self, c_setup_i32(self%handle, size(row_ptr, kind=c_int64_t) - 1, row_ptr, columns, values, 1), &
      status)
  end subroutine

  subroutine setup_i64(self, row_ptr, columns, values, status)
    class(ziggurat_solver), intent(inout) :: self
    integer(c_int64_t), intent(in) :: row_ptr(:), columns(:)
    real(c_double), intent(in) :: values(:)
    integer, intent(out), optional :: status
    call made(self)
    call done(self, c_setup_i64(self%handle, size(row_ptr, kind=c_int64_t) - 1, row_ptr, columns, values, 1), &
      status)
  end subroutine

  subroutine update_values(self, values, status)
    class(ziggurat_solver), intent(inout) :: self
    real(c_double), intent(in) :: values(:)
    integer, intent(out), optional :: status
    call made(self)
    call done(self, c_update_values(self%handle, size(values, kind=c_int64_t), values), status)
  end subroutine

  ! Solves A x = b from zero, or from x if use_guess is true.
  subroutine solve(self, b, x, status, report, use_guess)
    class(ziggurat_solver), intent(inout) :: self
    real(c_double), intent(in) :: b(:)
    real(c_double), intent(inout) :: x(:)
    integer, intent(out), optional :: status
    type(ziggurat_report), intent(out), optional :: report
    logical, intent(in), optional :: use_guess
    call solve_either(self, .false., b, x, status, report, use_guess)
  end subroutine

  ! Solves transpose(A) x = b.
  subroutine solve_transposed(self, b, x, status, report, use_guess)
    class(ziggurat_solver), intent(inout) :: self
    real(c_double), intent(in) :: b(:)
    real(c_double), intent(inout) :: x(:)
    integer, intent(out), optional :: status
    type(ziggurat_report), intent(out), optional :: report
    logical, intent(in), optional :: use_guess
    call solve_either(self, .true., b, x, status, report, use_guess)
  end subroutine

  subroutine solve_either(self, transposed, b, x, status, report, use_guess)
    class(ziggurat_solver), intent(inout) :: self
    logical, intent(in) :: transposed
    real(c_double), intent(in) :: b(:)
    real(c_double), intent(inout) :: x(:)
    integer, intent(out), optional :: status
    type(ziggurat_report), intent(out), optional :: report
    logical, intent(in), optional :: use_guess
    type(ziggurat_report) :: here
    integer(c_int) :: guess, found
    call made(self)
    guess = 0
    if (present(use_guess)) guess = merge(1, 0, use_guess)
    if (.not. fit(self, size(b, kind=c_int64_t), size(x, kind=c_int64_t))) then
      call refused('b and x must have as many elements as the matrix has rows', status)
      return
    end if
    if (transposed) then
      found = c_solve_transposed(self%handle, b, x, guess, here)
    else
      found = c_solve(self%handle, b, x, guess, here)
    end if
    call done(self, found, status)
    if (present(report)) report = here
  end subroutine

  ! One multigrid cycle: z = M r.
  subroutine apply(self, r, z, status)
    class(ziggurat_solver), intent(inout) :: self
    real(c_double), intent(in) :: r(:)
    real(c_double), intent(out) :: z(:)
    integer, intent(out), optional :: status
    call made(self)
    if (.not. fit(self, size(r, kind=c_int64_t), size(z, kind=c_int64_t))) then
      call refused('r and z must have as many elements as the matrix has rows', status)
      return
    end if
    call done(self, c_apply(self%handle, r, z), status)
  end subroutine

  ! The reason why the last call failed.
  function error(self) result(text)
    class(ziggurat_solver), intent(in) :: self
    character(:), allocatable :: text
    text = from_c(c_error(self%handle))
  end function

  ! The solver's choices and levels.
  function describe(self) result(text)
    class(ziggurat_solver), intent(inout) :: self
    character(:), allocatable :: text
    character(kind=c_char) :: none(1)
    integer(c_size_t) :: length
    call made(self)
    length = c_describe(self%handle, none, 0_c_size_t)
    allocate (character(length + 1) :: text)
    length = c_describe(self%handle, text, length + 1)
    text = text(:length)
  end function

  ! Frees the solver.
  subroutine destroy(self)
    type(ziggurat_solver), intent(inout) :: self
    call c_destroy(self%handle)
  end subroutine

  ! A variable gets its solver with the first call.
  subroutine made(self)
    class(ziggurat_solver), intent(inout) :: self
    if (.not. c_associated(self%handle)) self%handle = c_create()
  end subroutine

  ! Whether two vectors have as many elements as the matrix has rows. Without a matrix, the library
  ! says what is missing.
  logical function fit(self, first, second)
    class(ziggurat_solver), intent(in) :: self
    integer(c_int64_t), intent(in) :: first, second
    integer(c_int64_t) :: rows
    rows = c_rows(self%handle)
    fit = rows == 0 .or. (first == rows .and. second == rows)
  end function

  subroutine done(self, found, status)
    class(ziggurat_solver), intent(in) :: self
    integer(c_int), intent(in) :: found
    integer, intent(out), optional :: status
    if (present(status)) then
      status = found
    else if (found /= ZIGGURAT_OK) then
      write (error_unit, '(2a)') 'ziggurat: ', self%error()
      error stop 1
    end if
  end subroutine

  subroutine refused(text, status)
    character(*), intent(in) :: text
    integer, intent(out), optional :: status
    if (present(status)) then
      status = ZIGGURAT_ARGUMENT
    else
      write (error_unit, '(2a)') 'ziggurat: ', text
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
