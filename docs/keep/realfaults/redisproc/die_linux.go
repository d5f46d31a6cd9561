package redisproc

import "syscall"

// DieWithParent makes a child end with this process, however that ends. A group of its
// own keeps a Ctrl-C at the terminal from it, so that those who use it can end first.
func DieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
