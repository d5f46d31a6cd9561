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

func TestMain(m *testing.M) {}
func TestOne_Two(t *testing.T) {}
func Testify(t *testing.T) {}
func helper(t *testing.T) {}
`

func TestDeclarations(t *testing.T) {
	list, err := Parse("lock.go", []byte(lock))
	require.NoError(t, err)
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
	require.Equal(t, []any{"Lock.TryLock", "TryLock tries\ntwice.\n", 20, 22}, []any{d.Name, d.Doc, d.From, d.Line})
	d, _ = Find(list, "New")
	require.Equal(t, "string, string, []redis.X, ...*Option", Params(d))
	require.Equal(t, "func New(a, b string, n []redis.X, o ...*Option) *Lock", Signature(d))
	_, err = Find(list, "Nope")
	require.ErrorContains(t, err, "no declaration Nope; there are: ErrA, ErrB, x, y, Lock, Lock.TryLock, Lock.end, dog, dog.end, New")
	_, err = Find(list, "end")
	require.ErrorContains(t, err, "end is more than one method: Lock.end, dog.end")

	var items, tests []string
	for _, item := range API(list[:len(list)-4], "Lock") {
		items = append(items, item.Name+": "+item.Text)
	}
	require.Equal(t, []string{`ErrA: var ErrA = errors.New("a")`, `ErrB: var ErrB = errors.New("b")`, "MaxHold: Lock.MaxHold int", "Other: Lock.Other int",
		"TryLock: func (l *Lock) TryLock() error", "New: func New(a, b string, n []redis.X, o ...*Option) *Lock"}, items)
	for _, d := range list {
		if d.IsTest() {
			tests = append(tests, d.Name)
		}
	}
	require.Equal(t, []string{"TestOne_Two"}, tests, "as the go command says it")
}

func TestPreface(t *testing.T) {
	require.Equal(t, "How it is sent, once.", Preface([]byte("package p\n\n// How it is sent,\n// once.\n//\n// More.\n\nimport \"fmt\"\n")))
	require.Empty(t, Preface([]byte("package p\n\n// f is a function.\nfunc f() {}\n")))
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
