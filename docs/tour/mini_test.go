package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/story"
)

// The tests play a course in which nothing is locked. Each lock knows the number of its
// step, and a story of guarantee k fails on the locks before k. Its test harness leaves
// what the real one leaves: a row, and a verdict.

const miniLab = `package %[1]s

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

var real, through string

func limitHold() {}

func story(t *testing.T, k int) {
	t.Helper()
	_, variant, _ := strings.Cut(t.Name(), "/")
	row, verdict := fmt.Sprintf("{\"at\":100,\"who\":\"alice\",\"kind\":\"note\",\"text\":\"SET %%02d %%s\"}\n", at, variant), ""
	if at < k || at == %[2]d && through != "" {
		verdict = fmt.Sprintf("{\"kind\":\"verdict\",\"at\":200,\"text\":\"the lock of %%d lacks what %%d has\",\"expected\":\"nil\",\"got\":\"ErrNotHeld\"}\n", at, k)
	}
	os.WriteFile(t.ArtifactDir()+"/trace.jsonl", []byte(row+verdict), 0o666)
	if verdict != "" {
		t.Error("as the verdict says")
	}
}
`

func miniStories(pkg, name string, k int) string {
	return fmt.Sprintf(`package %[1]s

import "testing"

func TestLead%[2]s(t *testing.T) {
	t.Run("one", func(t *testing.T) { story(t, 0) })
	t.Run("two of", func(t *testing.T) { story(t, %[3]d) })
	t.Run("three", func(t *testing.T) { story(t, %[3]d) })
}

func TestOther%[2]s(t *testing.T) { story(t, %[3]d) }

// TestControl%[2]s is a story as well.
//
// Also passes on the lock before, because there is nothing to fix.
func TestControl%[2]s(t *testing.T) { story(t, 0) }
`, pkg, name, k)
}

// tryOnly is the number of a lock whose TryLock is right, and whose Lock is not.
const tryOnly = 99

func miniLock(n int) string {
	imports, fields, params, methods := "", "{}", "rdb any, key string, ttl int", ""
	if n >= 4 { // where a rule asks for it
		imports = "; import _ \"crypto/rand\""
	}
	if n >= 7 {
		fields = "{ MaxHold int }"
		methods = "\nvar ErrLost, ErrNotRun error\n\nfunc (l *Lock) Lost() {}\n\nfunc (l *Lock) ValidUntil() {}\n\nfunc (l *Lock) Do() {}\n"
	}
	switch {
	case n < 2:
		params = "rdb any, key string"
	case n == 8:
		fields, params = "{ MaxHold, NodeTimeout int }", "nodes []any, key string, ttl int"
	}
	return fmt.Sprintf("package redislock%s\n\nconst at = %d\n\n// Lock is a handle.\ntype Lock struct%s\n\nfunc New(%s) *Lock { return nil }\n%s",
		imports, n, fields, params, methods)
}

