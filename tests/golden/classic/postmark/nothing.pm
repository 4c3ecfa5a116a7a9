set number 20
set transactions 10
set bias read -1
set bias create -1
run
quit
