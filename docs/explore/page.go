package main

func writePage([]cell, bool) error                      { return nil }
func deep() error                                       { return nil }
func withLock(dir string, step int, fault string) error { return nil }