func writeMini(root string) error {
	files := map[string]string{
		"go.mod":                      "module " + course.Module + "\n\ngo 1.26\n",
		"go.sum":                      "",
		course.First.Dir + "/lock.go": miniLock(0),
		watchDir + "/" + watchFile:    "package redislock\n",
		watchDir + "/" + throughFile:  "package redislock\n\nimport \"os\"\n\nfunc init() { through = os.Getenv(\"TOUR_THROUGH\") }\n",
		realDir + "/" + realFile:      "package redislock\n\nimport \"os\"\n\nfunc init() { real = os.Getenv(\"REDIS_ADDRS\") }\n",
		course.SecondDir + "/testdata/" + course.HereFile: "package redislock\n",
		"docs/fencing/lab_test.go":                        fmt.Sprintf(miniLab, "fencing", tryOnly),
		"docs/fencing/fencing_test.go":                    miniStories("fencing", "Fencing", 9),
		"docs/fencing/lock_test.go":                       miniStories("fencing", "Lock", 0),
		course.Epilogue.Path():                            "package fencing\n\nconst at = 9\n",
		course.Unfenced.Path():                            "package fencing\n\nconst at = 0\n",
	}
	for _, f := range course.Hardening {
		files[course.First.Home(f.Name)+"/"+f.Name] = "package redislock\n"
	}
	for _, s := range course.Steps {
		files[s.Dir+"/"+course.LockFile] = miniLock(s.N)
		files[s.Dir+"/"+course.LabFile] = fmt.Sprintf(miniLab, "redislock", tryOnly)
		files[s.Dir+"/"+course.NewFile] = "package redislock\n\nvar _ = New(nil, \"coupons\", 1)\n"
		if s.N == 1 {
			files[s.Dir+"/"+course.NewFile] = "package redislock\n\nvar _ = New(nil, \"coupons\")\n"
		}
		own := fmt.Sprintf("func Test%%s(t *testing.T) {\n\tif at != %d {\n\t\tt.Fatal(\"it is for its own step\")\n\t}\n\tif real != \"\" {\n"+
			"\t\tt.Skip(\"played on \" + real)\n\t}\n}\n", s.N)
		files[s.Dir+"/"+course.BugFile] = "package redislock\n\nimport \"testing\"\n\n" + fmt.Sprintf(own, "Bug") + "\n" + fmt.Sprintf(own, "Demo")
		for _, f := range s.Guarantees() {
			name := capital(strings.TrimSuffix(f.Name[2:], "_test.go"))
			text := miniStories("redislock", name, f.From)
			if f.From == 2 {
				text = strings.Replace(text, "{ story(t, 0) }", "{ limitHold(); story(t, 0) }", 1)
			}
			if course.IsSecond(f.Name) {
				text = "package redislock\n"
			}
			if f.Needs != nil {
				text += "\nvar _ = (*Lock).Lost\nvar _ = ErrLost\n"
			}
			files[s.Home(f.Name)+"/"+f.Name] = text
		}
	}
	for name, text := range files {
		if err := write(filepath.Join(root, name), text); err != nil {
			return err
		}
	}
	return nil
}

func write(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o666)
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

var mini = sync.OnceValues(func() (string, error) {
	root, err := os.MkdirTemp("", "mini-course-")
	if err != nil {
		return "", err
	}
	return root, writeMini(root)
})

func TestMain(m *testing.M) {
	var err error
	built, err := os.MkdirTemp("", "tour-builds-")
	if err == nil {
		err = os.Setenv(story.BuiltEnv, built)
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(built)
	if root, err := mini(); err == nil {
		os.RemoveAll(root)
	}
	os.Exit(code)
}

// buildsMany skips a test that builds: go test ./... is to take seconds.
func buildsMany(t *testing.T) {
	t.Helper()
	if os.Getenv("BUILDS") == "" {
		t.Skip("it builds. Play it as .ci/run does: BUILDS=1 go test ./docs/tour")
	}
}

// inMini changes into the mini course, which all tests share: what is built once is built for all.
func inMini(t *testing.T) {
	t.Helper()
	root, err := mini()
	require.NoError(t, err)
	t.Chdir(filepath.Join(root, course.Steps[2].Dir))
}

// inOwnMini changes into a mini course that a test may change.
func inOwnMini(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, writeMini(root))
	t.Chdir(root)
	return root
}

// realRoot is that of the repository, before a test has changed into another folder.
var realRoot, _ = course.Root()

// inOwnCourse changes into a copy of what the first steps of the real course need.
func inOwnCourse(t *testing.T) {
	t.Helper()
	require.NotEmpty(t, realRoot)
	root, real := t.TempDir(), realRoot
	for _, dir := range []string{course.First.Dir, course.Steps[0].Dir, course.SecondDir, "docs/tour/sync"} {
		require.NoError(t, os.CopyFS(filepath.Join(root, dir), os.DirFS(filepath.Join(real, dir))))
	}
	for _, name := range []string{"go.mod", "go.sum", watchDir + "/" + watchFile, watchDir + "/" + throughFile} {
		require.NoError(t, write(filepath.Join(root, name), read(t, filepath.Join(real, name))))
	}
	t.Chdir(root)
}
