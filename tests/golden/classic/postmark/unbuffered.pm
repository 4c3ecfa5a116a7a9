set buffering false
set read 2048
set write 1024
set number 60
set transactions 100
show
run
quit
