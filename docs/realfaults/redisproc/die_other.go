//go:build !linux

package redisproc

import "syscall"

// DieWithParent is for Linux. Elsewhere children outlive a parent that is killed with SIGKILL.
func DieWithParent() *syscall.SysProcAttr { return nil }
