"""Captures as each program writes them, small: what readers of captures are tried with, and a fuzzer changes."""

import datetime as dt
import io
import zipfile
from pathlib import Path
from typing import Any, Final

import polars as pl

from assay.captures.capture_files import Capture, read_captures
from assay.captures.stated_facts import Asked

IOSTAT: Final = """\
Linux 6.12.48 (node7) \t11/28/26 \t_x86_64_\t(2 CPU)

11/28/26 20:00:00
Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz     d/s\
     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util
vda            900.00   1000.00     0.00   0.00    9.00     4.00    9.00     90.00     0.00   0.00    9.00     4.00    0.00\
      0.00     0.00   0.00    0.00     0.00    0.00    0.00    0.10   9.00

11/28/26 20:00:10
Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz     d/s\
     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util
vda            100.00    800.00     0.00   0.00    2.00     8.00  300.00   4800.00     5.00   1.64    4.00    16.00    0.00\
      0.00     0.00   0.00    0.00     0.00    1.00    1.00    1.40  37.50
dm-0             0.00      0.00     0.00   0.00    0.00     0.00    0.00      0.00     0.00   0.00    0.00     0.00    0.00\
      0.00     0.00   0.00    0.00     0.00    0.00    0.00    0.00   0.00

"""
IOSTAT_OLD: Final = """\
Linux 2.6.32-754.el6.x86_64 (db1) \t28.11.2026 \t_x86_64_\t(4 CPU)

28.11.2026 20:00:00
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           1,00    0,00    1,00    1,00    0,00   97,00

Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util
sda               1,00     1,00   99,00   99,00   99,00    99,00     9,00     9,00   99,00  0,40  9,00

28.11.2026 20:00:05
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           1,00    0,00    1,00    1,00    0,00   97,00

Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util
sda               0,00     2,50   10,50   20,00   168,00   320,00    16,00     0,25   8,20   0,40   1,22

"""
IOSTAT_BASIC: Final = """\
Linux 6.12.48 (node7) \t2026-11-28 \t_x86_64_\t(2 CPU)

2026-11-28T20:00:00+0100
Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd
sda              10.00        10.00        10.00         0.00         10         10          0
sdb              10.00        10.00        10.00         0.00         10         10          0

2026-11-28T20:00:10+0100
Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd
sda              50.00       100.00       300.00         0.00       1000       3000          0

2026-11-28T20:00:20+0100
Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd
sda              50.00       100.00       300.00         0.00       1000       3000          0
sdb              20.00        40.00         0.00         0.00        400          0          0

"""
IOSTAT_JSON: Final = """\
{"sysstat": {
\t"hosts": [
\t\t{
\t\t\t"nodename": "node7",
\t\t\t"sysname": "Linux",
\t\t\t"date": "11/28/26",
\t\t\t"statistics": [
\t\t\t\t{
\t\t\t\t\t"timestamp": "2026-11-28T20:00:00+0000",
\t\t\t\t\t"disk": [
\t\t\t\t\t\t{"disk_device": "vda", "r/s": 9.00, "w/s": 9.00, "rkB/s": 9.00, "wkB/s": 9.00, "util": 1.00}
\t\t\t\t\t]
\t\t\t\t},
\t\t\t\t{
\t\t\t\t\t"timestamp": "2026-11-28T20:00:10+0000",
\t\t\t\t\t"disk": [
\t\t\t\t\t\t{"disk_device": "vda", "r/s": 100.00, "w/s": 300.00, "d/s": 0.00, "f/s": 1.00, "rkB/s": 800.00, "wkB/s": \
4800.00, "rrqm/s": 0.00, "r_await": 2.00, "w_await": 4.00, "aqu-sz": 1.40, "util": 37.50}
\t\t\t\t\t]
\t\t\t\t}
\t\t\t]
\t\t}
\t]
}}
"""
SADF: Final = """\
# hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;dkB/s;areq-sz;aqu-sz;await;%util
node7;-1;2026-11-21 18:58:19 UTC;LINUX-RESTART\t(2 CPU)
node7;10;2026-11-21 18:58:29 UTC;vda;120.00;400.00;80.00;0.00;4.00;0.36;3.00;25.00
node7;10;2026-11-21 18:58:29 UTC;dev8-1;0.00;0.00;0.00;0.00;0.00;0.00;0.00;0.00
# hostname;interval;timestamp;tps;rtps;wtps;dtps;bread/s;bwrtn/s;bdscd/s
node7;10;2026-11-21 18:58:29 UTC;120.00;100.00;20.00;0.00;800.00;160.00;0.00
"""
SADF_OLD: Final = """\
# hostname;interval;timestamp;DEV;tps;rd_sec/s;wr_sec/s;avgrq-sz;avgqu-sz;await;svctm;%util
db1;600;1795287509;sda;12,50;100,00;300,00;32,00;0,02;1,60;0,40;0,50
"""
SADF_JSON: Final = """\
{"sysstat": {
\t"hosts": [
\t\t{
\t\t\t"nodename": "node7",
\t\t\t"timezone": "UTC",
\t\t\t"statistics": [
\t\t\t\t{
\t\t\t\t\t"timestamp": {"date": "2026-11-21", "time": "18:58:29", "utc": 1, "interval": 10},
\t\t\t\t\t"io": {"tps": 120.00, "io-reads": {"rtps": 100.00, "bread": 800.00}, "io-writes": {"wtps": 20.00, "bwrtn": \
160.00}, "io-discard": {"dtps": 0.00, "bdscd": 0.00}},
\t\t\t\t\t"disk": [
\t\t\t\t\t\t{"disk-device": "vda", "tps": 120.00, "rkB": 400.00, "wkB": 80.00, "dkB": 0.00, "areq-sz": 4.00, "aqu-sz": \
0.36, "await": 3.00, "util-percent": 25.00}
\t\t\t\t\t]
\t\t\t\t}
\t\t\t]
\t\t}
\t]
}}
"""
SAR_12_HOURS: Final = """\
Linux 6.12.48 (node7) \t11/28/2026 \t_x86_64_\t(2 CPU)

11:50:01 PM       DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
11:55:01 PM       vda     10.00     20.00     60.00      0.00      8.00      0.02      2.00      1.50
12:00:01 AM       vda     20.00     40.00    120.00      0.00      8.00      0.04      2.00      3.00

12:00:01 AM       DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
12:05:01 AM       vda     30.00     60.00    180.00      0.00      8.00      0.06      2.00      4.50
Average:          vda     20.00     40.00    120.00      0.00      8.00      0.04      2.00      3.00

12:07:00 AM  LINUX RESTART\t(2 CPU)

12:10:01 AM       DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
12:15:01 AM       vda      5.00     10.00     30.00      0.00      8.00      0.01      2.00      0.75
Average:          vda      5.00     10.00     30.00      0.00      8.00      0.01      2.00      0.75
"""
SAR_GERMAN: Final = """\
Linux 5.10.0 (knoten7) \t28.11.2026 \t_x86_64_\t(4 CPU)

00:00:01          tps      rtps      wtps      dtps   bread/s   bwrtn/s   bdscd/s
00:10:01        12,50      2,50     10,00      0,00     80,00    320,00      0,00
00:20:01        25,00      5,00     20,00      0,00    160,00    640,00      0,00
Durchschn.:     18,75      3,75     15,00      0,00    120,00    480,00      0,00

00:00:01          DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
00:10:01          sda     12,50     40,00    160,00      0,00     16,00      0,05      4,00      2,50
Durchschn.:       sda     12,50     40,00    160,00      0,00     16,00      0,05      4,00      2,50
"""
VMSTAT: Final = """\
procs -----------memory---------- ---swap-- -----io---- -system-- -------cpu------- -----timestamp-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st gu                 UTC
 1  0      0 251640  69148 2431088    0    0   999   999  433    1  5  4 91  0  0  0 2026-11-21 19:00:00
 1  0      0 251640  69148 2431088    0    0   100   200  433    1  5  4 91  0  0  0 2026-11-21 19:00:10
"""
PERFMON: Final = (
    r'"(PDH-CSV 4.0) (Romance Standard Time)(-60)","\\WINBOX\PhysicalDisk(_Total)\Disk Reads/sec",'
    r'"\\WINBOX\PhysicalDisk(0 C:)\Disk Reads/sec","\\WINBOX\PhysicalDisk(0 C:)\Disk Writes/sec",'
    r'"\\WINBOX\PhysicalDisk(0 C:)\Disk Read Bytes/sec","\\WINBOX\PhysicalDisk(0 C:)\Disk Write Bytes/sec",'
    r'"\\WINBOX\PhysicalDisk(0 C:)\Avg. Disk sec/Read","\\WINBOX\PhysicalDisk(0 C:)\Avg. Disk sec/Write",'
    r'"\\WINBOX\PhysicalDisk(0 C:)\Avg. Disk Queue Length","\\WINBOX\PhysicalDisk(0 C:)\% Idle Time",'
    r'"\\WINBOX\LogicalDisk(C:\data)\Disk Reads/sec","\\WINBOX\LogicalDisk(_Total)\Disk Reads/sec",'
    r'"\\WINBOX\Processor(_Total)\% Processor Time"'
    "\n"
    '"09/22/2026 21:42:32.824"," "," "," "," "," "," "," "," "," "," "," "," "\n'
    '"09/22/2026 21:42:42.824","100.000000","100.000000","300.000000","819200.000000","4915200.000000","0.002000",'
    '"0.004000","1.400000","62.500000","7.000000","99.000000","1.0"\n'
    "\n"
    "Exiting, please wait...                         \n"
    "The command completed successfully.\n"
)
PERFMON_GERMAN: Final = (
    r'"(PDH-CSV 4.0) (Mitteleuropäische Zeit)(-60)","\\SRV1\Physikalischer Datenträger(1 D:)\Lesevorgänge/s",'
    r'"\\SRV1\Physikalischer Datenträger(1 D:)\Schreibvorgänge/s","\\SRV1\Physikalischer Datenträger(1 D:)\Bytes gelesen/s",'
    r'"\\SRV1\Physikalischer Datenträger(1 D:)\Bytes geschrieben/s",'
    r'"\\SRV1\Physikalischer Datenträger(1 D:)\Mittlere Sek./Lesevorgänge",'
    r'"\\SRV1\Physikalischer Datenträger(1 D:)\Mittlere Sek./Schreibvorgänge"'
    "\n"
    '"11/28/2026 20:00:00.000"," "," "," "," "," "," "\n'
    '"11/28/2026 20:00:15.000","12,500000","37,500000","102400,000000","307200,000000","0,008000","0,002000"\n'
)
ESXTOP: Final = (
    r'"(PDH-CSV 4.0) (UTC)(0)","\\esx01.example.com\Physical Cpu(_Total)\% Util Time",'
    r'"\\esx01.example.com\Physical Disk Adapter(vmhba0)\Commands/sec",'
    r'"\\esx01.example.com\Physical Disk Adapter(vmhba0)\Reads/sec",'
    r'"\\esx01.example.com\Physical Disk Adapter(vmhba0)\Writes/sec",'
    r'"\\esx01.example.com\Physical Disk Adapter(vmhba0)\MBytes Read/sec",'
    r'"\\esx01.example.com\Physical Disk Adapter(vmhba0)\MBytes Written/sec",'
    r'"\\esx01.example.com\Physical Disk Adapter(vmhba0)\Average Driver MilliSec/Command",'
    r'"\\esx01.example.com\Physical Disk SCSI Device(naa.600508b1)\Reads/sec",'
    r'"\\esx01.example.com\Physical Disk SCSI Device(naa.600508b1)\Writes/sec",'
    r'"\\esx01.example.com\Physical Disk SCSI Device(naa.600508b1)\Average Driver MilliSec/Read",'
    r'"\\esx01.example.com\Physical Disk SCSI Device(naa.600508b1)\Average Kernel MilliSec/Read",'
    r'"\\esx01.example.com\Physical Disk Per-Device-Per-World(naa.600508b1-1001)\Reads/sec",'
    r'"\\esx01.example.com\Virtual Disk(SQL02 (df09cdf2))\Reads/sec",'
    r'"\\esx01.example.com\Virtual Disk(SQL02 (df09cdf2):scsi0:1)\Reads/sec",'
    r'"\\esx01.example.com\Virtual Disk(SQL02 (df09cdf2):scsi0:1)\Average MilliSec/Read"'
    "\n"
    '"05/15/2018 02:13:01","1","999","999","999","9","9","9","9","9","9","9","9","9","9","9"\n'
    '"05/15/2018 02:13:06","9.5","55.00","40.00","10.00","1.50","0.50","0.80","30.00","5.00","0.75","0.01","30.00","12.00",'
    '"12.00","1.25"\n'
)
PMREP: Final = """\
Time,"disk.dev.read-vda","disk.dev.write-vda","disk.dev.read_bytes-vda","disk.dev.avactive-vda"
2026-11-21 19:23:49,,,,
2026-11-21 19:23:50,9902.299,412.887,40021.083,639.825
"""
PROMETHEUS: Final = (
    '{"status":"success","data":{"resultType":"matrix","result":['
    '{"metric":{"__name__":"node_disk_reads_completed_total","device":"sda","instance":"h:9100"},'
    '"values":[[1700000000,"1000"],[1700000015,"1150"],[1700000030,"40"],[1700000045,"190"]]},'
    '{"metric":{"__name__":"node_disk_writes_completed_total","device":"sda","instance":"h:9100"},'
    '"values":[[1700000000,"0"],[1700000015,"300"],[1700000030,"10"],[1700000045,"10"]]},'
    '{"metric":{"__name__":"node_disk_read_bytes_total","device":"sda","instance":"h:9100"},'
    '"values":[[1700000000,"0"],[1700000015,"1.2288e+06"],[1700000030,"0"],[1700000045,"614400"]]},'
    '{"metric":{"__name__":"node_disk_read_time_seconds_total","device":"sda","instance":"h:9100"},'
    '"values":[[1700000000,"10"],[1700000015,"10.6"],[1700000030,"0"],[1700000045,"0.3"]]},'
    '{"metric":{"__name__":"node_disk_io_time_seconds_total","device":"sda","instance":"h:9100"},'
    '"values":[[1700000000,"10"],[1700000015,"13"],[1700000030,"0"],[1700000045,"1.5"]]}]}}\n'
)
ZPOOL: Final = """\
Sat Nov 28 20:00:00 UTC 2026
                              capacity     operations     bandwidth
pool                        alloc   free   read  write   read  write
--------------------------  -----  -----  -----  -----  -----  -----
tank                        1.20T  2.43T    999    999  9.99M  9.99M
  mirror-0                   600G  1.21T    999    999  9.99M  9.99M
    sda                         -      -    999    999  9.99M  9.99M
--------------------------  -----  -----  -----  -----  -----  -----
Sat Nov 28 20:00:10 UTC 2026
                              capacity     operations     bandwidth
pool                        alloc   free   read  write   read  write
--------------------------  -----  -----  -----  -----  -----  -----
tank                        1.20T  2.43T    100  1.50K  1.50M  12.0M
  mirror-0                   600G  1.21T    100    750  1.50M  12.0M
    sda                         -      -     25     75   384K  3.00M
--------------------------  -----  -----  -----  -----  -----  -----
"""
ZPOOL_WAIT: Final = """\
              capacity     operations     bandwidth    total_wait     disk_wait    syncq_wait    asyncq_wait  scrub   trim
pool        alloc   free   read  write   read  write   read  write   read  write   read  write   read  write   wait   wait
----------  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----
tank        1.20T  2.43T      9      9     9K     9K    9ms    9ms    9ms    9ms    9us    9us    9us    9us      -      -
tank        1.20T  2.43T    100      0   800K      0    2ms      -    1ms      -   10us      -      -      -      -      -
tank        1.20T  2.43T      0    200      0   800K      -  500us      -  400us      -   10us      -      -      -      -
"""
NFSIOSTAT: Final = """\

filer:/export mounted on /srv/data:

           ops/s       rpc bklog
           9.000           0.000

read:              ops/s            kB/s           kB/op         retrans    avg RTT (ms)    avg exe (ms)  avg queue (ms)
                   9.000           9.000           9.000        0 (0.0%)           9.000           9.000           9.000
write:             ops/s            kB/s           kB/op         retrans    avg RTT (ms)    avg exe (ms)  avg queue (ms)
                   9.000           9.000           9.000        0 (0.0%)           9.000           9.000           9.000

filer:/export mounted on /srv/data:

           ops/s       rpc bklog
         400.000           0.000

read:              ops/s            kB/s           kB/op         retrans    avg RTT (ms)    avg exe (ms)  avg queue (ms)
                 100.000         800.000           8.000        0 (0.0%)           2.000           2.500           0.100
write:             ops/s            kB/s           kB/op         retrans    avg RTT (ms)    avg exe (ms)  avg queue (ms)
                 300.000        4800.000          16.000        0 (0.0%)           4.000           4.500           0.100
"""
_MOUNT: Final = """\
device /dev/vda1 mounted on / with fstype ext4
device filer:/export mounted on /srv/data with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,rsize=1048576
\tage:\t{age}
\tbytes:\t1 2 0 0 {read} {written} 3 4
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\tper-op statistics
\t        READ: {reads} {reads} 0 9 9 9 9 {read_ms} 0
\t       WRITE: {writes} {writes} 0 9 9 9 9 {write_ms} 0
"""
MOUNTSTATS: Final = _MOUNT.format(
    age=1000, read=1000, written=0, reads=50, read_ms=100, writes=0, write_ms=0
) + _MOUNT.format(age=1010, read=820_200, written=409_600, reads=1050, read_ms=3100, writes=20, write_ms=100)
OWN: Final = """\
host,device,layer,end_s,seconds,iops,read_iops,write_iops,bytes_per_s,read_bytes_per_s,write_bytes_per_s,latency_s,\
read_latency_s,write_latency_s,queue_depth,utilisation
node7,vda,disk,1795899978.0,10.0,400.0,100.0,300.0,5734400.0,819200.0,4915200.0,0.0035,0.002,0.004,1.4,0.375
node7,all,system,1795899988.5,10.5,,,,,1.5e6,0.0,,,,,
"""
RVTOOLS: Final = """\
VM,Powerstate,Template,CPUs,Memory,Provisioned MiB,In Use MiB,Datacenter,Cluster,Host
web1,poweredOn,False,4,8192,"102,400","51,200",DC1,C1,esx01.example.com
db1,poweredOn,False,8,65536,1048576,524288,DC1,C1,esx02.example.com
old,poweredOff,False,1,1024,10240,10240,DC1,C1,esx02.example.com
gold,poweredOff,True,1,1024,10240,10240,DC1,C1,esx02.example.com
"""
TEXTS: Final = {
    "iostat": (IOSTAT, IOSTAT_OLD, IOSTAT_BASIC),
    "sysstat JSON": (IOSTAT_JSON, SADF_JSON),
    "sadf -d": (SADF, SADF_OLD),
    "sar": (SAR_12_HOURS, SAR_GERMAN),
    "vmstat": (VMSTAT,),
    "perfmon CSV": (PERFMON, PERFMON_GERMAN),
    "esxtop -b": (ESXTOP,),
    "pmrep CSV": (PMREP,),
    "Prometheus query_range": (PROMETHEUS,),
    "zpool iostat": (ZPOOL, ZPOOL_WAIT),
    "nfsiostat": (NFSIOSTAT,),
    "mountstats": (MOUNTSTATS,),
    "table of assay": (OWN,),
    "RVTools": (RVTOOLS,),
}
"""By the name of the format."""


