show
run
quit
