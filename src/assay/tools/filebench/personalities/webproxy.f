# A proxy of the web: it replaces a page by a new one, delivers five, and writes a line to its log.
set $dir=/tmp
set $nfiles=10000
set $meandirwidth=1000000
set $filesize=cvar(type=cvar-gamma,parameters=mean:16384;gamma:1.5)
set $nthreads=100
set $iosize=1m
set $meanappendsize=16k

define fileset name=pages,path=$dir,entries=$nfiles,size=$filesize,dirwidth=$meandirwidth,prealloc=80
define fileset name=log,path=$dir,entries=1,size=$filesize,dirwidth=$meandirwidth,prealloc

define process name=proxy,instances=1
{
  thread name=visitor,memsize=10m,instances=$nthreads
  {
    flowop deletefile name=drop,filesetname=pages
    flowop createfile name=keep,filesetname=pages,fd=1
    flowop appendfilerand name=fetch,iosize=$meanappendsize,fd=1
    flowop closefile name=kept,fd=1
    flowop openfile name=open1,filesetname=pages,fd=1
    flowop readwholefile name=page1,fd=1,iosize=$iosize
    flowop closefile name=close1,fd=1
    flowop openfile name=open2,filesetname=pages,fd=1
    flowop readwholefile name=page2,fd=1,iosize=$iosize
    flowop closefile name=close2,fd=1
    flowop openfile name=open3,filesetname=pages,fd=1
    flowop readwholefile name=page3,fd=1,iosize=$iosize
    flowop closefile name=close3,fd=1
    flowop openfile name=open4,filesetname=pages,fd=1
    flowop readwholefile name=page4,fd=1,iosize=$iosize
    flowop closefile name=close4,fd=1
    flowop openfile name=open5,filesetname=pages,fd=1
    flowop readwholefile name=page5,fd=1,iosize=$iosize
    flowop closefile name=close5,fd=1
    flowop appendfilerand name=note,filesetname=log,iosize=$meanappendsize,fd=2
  }
}
