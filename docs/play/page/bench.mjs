// stub
function showBench() { showMenu(); }
