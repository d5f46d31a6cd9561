package fencing

import "fmt"

// The check: all that fencing adds to a resource. unfenced/check.go is the same without it.

// compare returns ErrStaleToken, with both numbers, if token is lower than highest.
func compare(token, highest int64) error {
	if token < highest {
		return fmt.Errorf("%w: %d is lower than %d, the highest seen",
			ErrStaleToken, token, highest)
	}
	return nil
}

// notStale is the same comparison in a script, where a resource that was never created
// has no fence.
const notStale = `fence and tonumber(fence) <= tonumber(ARGV[1])`

// compareMarks returns ErrOvertaken if token is not the mark. Which of two came later,
// they do not say.
func compareMarks(token, mark string) error {
	if token != mark {
		return fmt.Errorf("%w: the mark is %q, not %q", ErrOvertaken, mark, token)
	}
	return nil
}
