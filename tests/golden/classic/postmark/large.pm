set number 5000
set transactions 20000
run
quit
