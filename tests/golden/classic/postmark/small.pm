set number 3
set transactions 50
run
quit
