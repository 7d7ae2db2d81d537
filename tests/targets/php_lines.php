<?php
// php_lines MS: uses MS of CPU time in lines of one function, and prints "NAME LINE SHARE" of
// each. Most of the work is in PHP code, or in C code that is called while the frame does not store
// its line. Each line takes about two ticks of the kernel: spin_until() in spin.h
// says why.
function cpu_us()
{
    $used = getrusage();
    return ($used['ru_utime.tv_sec'] + $used['ru_stime.tv_sec']) * 1000000
        + $used['ru_utime.tv_usec'] + $used['ru_stime.tv_usec'];
}

function lines(int $until)
{
    $took = array_fill_keys(['adds', 'joins', 'lists', 'looks_up', 'sorts'], 0);
    $at = [];
    $found = range(0, 999);
    while (cpu_us() < $until) {
        $begin = cpu_us();
        for ($n = 0, $x = 1, $at['adds'] = __LINE__; $n < 1200000; $n++) $x = ($x * 31 + $n) % 1000003;
        $took['adds'] += cpu_us() - $begin; $begin = cpu_us();
        for ($n = 0, $at['joins'] = __LINE__; $n < 250000; $n++) $text = "a$n" . 'b';
        $took['joins'] += cpu_us() - $begin; $begin = cpu_us();
        for ($n = 0, $at['lists'] = __LINE__; $n < 300000; $n++) $list = [$n, [$x]];
        $took['lists'] += cpu_us() - $begin; $begin = cpu_us();
        for ($n = 0, $at['looks_up'] = __LINE__; $n < 1200000; $n++) $x += $found[$n % 1000];
        $took['looks_up'] += cpu_us() - $begin; $begin = cpu_us();
        for ($n = 0, $at['sorts'] = __LINE__; $n < 1500; $n++) shuffle($found);
        $took['sorts'] += cpu_us() - $begin;
    }
    foreach ($took as $name => $us)
        printf("%s %d %.4f\n", $name, $at[$name], $us / array_sum($took));
}

lines(cpu_us() + $argv[1] * 1000);
