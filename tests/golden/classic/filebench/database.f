# Readers, writers beside their thread, semaphores between them, and a rate; composite flowops inside one another.
set $dir=/data
set mode quit firstdone
eventgen rate=50
enable lathist
define file name=log,path=$dir,size=1m,prealloc,reuse
define fileset name=tables,path=$dir,entries=4,size=2m,prealloc
define fileset name=tree,path=$dir,leafdirs=30,dirwidth=5,prealloc

define flowop name=look, $where, $times=2
{
  flowop read name=row,filesetname=$where,iosize=8k,random,workingset=1m,iters=$times
}
define flowop name=visit, $of
{
  flowop look name=twice,$where=$of
  flowop look name=thrice,$where=$of,$times=3
}

define process name=writer,instances=2
{
  thread name=writer,memsize=1m,useism
  {
    flowop aiowrite name=page,filesetname=tables,iosize=8k,random,dsync,iters=10,opennext
    flowop semblock name=gate,value=5,highwater=20
    flowop aiowait name=settle
  }
}
define process name=reader,instances=3
{
  thread name=reader
  {
    flowop visit name=v,$of=tables
    flowop sempost name=tell,target=gate,value=1,blocking
    flowop iopslimit name=rate,target=v.twice.row
  }
}
define process name=logger
{
  thread name=logger
  {
    flowop write name=append,filename=log,iosize=64k,dsync,directio
    flowop finishonbytes name=enough,value=4m
  }
}
define process name=janitor
{
  thread name=janitor
  {
    flowop removedir name=prune,filesetname=tree
    flowop delay name=rest,value=1
  }
}
sleep 1
psrun -2 6
