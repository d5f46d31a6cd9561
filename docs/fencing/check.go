package fencing

import "fmt"

// The check: all that fencing adds to a resource. unfenced/check.go leaves it out.

// compare returns ErrStaleToken, with both numbers, if token is lower than highest.
func compare(token, highest int64) error {
	if token < highest {
		return fmt.Errorf("%w: %d is lower than %d, the highest seen",
			ErrStaleToken, token, highest)
	}
	return nil
}

// notStale is the same comparison in a script. A resource that was never created has no
// fence.
const notStale = `fence and tonumber(fence) <= tonumber(ARGV[1])`

// compareMarks returns ErrOvertaken if token is not the mark. Marks do not tell which of
// two is the later one.
func compareMarks(token, mark string) error {
	if token != mark {
		return fmt.Errorf("%w: mark is %q, not %q", ErrOvertaken, mark, token)
	}
	return nil
}
