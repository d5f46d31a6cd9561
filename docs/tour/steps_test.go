package main

import (
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

func TestStories(t *testing.T) {
	const src = `package redislock

import "testing"

func TestMain(m *testing.M) {}

func TestSecond_ComesFirst(t *testing.T) {}

func helper(t *testing.T) {}

// TestControl shows what the lock is for.
//
// Green before too: the lock has no part in it.
func TestControl(t *testing.T) {}

// TestNoControl speaks of Green before too: in the middle of a line.
func TestNoControl(t *testing.T) {}

func Testify(t *testing.T) {}
func (l *lab) TestMethod(t *testing.T) {}
func TestTwo(t *testing.T, x int) {}
func BenchmarkX(b *testing.B) {}
func ExampleX() {}
func Test_under(t *testing.T) {}
`
	want := []story{{"TestSecond_ComesFirst", false}, {"TestControl", true}, {"TestNoControl", false}, {"Test_under", false}}
	for _, text := range []string{src, strings.ReplaceAll(src, "\n", "\r\n")} {
		f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if got := stories(f); !slices.Equal(got, want) {
			t.Errorf("stories %v, want %v", got, want)
		}
	}
}

func TestSteps_AreComplete(t *testing.T) {
	for i, s := range steps {
		if s.n != i+1 {
			t.Errorf("step %d stands at place %d", s.n, i+1)
		}
		for name, text := range map[string]string{"dir": s.dir, "title": s.title, "lock": s.lock, "fresh": s.fresh,
			"file": s.file, "guarantee": s.guarantee, "broken": s.broken} {
			if text == "" {
				t.Errorf("step %d has no %s", s.n, name)
			}
		}
		if want := s.n - 1; before(s).n != want {
			t.Errorf("the step before %d is %d", s.n, before(s).n)
		}
	}
	if before(steps[0]).dir != step0.dir {
		t.Errorf("step 1 comes after %s", before(steps[0]).dir)
	}
}

func TestPattern(t *testing.T) {
	if got := pattern(story{name: "TestA"}, story{name: "TestB_c"}); got != "^(TestA|TestB_c)$" {
		t.Errorf("pattern %s", got)
	}
}

func TestDeclaresModule(t *testing.T) {
	for mod, want := range map[string]bool{
		"module " + modulePath + "\n\ngo 1.26\n":       true,
		"// text\r\nmodule " + modulePath + "\r\n":     true,
		"module " + modulePath + "/docs/bench\n":       false,
		"module example.com/other\n":                   false,
		"go 1.26\nrequire " + modulePath + " v1.0.0\n": false,
		"": false,
	} {
		if got := declaresModule(mod); got != want {
			t.Errorf("%q: %v, want %v", mod, got, want)
		}
	}
}

func TestFilesOfAStep(t *testing.T) {
	for _, tt := range []struct {
		step                     int
		red, beginning, all, not string
	}{
		{1, "1_mutual_exclusion_test.go", "1_mutual_exclusion_test.go", "1_mutual_exclusion_test.go", "2_crashed_holder_test.go"},
		{6, "6_reentrant_test.go, 6_waiting_test.go", "6_reentrant_test.go, 6_waiting_test.go", "6_reentrant_test.go, 6_waiting_test.go", "7_lost_test.go"},
		{7, "7_watchdog_test.go", "7_watchdog_test.go, 7_lost_test.go", "6_waiting_test.go, 7_watchdog_test.go, 7_lost_test.go", "8_validity_test.go"},
		{8, "8_failover_test.go", "8_failover_test.go, 8_validity_test.go", "6_reentrant_test.go, 7_watchdog_test.go, 7_lost_test.go, 8_failover_test.go, 8_validity_test.go", "6_waiting_test.go"},
	} {
		s := steps[tt.step-1]
		if got := nameList(redFiles(s)); got != tt.red {
			t.Errorf("step %d: red files %s, want %s", s.n, got, tt.red)
		}
		if got := nameList(beginning(s)); got != tt.beginning {
			t.Errorf("step %d: begins with %s, want %s", s.n, got, tt.beginning)
		}
		got := nameList(guarantees(s))
		if !strings.HasPrefix(got, "1_mutual_exclusion_test.go") || !strings.HasSuffix(got, tt.all) {
			t.Errorf("step %d: guarantees %s, want %s at the end", s.n, got, tt.all)
		}
		if strings.Contains(got, tt.not) {
			t.Errorf("step %d: guarantees %s, and not %s", s.n, got, tt.not)
		}
	}
}
