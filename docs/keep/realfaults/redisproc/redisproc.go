//go:build unix

// Package redisproc starts real Redis processes on free loopback ports, and stops them.
package redisproc

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// A Process is one redis-server or redis-sentinel.
type Process struct {
	Addr string

	args []string
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// Server starts a redis-server without persistence. What it writes is in dir.
func Server(dir string, options ...string) (*Process, error) {
	return start("redis-server", dir, append([]string{"--save", "", "--appendonly", "no"}, options...))
}

// Sentinel starts a redis-sentinel with this configuration, which it keeps in dir and
// changes as it goes.
func Sentinel(dir, config string) (*Process, error) {
	file := filepath.Join(dir, "sentinel.conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, err
	}
	return start("redis-sentinel", dir, []string{file})
}

// start tries another port when another process was faster to take one that was free.
func start(program, dir string, args []string) (p *Process, err error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("install %s (Debian, Ubuntu: apt-get install %[1]s; macOS: brew install redis): %w", program, err)
	}
	for range 3 {
		p = new(Process)
		if p.Addr, err = freeAddr(); err != nil {
			return nil, err
		}
		_, port, _ := net.SplitHostPort(p.Addr)
		p.args = slices.Concat([]string{path}, args, []string{"--port", port, "--bind", "127.0.0.1", "--dir", dir})
		if err = p.Start(); err == nil {
			return p, nil
		}
	}
	return nil, err
}

// freeAddr returns an address that another process may take first.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// Start starts a process that was killed again: with nothing in memory, at the same address.
func (p *Process) Start() error {
	p.cmd = exec.Command(p.args[0], p.args[1:]...)
	p.cmd.SysProcAttr = DieWithParent()
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.done = make(chan struct{})
	go func() {
		p.cmd.Wait()
		close(p.done)
	}()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		select {
		case <-p.done:
			return fmt.Errorf("%v ended at once", p.args)
		default:
		}
		if p.answers() {
			return nil
		}
	}
	p.Kill()
	return fmt.Errorf("%v does not answer", p.args)
}

// answers reports whether this process answers at its address. Another one may have taken
// the port before it, and would answer as well until this one has noticed.
func (p *Process) answers() bool {
	conn, err := net.DialTimeout("tcp", p.Addr, time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Second))
	fmt.Fprint(conn, "INFO server\r\n")
	answer := make([]byte, 4096) // it is shorter, and comes at once
	n, _ := conn.Read(answer)
	return bytes.Contains(answer[:n], fmt.Appendf(nil, "process_id:%d\r\n", p.cmd.Process.Pid))
}

// Signal sends a signal, for example SIGSTOP.
func (p *Process) Signal(sig os.Signal) error { return p.cmd.Process.Signal(sig) }

// Kill ends the process with SIGKILL, also one that is stopped, and waits until it is gone.
func (p *Process) Kill() {
	p.cmd.Process.Kill()
	<-p.done
}
