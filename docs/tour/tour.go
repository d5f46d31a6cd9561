package main

import (
	"context"
	"errors"
	"regexp"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/story"
)

// A tour is one run of this program.
type tour struct {
	console
	*story.Builder

	watching bool // for the next save: no one has to run anything
}

// newTour makes the temporary directory; Close removes it.
func newTour(ctx context.Context, c console) (*tour, context.Context, error) {
	b, ctx, err := story.NewBuilder(ctx)
	return &tour{console: c, Builder: b}, ctx, err
}

// greenBuild is a step as it is.
func greenBuild(s course.Step) story.Build {
	b := story.Green(s)
	b.Name = say("the tests of %s", s.Label())
	return b
}

// redBuild is a step's tests with the lock before it, or in the epilogue with the resources
// before it.
func (t *tour) redBuild(s course.Step) story.Build {
	b := t.Red(s)
	b.Name = say("the tests of %s with %s", s.Label(), s.Before().Subject())
	return b
}

// await shows progress until the binary is there.
func (t *tour) await(c story.Coming) (story.Binary, error) {
	defer t.progress(say("building %s", c.Name))()
	bin, err := c.Await()
	if ce, ok := errors.AsType[*story.CompileError](err); ok {
		err = errorf("%s did not compile:\n%w%s", c.Name, err, unfetched(ce.Out))
	}
	return bin, err
}

// unfetched is what helps if the go command could not download a module: this program needs
// none, and so begins where the stories cannot be built.
func unfetched(out string) string {
	if !notFetched.MatchString(out) {
		return ""
	}
	return word("\nModules are missing here, and the go command cannot download them. What to do: docs/read/workshop.md, \"Without a network\".")
}

var notFetched = regexp.MustCompile(`module\slookup\sdisabled|(Get\s"|reading\s)https?://`)

// build compiles one build now.
func (t *tour) build(ctx context.Context, b story.Build) (story.Binary, error) {
	return t.await(t.Ahead(ctx, b)[0])
}

// playAll runs the stories when the binary is there.
func (t *tour) playAll(ctx context.Context, on story.Coming, list []story.Story) ([]story.Result, error) {
	bin, err := t.await(on)
	if err != nil {
		return nil, err
	}
	defer bin.Remove()
	return bin.Play(ctx, list...)
}

// storiesOf lists the tests of a file in their order. They may be none.
func (t *tour) storiesOf(dir, file string) ([]story.Story, error) {
	list, err := t.Stories(dir, file)
	if err != nil {
		return nil, errorf("cannot list the stories of %s/%s: %w", dir, file, err)
	}
	return list, nil
}

// stories lists the tests of some files, each of which has at least one.
func (t *tour) stories(dir string, files []course.File) (all []story.Story, err error) {
	for _, f := range files {
		list, err := t.storiesOf(dir, f.Name)
		if err == nil && list == nil && !course.IsSecond(f.Name) {
			err = errorf("no test ran: %s/%s has no story, no func Test...(t *testing.T) at its top level", dir, f.Name)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}
