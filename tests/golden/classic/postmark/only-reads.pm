set number 20
set transactions 55
set bias read 10
set bias create -1
run
quit
