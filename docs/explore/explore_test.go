package main

import (
	"fmt"
	"os"
	"testing"
	"time"
)

func TestX(t *testing.T) {
	for _, f := range faults {
		if p := os.Getenv("F"); p != "" && p != f.id {
			continue
		}
		for _, s := range steps {
			if s.n == 8 || f.needs != nil && !f.needs(s) {
				continue
			}
			if p := os.Getenv("S"); p != "" && p != fmt.Sprint(s.n) {
				continue
			}
			inLab(t, s, f, 2, func(l *lab) {
				start := realNow()
				c := l.cell()
				d := realNow() - start
				kinds := ""
				for _, b := range c.Bad {
					kinds += string(b.Kind)
				}
				fmt.Printf("%-14s %d %5d %-8s %v\n", f.id, s.n, c.Schedules, kinds, time.Duration(d))
				if os.Getenv("V") != "" {
					for _, b := range c.Bad {
						fmt.Printf("%s: %s\n%s\n", b.Kind, b.ID, b.Story)
					}
				}
			})
		}
	}
}
