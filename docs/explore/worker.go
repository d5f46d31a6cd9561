package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The bubbles of testing/synctest exist in tests only, so the program runs itself as a test: one process for each CPU,
// which has the CPU to itself. That is also faster than one process for all: in a bubble, one goroutine at a time runs.

const workerEnv = "REDISLOCK_EXPLORE_WORKER"

// An answer is a cell, or the timeline of one schedule.
type answer struct {
	Cell  cell
	Story string
}

// An order is a cell to explore, or one schedule of it to replay.
type order struct {
	Job    job
	Replay bool
	Path   string
}

// work answers the orders on standard input.
func work() {
	out, in := os.Stdout, json.NewDecoder(os.Stdin)
	os.Args = os.Args[:1]
	os.Stdout = os.Stderr // the testing package has something to say at the end
	testing.Main(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "explore", F: func(t *testing.T) {
		for {
			var o order
			if in.Decode(&o) != nil {
				out.Close()
				os.Exit(0)
			}
			json.NewEncoder(out).Encode(o.carryOut(t))
		}
	}}}, nil, nil)
}

func (o order) carryOut(t *testing.T) (a answer) {
	inLab(t, steps[o.Job.Step-1], o.Job, func(l *lab) {
		if o.Replay {
			a.Story = l.play(follow(o.Path)).story.String()
			return
		}
		a.Cell = l.cell()
	})
	return a
}

// A worker is a process that explores.
type worker struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

func startWorker() (*worker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), workerEnv+"=1", "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &worker{cmd, in, json.NewDecoder(bufio.NewReader(out))}, cmd.Start()
}

func (w *worker) do(o order) (a answer, err error) {
	if err := json.NewEncoder(w.in).Encode(o); err != nil {
		return a, err
	}
	if err := w.out.Decode(&a); err != nil {
		return a, fmt.Errorf("%v: the explorer broke", o.Job)
	}
	return a, nil
}

func (w *worker) stop() {
	w.in.Close()
	w.cmd.Wait()
}

// explore runs the jobs on all CPUs and prints each row of the matrix when it is complete.
func explore(jobs []job, out io.Writer) ([]cell, error) {
	start := time.Now()
	next := make(chan int, len(jobs))
	for i := range jobs {
		next <- i
	}
	close(next)
	cells := make([]cell, len(jobs))
	ready := make([]chan error, len(jobs))
	for i := range ready {
		ready[i] = make(chan error, 1)
	}
	for range runtime.NumCPU() {
		w, err := startWorker()
		if err != nil {
			return nil, err
		}
		defer w.stop()
		go func() {
			for i := range next {
				a, err := w.do(order{Job: jobs[i]})
				cells[i] = a.Cell
				ready[i] <- err
			}
		}()
	}
	total := 0
	for i, j := range jobs {
		if i == 0 || j.Fault != jobs[i-1].Fault {
			f, _ := faultNamed(j.Fault)
			fmt.Fprintf(out, "%-58s", f.title)
		}
		if err := <-ready[i]; err != nil {
			return nil, err
		}
		total += cells[i].Schedules
		verdict := cells[i].Kinds
		if verdict == "" {
			verdict = fmt.Sprint(cells[i].Schedules)
		}
		fmt.Fprintf(out, " %02d:%-5s", j.Step, verdict)
		if i == len(jobs)-1 || jobs[i+1].Fault != j.Fault {
			fmt.Fprintln(out)
		}
	}
	took := time.Since(start)
	fmt.Fprintf(out, "%d schedules in %.0f s, %.0f per second\n", total, took.Seconds(), float64(total)/took.Seconds())
	return cells, nil
}

// replay prints one schedule.
func replay(id string) error {
	j, path, err := parseID(id)
	if err != nil {
		return err
	}
	w, err := startWorker()
	if err != nil {
		return err
	}
	defer w.stop()
	a, err := w.do(order{Job: j, Replay: true, Path: path})
	fmt.Print(a.Story)
	return err
}

// parseID is the reverse of job.String and world.id: 05/pause/abFb, 08/restart/3clients/5nodes/a1a2.
func parseID(id string) (j job, path string, err error) {
	part := strings.Split(id, "/")
	if len(part) < 3 {
		return j, "", fmt.Errorf("%q is no schedule; one is 05/pause/aFb", id)
	}
	if _, err := fmt.Sscan(strings.TrimLeft(part[0], "0"), &j.Step); err != nil || j.Step < 1 || j.Step > len(steps) {
		return j, "", fmt.Errorf("%q: there is no step %s", id, part[0])
	}
	if _, ok := faultNamed(part[1]); !ok {
		return j, "", fmt.Errorf("%q: there is no fault %q; the faults are:\n%s", id, part[1], faultList())
	}
	j.Fault, j.Clients, j.Nodes, j.Bound = part[1], 2, steps[j.Step-1].nodes, -1
	for _, p := range part[2 : len(part)-1] {
		if n, ok := strings.CutSuffix(p, "clients"); ok {
			j.Clients, _ = strconv.Atoi(n)
		}
		j.Once = j.Once || p == "once"
		if n, ok := strings.CutSuffix(p, "nodes"); ok {
			j.Nodes, _ = strconv.Atoi(n)
		}
	}
	if j.Clients < 1 || j.Clients > len(names)-1 || j.Nodes < 1 || j.Nodes > 9 {
		return j, "", fmt.Errorf("%q: 1 to %d clients and 1 to 9 nodes, please", id, len(names)-1)
	}
	return j, part[len(part)-1], nil
}
