package main

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

func TestM(t *testing.T) {
	at := func(k string, d int) int {
		if n, err := strconv.Atoi(os.Getenv(k)); err == nil {
			return n
		}
		return d
	}
	s := steps[at("S", 8)-1]
	start := time.Now()
	inLab(t, s, job{Step: s.n, Fault: os.Getenv("F"), Clients: at("C", 2), Nodes: at("N", s.nodes), Bound: at("B", -1), Once: os.Getenv("O") != ""}, func(l *lab) {
		c := l.cell()
		fmt.Println("RESULT", c.Job, c.Schedules, c.Kinds)
	})
	fmt.Println(time.Since(start))
}
