package course

// Address is where the page of docs/play is published, with a slash at its end:
// https://NAME.github.io/REPOSITORY/. It is empty until it is: then links lead to
// docs/play/README.md. After a change of it, run make docs.
var Address = ""
