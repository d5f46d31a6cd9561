//go:build unix && !linux

package redisproc

import "syscall"

// DieWithParent gives a child its own process group. Other than on Linux, it outlives a
// parent that is killed with SIGKILL.
func DieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
