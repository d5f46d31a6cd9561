package source

// An Edit is one line of a diff: ' ' in both, '-' in the old, '+' in the new text.
type Edit struct {
	Op   byte
	Text string
}

// Diff turns a into b by way of their longest common subsequence.
func Diff(a, b []string) []Edit {
	// size[i][j] is the length of the longest common subsequence of a[i:] and b[j:].
	size := make([][]int, len(a)+1)
	for i := range size {
		size[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				size[i][j] = size[i+1][j+1] + 1
			} else {
				size[i][j] = max(size[i+1][j], size[i][j+1])
			}
		}
	}
	var list []Edit
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			list = append(list, Edit{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && size[i+1][j] >= size[i][j+1]:
			list = append(list, Edit{'-', a[i]})
			i++
		default:
			list = append(list, Edit{'+', b[j]})
			j++
		}
	}
	return list
}
