<?php
// php_truth MS: for MS of CPU time, call work() below functions, methods, closures, generators,
// builtins that call functions, included files, exceptions, and fibers, which other functions
// resume. Prints "stack F:LINE;F;..." for each stack in which work() was called, outermost
// function first, as PHP reports it: builtins and work() have no line.
$stacks = [];
$three = [2, 1, 3];

function used_ms()
{
    $used = getrusage();
    return ($used['ru_utime.tv_sec'] + $used['ru_stime.tv_sec']) * 1000
        + ($used['ru_utime.tv_usec'] + $used['ru_stime.tv_usec']) / 1000;
}
$end = used_ms() + $argv[1];

function work(int $n)
{
    global $stacks;
    $names = ['work'];
    $trace = debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS);
    foreach (array_slice($trace, 1) as $i => $frame) {
        $is_file = in_array($frame['function'], ['include', 'eval']) && !isset($frame['class']);
        $name = $is_file && $frame['function'] == 'include' ? '{main}'
            : (isset($frame['class']) ? $frame['class'] . '::' : '') . $frame['function'];
        $names[] = $name . (isset($trace[$i]['line']) ? ':' . $trace[$i]['line'] : '');
    }
    $names[] = '{main}:' . end($trace)['line'];
    $stacks[implode(';', array_reverse($names))] = true;
    $x = 0;
    for ($i = 0; $i < $n; $i++)
        $x = ($x * 31 + $i) % 1000003;
    return $x;
}

class Shape
{
    private $sides = [3, 4, 5, 6, 7, 8];

    function area() { return work(20000); }
    static function scale() { return work(20000); }
    function __get($name) { return work(20000); }
    function each() { return array_map(function ($side) { return work(4000) + $side; }, $this->sides); }
    function sorted() { usort($this->sides, fn($a, $b) => work(1000) * 0 + $a <=> $b); }
    function __destruct() { work(20000); }
}

function deep(int $depth) { return $depth ? deep($depth - 1) : work(30000); }
function numbers() { for ($i = 0; $i < 5; $i++) yield work(5000); }
function outer_numbers() { yield work(5000); yield from numbers(); }
function fails() { work(10000); throw new RuntimeException('x'); }
function caught() { try { fails(); } catch (RuntimeException $e) { return work(10000); } finally { work(5000); } }
function by_name($name) { return call_user_func($name, 20000); }
function included($file) { return include $file; }
function suspends(int $depth) { return $depth ? suspends($depth - 1) : Fiber::suspend(work(5000)); }
function in_fiber() { suspends(3); work(5000); array_map(fn($n) => suspends($n) . work(5000), [1, 0]); }
function resumes($fiber) { while (!$fiber->isTerminated()) { work(3000); $fiber->resume(); } }
function in_outer_fiber() { $fiber = new Fiber('in_fiber'); $fiber->start(); Fiber::suspend(); resumes($fiber); }
function fibers()
{
    $outer = new Fiber('in_outer_fiber');
    $outer->start();
    $left = new Fiber('in_fiber');
    $left->start();
    resumes($outer);
    usort($GLOBALS['three'], fn($a, $b) => $left->isSuspended() ? $left->resume() * 0 : $a <=> $b);
}
function evaluated() { return eval('return work(20000);'); }

$file = tempnam(sys_get_temp_dir(), 'php');
file_put_contents($file, '<?php return work(20000);');
while (used_ms() < $end) {
    $shape = new Shape;
    $shape->area();
    Shape::scale();
    $shape->nothing;
    $shape->each();
    $shape->sorted();
    unset($shape);
    deep(60);
    foreach (outer_numbers() as $n);
    array_sum(iterator_to_array(numbers(), false));
    caught();
    by_name('work');
    included($file);
    evaluated();
    fibers();
    preg_replace_callback('/\d/', fn($m) => work(2000), '1 2 3 4 5');
    array_walk($stacks, function ($v, $k) { return strlen($k); });
    strlen(str_repeat('x', 100000));
}
unlink($file);
foreach (array_keys($stacks) as $stack)
    echo "stack $stack\n";
