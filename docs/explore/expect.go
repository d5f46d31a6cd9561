package main

// red is a verdict that is expected for some steps, and why.
type red struct {
	from, to int
	kinds    string
	why      string
}

func expected(j job) string {
	for _, r := range reds[j.Fault] {
		if j.Step >= r.from && j.Step <= r.to {
			return r.kinds
		}
	}
	return ""
}

var reds = map[string][]red{}
