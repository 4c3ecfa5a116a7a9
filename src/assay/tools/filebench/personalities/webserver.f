# A web server: each visitor fetches ten pages, and a line goes to the log.
set $dir=/tmp
set $nfiles=1000
set $meandirwidth=20
set $filesize=cvar(type=cvar-gamma,parameters=mean:16384;gamma:1.5)
set $nthreads=100
set $iosize=1m
set $meanappendsize=16k

define fileset name=pages,path=$dir,entries=$nfiles,size=$filesize,dirwidth=$meandirwidth,prealloc=100
define fileset name=log,path=$dir,entries=1,size=$filesize,dirwidth=$meandirwidth,prealloc

define process name=webserver,instances=1
{
  thread name=visitor,memsize=10m,instances=$nthreads
  {
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
    flowop openfile name=open6,filesetname=pages,fd=1
    flowop readwholefile name=page6,fd=1,iosize=$iosize
    flowop closefile name=close6,fd=1
    flowop openfile name=open7,filesetname=pages,fd=1
    flowop readwholefile name=page7,fd=1,iosize=$iosize
    flowop closefile name=close7,fd=1
    flowop openfile name=open8,filesetname=pages,fd=1
    flowop readwholefile name=page8,fd=1,iosize=$iosize
    flowop closefile name=close8,fd=1
    flowop openfile name=open9,filesetname=pages,fd=1
    flowop readwholefile name=page9,fd=1,iosize=$iosize
    flowop closefile name=close9,fd=1
    flowop openfile name=open10,filesetname=pages,fd=1
    flowop readwholefile name=page10,fd=1,iosize=$iosize
    flowop closefile name=close10,fd=1
    flowop appendfilerand name=note,filesetname=log,iosize=$meanappendsize,fd=2
  }
}