_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_DOCUMENT = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    f'<Relationship Id="rId1" Type="{_DOCUMENT}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>'
)
WORKBOOK_SHEET: Final = (
    f'<worksheet xmlns="{_MAIN}"><sheetData>'
    '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="s"><v>2</v></c>'
    '<c r="D1" t="inlineStr"><is><t>Provisioned MB</t></is></c><c r="E1" t="s"><v>3</v></c></row>'
    '<row r="2"><c r="A2" t="s"><v>4</v></c><c r="B2" t="s"><v>5</v></c><c r="C2" t="s"><v>6</v></c>'
    '<c r="D2"><v>102400</v></c><c r="E2"><v>51200</v></c></row>'
    '<row r="3"><c r="A3" t="str"><v>db1</v></c><c r="C3" t="s"><v>6</v></c><c r="E3" t="str"><v>1,024</v></c></row>'
    "</sheetData></worksheet>"
)
"""A machine that is on, and one whose state and provisioned size are blank."""
WORKBOOK_TEXTS: Final = (
    f'<sst xmlns="{_MAIN}">'
    + "".join(
        f"<si><t>{text}</t></si>" for text in ("VM", "Powerstate", "Host", "In Use MB", "web1", "poweredOn", "esx01")
    )
    + "</sst>"
)


def workbook_of(sheet: bytes, texts: bytes, name: str = "vInfo") -> bytes:
    """Pack the XML of a sheet and of its texts as a workbook."""
    book = (
        f'<workbook xmlns="{_MAIN}" xmlns:r="{_DOCUMENT}"><sheets><sheet name="{name}" sheetId="1" r:id="rId1"/></sheets>'
        "</workbook>"
    )
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", book)
        archive.writestr("xl/_rels/workbook.xml.rels", _RELATIONS)
        archive.writestr("xl/sharedStrings.xml", texts)
        archive.writestr("xl/worksheets/sheet1.xml", sheet)
    return made.getvalue()


def capture_of(folder: Path, data: str | bytes, asked: Asked | None = None, name: str = "capture") -> Capture:
    """Read a capture from a file."""
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_captures([str(path)], asked or Asked())[0]


def row_of(capture: Capture, device: str, number: int = 0) -> dict[str, Any]:
    """Give a row of a device, by its place in time."""
    return capture.table.filter(pl.col("device") == device).row(number, named=True)


def seconds_of(text: str) -> float:
    """Give a time of ISO 8601 in seconds since 1970."""
    return dt.datetime.fromisoformat(text).timestamp()
