set number 50
set transactions 100
run
set size 5 50
set seed 1
run
quit
