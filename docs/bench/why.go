package main

// Why a goal is missed: found with pprof, INFO commandstats and variants of the locks. Printed only beside a miss.
const (
	whyStep05  = ``
	whyStep07  = ``
	whyStep08  = ``
	whyHung    = ``
	whyTrips   = ``
	whyWaiting = ``
	whyHandoff = ``
)
