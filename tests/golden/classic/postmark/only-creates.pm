set number 20
set transactions 100
set bias read -1
set bias create 10
set size 3000 3000
show
run
quit
