package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// courseFiles is a repository without violations: each step's guarantee and all earlier ones, and a lab.
func courseFiles() fstest.MapFS {
	files := fstest.MapFS{}
	add := func(dir, file, text string) {
		files[dir+"/"+file] = &fstest.MapFile{Data: []byte(text)}
	}
	for _, s := range steps {
		add(s.dir, lockFile, "the lock of "+s.dir)
		add(s.dir, newFile, "the constructor of "+s.dir)
		add(s.dir, "README.md", s.title)
		add(s.dir, "lab_test.go", "package redislock\n")
		add(s.dir, ".editor.swp", s.dir)
		for _, f := range guarantees(s) {
			add(s.dir, f.name, "line one\nline two\n")
		}
	}
	add(epilogue.dir, "lab_test.go", "package fencing\n")
	add(epilogue.dir, "new_test.go", "package fencing\n")
	return files
}

func put(t *testing.T, root, dir, file, text string) {
	t.Helper()
	name := filepath.Join(root, filepath.FromSlash(dir), filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, root, dir, file string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(root, dir, file)); err != nil {
		t.Fatal(err)
	}
}

func TestCopies_Equal(t *testing.T) {
	n, problems, err := checkCopies(courseFiles())
	if err != nil || len(problems) > 0 {
		t.Fatalf("problems %q, error %v", problems, err)
	}
	if want := 8 + 36 + 2 + 2 + 1 + 1; n != want { // labs, guarantees, waiting, lost, validity, the epilogue's lab
		t.Errorf("%d files compared, want %d", n, want)
	}
}

func TestCopies_Violations(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(files fstest.MapFS)
		want  []string
	}{
		{"a copy was changed", func(files fstest.MapFS) {
			files["step03_atomic_set/2_crashed_holder_test.go"] = &fstest.MapFile{Data: []byte("line one\nline 2\n")}
		}, []string{
			"2_crashed_holder_test.go in step03_atomic_set differs from that in step02_expire, at line 2",
			"2_crashed_holder_test.go in step04_owner_token differs from that in step03_atomic_set, at line 2",
		}},
		{"changed from a step on", func(files fstest.MapFS) {
			files["step07_watchdog/lab_test.go"] = &fstest.MapFile{Data: []byte("package redislock\n\n")}
			files["step08_redlock/lab_test.go"] = &fstest.MapFile{Data: []byte("package redislock\n\n")}
		}, []string{
			"lab_test.go in step07_watchdog differs from that in step06_reentrant, at line 2",
			"docs/fencing/lab_test.go differs from that in step08_redlock, at line 2",
		}},
		{"the epilogue's lab was changed", func(files fstest.MapFS) {
			files["docs/fencing/lab_test.go"] = &fstest.MapFile{Data: []byte("package fencing\n// more\n")}
		}, []string{
			"docs/fencing/lab_test.go differs from that in step08_redlock, at line 2",
		}},
		{"the epilogue has a lab file of its own", func(files fstest.MapFS) {
			files["docs/fencing/lab_more_test.go"] = &fstest.MapFile{Data: []byte("package fencing\n")}
		}, []string{
			"docs/fencing/lab_more_test.go is no copy: step08_redlock has no such file",
		}},
		{"the epilogue is missing", func(files fstest.MapFS) {
			delete(files, "docs/fencing/lab_test.go")
		}, []string{
			"docs/fencing has no laboratory: lab_test.go is missing",
		}},
		{"only the line ends differ", func(files fstest.MapFS) {
			files["step08_redlock/lab_test.go"] = &fstest.MapFile{Data: []byte("package redislock\r\n")}
		}, []string{
			"lab_test.go in step08_redlock differs from that in step07_watchdog, at line 1",
			"docs/fencing/lab_test.go differs from that in step08_redlock, at line 1",
		}},
		{"a later step lacks a file", func(files fstest.MapFS) {
			delete(files, "step08_redlock/7_lost_test.go")
		}, []string{
			"7_lost_test.go is missing in step08_redlock: step07_watchdog has it",
		}},
		{"a step in between lacks a guarantee", func(files fstest.MapFS) {
			delete(files, "step05_lua_release/4_owner_release_test.go")
		}, []string{
			"4_owner_release_test.go is missing in step05_lua_release: step04_owner_token has it",
		}},
		{"a guarantee begins too early", func(files fstest.MapFS) {
			files["step07_watchdog/8_failover_test.go"] = &fstest.MapFile{Data: []byte("line one\nline two\n")}
		}, []string{
			"8_failover_test.go is in step07_watchdog: it begins in step08_redlock",
		}},
		{"a file beside the guarantee goes on too long", func(files fstest.MapFS) {
			files["step08_redlock/6_waiting_test.go"] = &fstest.MapFile{Data: []byte("other")}
		}, []string{
			"6_waiting_test.go is in step08_redlock: it ends with step07_watchdog",
		}},
		{"a file beside the guarantee is missing", func(files fstest.MapFS) {
			delete(files, "step07_watchdog/6_waiting_test.go")
		}, []string{
			"6_waiting_test.go is missing in step07_watchdog: step06_reentrant has it",
		}},
		{"a guarantee is missing in its own step", func(files fstest.MapFS) {
			delete(files, "step08_redlock/8_failover_test.go")
		}, []string{
			"8_failover_test.go is missing in step08_redlock, where it begins",
		}},
		{"a file below a folder", func(files fstest.MapFS) {
			files["step07_watchdog/testdata/x"] = &fstest.MapFile{Data: []byte("x")}
		}, []string{
			"testdata/x is missing in step08_redlock: step07_watchdog has it",
		}},
		{"a folder is missing", func(files fstest.MapFS) {
			maps.DeleteFunc(files, func(name string, _ *fstest.MapFile) bool { return strings.HasPrefix(name, "step08_redlock/") })
		}, []string{
			"the folder step08_redlock is missing",
			"8_failover_test.go is missing in step08_redlock, where it begins",
			"7_lost_test.go is missing in step08_redlock: step07_watchdog has it",
			"8_validity_test.go is missing in step08_redlock, where it begins",
		}},
	} {
		files := courseFiles()
		tt.spoil(files)
		_, problems, err := checkCopies(files)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		for _, want := range tt.want {
			if !slices.Contains(problems, want) {
				t.Errorf("%s: %q is not among the problems\n%s", tt.name, want, strings.Join(problems, "\n"))
			}
		}
		if tt.name != "a folder is missing" && len(problems) != len(tt.want) {
			t.Errorf("%s: problems\n%s", tt.name, strings.Join(problems, "\n"))
		}
	}
}

func TestRenameModule(t *testing.T) {
	got := string(renameModule([]byte("module a/b\n\ngo 1.26.0\n\nrequire x/module v1.0.0\n"), "example.com/app"))
	if want := "module example.com/app\n\ngo 1.26.0\n\nrequire x/module v1.0.0\n"; got != want {
		t.Errorf("go.mod is\n%s", got)
	}
}
