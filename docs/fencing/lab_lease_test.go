package fencing

// From step 04 on: whose lock it is in Redis, and a lease that ends at the wrong moment.

import (
	"strings"
)

// owner returns the token that a node's key belongs to, "" when the lock is free there.
func (l *lab) owner(node int) string {
	s := l.server(node)
	switch s.Type(key) {
	case "string":
		token, _ := s.Get(key)
		return token
	case "hash":
		fields, _ := s.HKeys(key)
		return strings.Join(fields, " ")
	}
	return ""
}

// endLease lets Redis's clocks run until every lock that is held now has expired.
func (l *lab) endLease() {
	for node := range nodes {
		l.server(node).FastForward(ttl)
	}
	l.timeline.note("the ttl is over, all keys expire")
}
