# A mail server with a file for each mail: delete, deliver durably, read and answer durably, read.
set $dir=/tmp
set $nfiles=1000
set $meandirwidth=1000000
set $filesize=cvar(type=cvar-gamma,parameters=mean:16384;gamma:1.5)
set $nthreads=16
set $iosize=1m
set $meanappendsize=16k

define fileset name=mails,path=$dir,entries=$nfiles,size=$filesize,dirwidth=$meandirwidth,prealloc=80

define process name=mailserver,instances=1
{
  thread name=session,memsize=10m,instances=$nthreads
  {
    flowop deletefile name=delete,filesetname=mails
    flowop createfile name=deliver,filesetname=mails,fd=1
    flowop appendfilerand name=body,iosize=$meanappendsize,fd=1
    flowop fsync name=delivered,fd=1
    flowop closefile name=closenew,fd=1
    flowop openfile name=openanswered,filesetname=mails,fd=1
    flowop readwholefile name=readanswered,fd=1,iosize=$iosize
    flowop appendfilerand name=answer,iosize=$meanappendsize,fd=1
    flowop fsync name=answered,fd=1
    flowop closefile name=closeanswered,fd=1
    flowop openfile name=open,filesetname=mails,fd=1
    flowop readwholefile name=read,fd=1,iosize=$iosize
    flowop closefile name=close,fd=1
  }
}
