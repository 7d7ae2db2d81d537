<?php
// php_lines MS: lines of one function, each for a while; "NAME LINE SHARE" as the clock tells it.
// What most of them do is in PHP's code, or in C that is called while the frame has no note of where
// it is.
function lines(float $until)
{
    $took = array_fill_keys(['adds', 'joins', 'lists', 'looks_up', 'sorts'], 0);
    $at = [];
    $found = range(0, 999);
    while (microtime(true) < $until) {
        $begin = hrtime(true);
        for ($n = 0, $x = 1, $at['adds'] = __LINE__; $n < 40000; $n++) $x = ($x * 31 + $n) % 1000003;
        $took['adds'] += hrtime(true) - $begin; $begin = hrtime(true);
        for ($n = 0, $at['joins'] = __LINE__; $n < 10000; $n++) $text = "a$n" . 'b';
        $took['joins'] += hrtime(true) - $begin; $begin = hrtime(true);
        for ($n = 0, $at['lists'] = __LINE__; $n < 20000; $n++) $list = [$n, [$x]];
        $took['lists'] += hrtime(true) - $begin; $begin = hrtime(true);
        for ($n = 0, $at['looks_up'] = __LINE__; $n < 20000; $n++) $x += $found[$n % 1000];
        $took['looks_up'] += hrtime(true) - $begin; $begin = hrtime(true);
        for ($n = 0, $at['sorts'] = __LINE__; $n < 4; $n++) shuffle($found);
        $took['sorts'] += hrtime(true) - $begin;
    }
    foreach ($took as $name => $ns)
        printf("%s %d %.4f\n", $name, $at[$name], $ns / array_sum($took));
}

lines(microtime(true) + $argv[1] / 1000);
