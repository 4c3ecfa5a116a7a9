# A mailbox that two threads share: one pass removes a mail, writes a new one, reads another.
set $dir=/var/mail
set $mails=40
set $threads=2
set $size=cvar(type=cvar-gamma,parameters=mean:8192;gamma:1.5)

define fileset name=box,path=$dir,entries=$mails,size=$size,dirwidth=10,prealloc=75

define process name=server,instances=1
{
  thread name=session,instances=$threads
  {
    flowop deletefile name=drop,filesetname=box
    flowop createfile name=deliver,filesetname=box,fd=1
    flowop appendfilerand name=body,fd=1,iosize=4k
    flowop fsync name=flush,fd=1
    flowop closefile name=delivered,fd=1
    flowop openfile name=look,filesetname=box,fd=2
    flowop readwholefile name=fetch,fd=2,iosize=1m
    flowop closefile name=looked,fd=2
    flowop hog name=think,value=1000
  }
}
echo "mailbox of $mails mails"
run 5
