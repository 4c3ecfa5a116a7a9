# Users of a file server: each writes a file, appends to one, reads one, removes one and looks at one.
set $dir=/tmp
set $nfiles=10000
set $meandirwidth=20
set $filesize=cvar(type=cvar-gamma,parameters=mean:131072;gamma:1.5)
set $nthreads=50
set $iosize=1m
set $meanappendsize=16k

define fileset name=shared,path=$dir,entries=$nfiles,size=$filesize,dirwidth=$meandirwidth,prealloc=80

define process name=fileserver,instances=1
{
  thread name=user,memsize=10m,instances=$nthreads
  {
    flowop createfile name=create,filesetname=shared,fd=1
    flowop writewholefile name=writenew,srcfd=1,fd=1,iosize=$iosize
    flowop closefile name=closenew,fd=1
    flowop openfile name=openlog,filesetname=shared,fd=1
    flowop appendfilerand name=append,iosize=$meanappendsize,fd=1
    flowop closefile name=closelog,fd=1
    flowop openfile name=openold,filesetname=shared,fd=1
    flowop readwholefile name=readold,fd=1,iosize=$iosize
    flowop closefile name=closeold,fd=1
    flowop deletefile name=delete,filesetname=shared
    flowop statfile name=stat,filesetname=shared
  }
}
