# As 1.4 has it.
usage "Usage: set \$threads=<n>"
set $n=2
set $total=$n * 50 + 4
set $same=$total
define randvar name=$size, type=tabular, min=1k, round=1k, randtable =
{{60, 1k, 4k},
 {40, 8k, 8k}}
define fileset name=files,path=/tmp,entries=$same,size=$size,prealloc,cached=false
define process name=reader,instances=1
{
  thread name=reader,instances=1
  {
    flowop openfile name=open,filesetname=files,fd=1
    flowop read name=read,fd=1,iosize=$size
    flowop closefile name=close,fd=1
  }
}
create files
create processes
sleep 2
stats clear
sleep 3
stats snap
shutdown processes
