package source

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const lock = `package redislock

import "errors"

// The errors.
var (
	// ErrA is the first.
	ErrA = errors.New("a")
	ErrB = errors.New("b") // the second
)

const x, y = 1, 2

var _ = x

// Lock is a handle.
type Lock struct {
	key      string
	MaxHold, Other int
}

// TryLock tries
// twice.
func (l *Lock) TryLock() error {
	return ErrA
}

func (l Lock) end() {}

type dog struct{}

func (d dog) end() {}

func New(a, b string, n []redis.X, o ...*Option) *Lock { return nil }
`

func TestPreface(t *testing.T) {
	for src, want := range map[string]string{
		"package p\n\nfunc f() {}\n": "",
		"package p\n\n// How it is sent,\n// once.\n//\n// More.\n\nimport \"fmt\"\n": "How it is sent, once.",
		"package p\n\n// f is a function.\nfunc f() {}\n":                             "",
	} {
		require.Equal(t, want, Preface([]byte(src)), src)
	}
}

func TestDeclarations(t *testing.T) {
	list, err := Parse("lock.go", []byte(lock))
	require.NoError(t, err)
	var names []string
	for _, d := range list {
		names = append(names, d.Name)
	}
	require.Equal(t, []string{"ErrA", "ErrB", "x", "y", "Lock", "Lock.TryLock", "Lock.end", "dog", "dog.end", "New"}, names)
	for name, want := range map[string]string{
		"ErrA":    "\t// ErrA is the first.\n\tErrA = errors.New(\"a\")",
		"ErrB":    "\tErrB = errors.New(\"b\") // the second",
		"y":       "const x, y = 1, 2",
		"TryLock": "// TryLock tries\n// twice.\nfunc (l *Lock) TryLock() error {\n\treturn ErrA\n}",
		"dog":     "type dog struct{}",
	} {
		d, err := Find(list, name)
		require.NoError(t, err)
		require.Equal(t, want, d.Text)
	}
	d, _ := Find(list, "TryLock")
	require.Equal(t, []any{"Lock.TryLock", "TryLock tries\ntwice.\n", 22, 24}, []any{d.Name, d.Doc, d.From, d.Line})
	d, _ = Find(list, "New")
	require.Equal(t, "string, string, []redis.X, ...*Option", Params(d))
	require.Equal(t, "func New(a, b string, n []redis.X, o ...*Option) *Lock", Signature(d))
	var items []string
	for _, item := range API(list, "Lock") {
		items = append(items, item.Name+": "+item.Text)
	}
	require.Equal(t, []string{`ErrA: var ErrA = errors.New("a")`, `ErrB: var ErrB = errors.New("b")`, "MaxHold: Lock.MaxHold int", "Other: Lock.Other int",
		"TryLock: func (l *Lock) TryLock() error", "New: func New(a, b string, n []redis.X, o ...*Option) *Lock"}, items)
}

func TestFind_SaysWhatThereIs(t *testing.T) {
	list, err := Parse("lock.go", []byte(lock))
	require.NoError(t, err)
	for name, want := range map[string]string{
		"Nope":     "no declaration Nope; there are: ErrA, ErrB, x, y, Lock, Lock.TryLock, Lock.end, dog, dog.end, New",
		"Nope.end": "no declaration Nope.end",
		"end":      "end is more than one method: Lock.end, dog.end",
	} {
		_, err := Find(list, name)
		require.ErrorContains(t, err, want)
	}
}

func TestTests_AreThoseOfTheGoCommand(t *testing.T) {
	list, err := Parse("x_test.go", []byte(`package redislock

func TestMain(m *testing.M) {}
func TestOne_Two(t *testing.T) {}
func Test_under(x *testing.T) {}
func helper(t *testing.T) {}
func Testify(t *testing.T) {}
func (l *lab) TestMethod(t *testing.T) {}
func TestTwo(t *testing.T, x int) {}
func BenchmarkX(b *testing.B) {}
var TestVar = 1
`))
	require.NoError(t, err)
	var tests []string
	for _, d := range list {
		if d.IsTest() {
			tests = append(tests, d.Name)
		}
	}
	require.Equal(t, []string{"TestOne_Two", "Test_under"}, tests)
}

// Whatever the diff, taking the one side gives the old text and the other the new one.
func TestDiff_KeepsBothTexts(t *testing.T) {
	words := strings.Fields("a b a c b b a c a b c c a b")
	for i := range words {
		for j := range words {
			without := func(op byte) string {
				var kept []string
				for _, e := range Diff(words[:i], words[j:]) {
					if e.Op != op {
						kept = append(kept, e.Text)
					}
				}
				return strings.Join(kept, " ")
			}
			require.Equal(t, strings.Join(words[:i], " "), without('+'))
			require.Equal(t, strings.Join(words[j:], " "), without('-'))
		}
	}
}
