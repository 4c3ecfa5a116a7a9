set size 100 100000
set number 100
set report terse
show
run
quit
