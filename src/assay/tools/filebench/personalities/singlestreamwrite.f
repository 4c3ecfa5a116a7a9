# One large file, written from its begin to its end again and again.
set $dir=/tmp
set $filesize=5g
set $nthreads=1
set $iosize=1m

define file name=data,path=$dir,size=$filesize,prealloc,reuse

define process name=worker,instances=1
{
  thread name=stream,memsize=5m,instances=$nthreads
  {
    flowop write name=write,filename=data,iosize=$iosize
  }
}
