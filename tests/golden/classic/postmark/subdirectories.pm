set number 40
set transactions 333
set subdirectories 7
set seed 7
show
run
quit
