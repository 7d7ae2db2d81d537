! SPDX-License-Identifier: MIT
! heavy does twice light's work, 51 frames of deep below, in two threads of OpenMP.
module zoo
  integer, parameter :: k = 8
contains
  recursive integer(k) function deep(d, n) result(x)
    integer(k), intent(in) :: d, n
    if (d > 0) then; x = ishft(deep(d - 1, n), -1); else; x = ieor(heavy(n), light(n)); end if
  end function
  integer(k) function heavy(n)
    integer(k), intent(in) :: n
    heavy = ishft(spin(2 * n), -1)
  end function
  integer(k) function light(n)
    integer(k), intent(in) :: n
    light = ishft(spin(n), -2)
  end function
  integer(k) function spin(n)
    integer(k), intent(in) :: n
    integer(k) :: i
    spin = n
    do i = 1, n; spin = spin * 1103515245_k + i; end do
  end function
end module
program split
  use zoo
  integer(k) :: i, total = 0
  !$omp parallel do reduction(+:total)
  do i = 1, 400; total = total + deep(50_k, 700000_k + mod(i, 97_k) * 7000_k); end do
  print *, total
end program
