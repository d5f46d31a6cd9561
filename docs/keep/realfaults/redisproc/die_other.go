//go:build !unix

package redisproc

import (
	"os"
	"syscall"
)

// DieWithParent changes nothing here.
func DieWithParent() *syscall.SysProcAttr { return nil }

// SignalGroup ends a child.
func SignalGroup(child *os.Process, _ os.Signal) error { return child.Kill() }
