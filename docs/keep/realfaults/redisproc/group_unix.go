//go:build unix

package redisproc

import (
	"os"
	"syscall"
)

// SignalGroup sends a signal to a child that was started with DieWithParent, and to its children.
func SignalGroup(child *os.Process, sig os.Signal) error {
	return syscall.Kill(-child.Pid, sig.(syscall.Signal))
}
