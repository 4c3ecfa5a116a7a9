set number 2
set transactions 100
set bias create 0
set subdirectories 3
run
quit
