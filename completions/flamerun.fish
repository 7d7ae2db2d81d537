# SPDX-License-Identifier: MIT
# fish completion for flamerun. Written by: flamerun --completions fish

# Is the program already among the words? Leaves it and its arguments in
# __flamerun_words.
function __flamerun_program
	set -l words (commandline -opc)
	set -g __flamerun_words
	set -l i 2
	while test $i -le (count $words)
		set -l word $words[$i]
		set i (math $i + 1)
		if test "$word" = --
			set -g __flamerun_words $words[$i..]
			return 0
		else if contains -- "$word" --output --format --pid --jit --rate --duration --clock --signal --repeat --warmup --sample-type --focus --ignore --root --hide --by --demangle --source-map --title --subtitle --notes --count-name --palette --ground --width --min-width --frame-height --font --font-size --limit --of --fail-over --job --label --config --completions; or string match -qr -- '^-[qvh]*[oprdn]$' "$word"
			set i (math $i + 1)
		else if contains -- "$word" render merge top diff push
			return 1
		else if string match -qr -- '^[-@]' "$word"
		else
			set -g __flamerun_words $word $words[$i..]
			return 0
		end
	end
	return 1
end

function __flamerun_presets
	sh -c 'case $XDG_CONFIG_HOME in /*) user=$XDG_CONFIG_HOME ;; *) user=~/.config ;; esac
		exec sed -n "s/^[[:blank:]]*\[preset  *\([^]]*\)\].*/@\1/p" \
			/etc/flamerun.ini "$user/flamerun/flamerun.ini" .flamerun.ini' 2>/dev/null
end

function __flamerun_complete_program
	set -l line (string escape -- $__flamerun_words)
	complete -C (string join ' ' -- $line (commandline -ct))
end

complete -c flamerun -n 'not __flamerun_program' -a render -d 'draw folded stacks'
complete -c flamerun -n 'not __flamerun_program' -a merge -d 'many files as one'
complete -c flamerun -n 'not __flamerun_program' -a top -d 'tables of functions'
complete -c flamerun -n 'not __flamerun_program' -a diff -d 'what changed'
complete -c flamerun -n 'not __flamerun_program' -a push -d 'store profiles in ClickHouse'
complete -c flamerun -n 'not __flamerun_program' -a '(__flamerun_presets)' -d preset
complete -c flamerun -n 'not __flamerun_program; and not string match -qr "^(render|merge|top|diff|push)\$" -- (commandline -opc)' -a '(__fish_complete_command)'
complete -c flamerun -n __flamerun_program -x -a '(__flamerun_complete_program)'
complete -c flamerun -n 'not __flamerun_program' -s o -l output -r -F -d 'write to FILE: .svg .png .pdf .folded .pb.gz .pb .pgo .speedscope.json .firefox.json .json .md'
complete -c flamerun -n 'not __flamerun_program' -l format -x -a 'svg png pdf folded pb.gz pb pgo speedscope.json firefox.json json md' -d 'the format, if the ending of FILE does not say it'
complete -c flamerun -n 'not __flamerun_program' -l open -d 'open the picture when it is written'
complete -c flamerun -n 'not __flamerun_program' -l no-open -d 'undo --open'
complete -c flamerun -n 'not __flamerun_program' -l live -d 'show the hottest functions while the program runs'
complete -c flamerun -n 'not __flamerun_program' -l no-live -d 'undo --live'
complete -c flamerun -n 'not __flamerun_program' -s p -l pid -x -d 'sample running processes: PID or PID,PID,...'
complete -c flamerun -n 'not __flamerun_program' -l follow -d 'with -p: sample the child processes, too'
complete -c flamerun -n 'not __flamerun_program' -l no-follow -d 'undo --follow'
complete -c flamerun -n 'not __flamerun_program' -l kernel -d 'show kernel functions, too, if the kernel allows it'
complete -c flamerun -n 'not __flamerun_program' -l no-kernel -d 'undo --kernel'
complete -c flamerun -n 'not __flamerun_program' -l native -d 'show native functions of interpreters and VMs, too'
complete -c flamerun -n 'not __flamerun_program' -l no-native -d 'undo --native'
complete -c flamerun -n 'not __flamerun_program' -l jit -x -a 'none node python' -d 'make node or python name generated code'
complete -c flamerun -n 'not __flamerun_program' -l outside -d 'sample with ptrace, without a library in the program'
complete -c flamerun -n 'not __flamerun_program' -l no-outside -d 'undo --outside'
complete -c flamerun -n 'not __flamerun_program' -s r -l rate -x -d 'samples per CPU second of each thread'
complete -c flamerun -n 'not __flamerun_program' -s d -l duration -x -d 'end sampling after this time; the program continues'
complete -c flamerun -n 'not __flamerun_program' -l start-paused -d 'sample nothing until flameprof_resume() is called'
complete -c flamerun -n 'not __flamerun_program' -l no-start-paused -d 'undo --start-paused'
complete -c flamerun -n 'not __flamerun_program' -l clock -x -a 'auto tick perf' -d 'sample by kernel tick, by perf event, or auto'
complete -c flamerun -n 'not __flamerun_program' -l signal -x -a 'VTALRM PROF ALRM USR1 USR2 URG IO PWR STKFLT' -d 'signal that interrupts a thread to sample it'
complete -c flamerun -n 'not __flamerun_program' -s n -l repeat -x -d 'run the program N times and draw all runs as one'
complete -c flamerun -n 'not __flamerun_program' -l warmup -x -d 'with -n: begin with N runs that are not counted'
complete -c flamerun -n 'not __flamerun_program' -l ignore-failure -d 'with -n: continue if a run fails'
complete -c flamerun -n 'not __flamerun_program' -l wall -d 'draw the time in which threads wait, too'
complete -c flamerun -n 'not __flamerun_program' -l no-wall -d 'undo --wall'
complete -c flamerun -n 'not __flamerun_program' -l waits -d 'record what threads wait for'
complete -c flamerun -n 'not __flamerun_program' -l no-waits -d 'undo --waits'
complete -c flamerun -n 'not __flamerun_program' -l wait-details -d 'show which file or lock a thread waits for'
complete -c flamerun -n 'not __flamerun_program' -l no-wait-details -d 'undo --wait-details'
complete -c flamerun -n 'not __flamerun_program' -l fold-idle -d 'draw the idle threads of a process as one box'
complete -c flamerun -n 'not __flamerun_program' -l no-fold-idle -d 'undo --fold-idle'
complete -c flamerun -n 'not __flamerun_program' -l sample-type -x -d 'values to draw: cpu, wait, vm, or a name in a file'
complete -c flamerun -n 'not __flamerun_program' -l focus -x -d 'keep only stacks that contain a matching function'
complete -c flamerun -n 'not __flamerun_program' -l ignore -x -d 'leave out stacks that contain a matching function'
complete -c flamerun -n 'not __flamerun_program' -l root -x -d 'begin each stack at its outermost matching function'
complete -c flamerun -n 'not __flamerun_program' -l hide -x -d 'leave out matching functions; keep what they call'
complete -c flamerun -n 'not __flamerun_program' -l reverse -d 'merge from the innermost function: bottom-up graph'
complete -c flamerun -n 'not __flamerun_program' -l no-reverse -d 'undo --reverse'
complete -c flamerun -n 'not __flamerun_program' -l by -x -a 'function process thread module line file rank node' -d 'group by line, module, process, thread ...'
complete -c flamerun -n 'not __flamerun_program' -l threads -d 'draw each thread separately: --by thread'
complete -c flamerun -n 'not __flamerun_program' -l no-threads -d 'undo --threads'
complete -c flamerun -n 'not __flamerun_program' -l inline -d 'draw a box for each inlined function'
complete -c flamerun -n 'not __flamerun_program' -l no-inline -d 'undo --inline'
complete -c flamerun -n 'not __flamerun_program' -l collapse-recursion -d 'draw a recursive function once per stack'
complete -c flamerun -n 'not __flamerun_program' -l no-collapse-recursion -d 'undo --collapse-recursion'
complete -c flamerun -n 'not __flamerun_program' -l merge-templates -d 'draw template instances and overloads as one function'
complete -c flamerun -n 'not __flamerun_program' -l no-merge-templates -d 'undo --merge-templates'
complete -c flamerun -n 'not __flamerun_program' -l demangle -x -a 'short full none' -d 'C++, Rust, D ... names: none, short, full'
complete -c flamerun -n 'not __flamerun_program' -l debuginfod -d 'fetch missing symbols from debuginfod servers'
complete -c flamerun -n 'not __flamerun_program' -l no-debuginfod -d 'undo --debuginfod'
complete -c flamerun -n 'not __flamerun_program' -l source-map -x -d 'source files in folder OLD are now in NEW'
complete -c flamerun -n 'not __flamerun_program' -l inline-suffix -d 'mark names of inlined functions in .folded files'
complete -c flamerun -n 'not __flamerun_program' -l no-inline-suffix -d 'undo --inline-suffix'
complete -c flamerun -n 'not __flamerun_program' -l title -x -d 'title (default: the command)'
complete -c flamerun -n 'not __flamerun_program' -l subtitle -x -d 'line below the title (default: what was counted)'
complete -c flamerun -n 'not __flamerun_program' -l notes -x -d 'text below the boxes'
complete -c flamerun -n 'not __flamerun_program' -l count-name -x -d 'name of what is counted (default: samples)'
complete -c flamerun -n 'not __flamerun_program' -l palette -x -a 'hot mem io aqua java js perl red green blue yellow purple orange by-module cividis okabe-ito' -d 'colours: hot, mem, io, by-module, cividis, ...'
complete -c flamerun -n 'not __flamerun_program' -l ground -x -a 'light dark' -d 'background: light or dark'
complete -c flamerun -n 'not __flamerun_program' -l icicle -d 'draw the graph from the top down'
complete -c flamerun -n 'not __flamerun_program' -l no-icicle -d 'undo --icicle'
complete -c flamerun -n 'not __flamerun_program' -l width -x -d 'width of the picture'
complete -c flamerun -n 'not __flamerun_program' -l min-width -x -d 'merge boxes that are narrower'
complete -c flamerun -n 'not __flamerun_program' -l frame-height -x -d 'height of a box (default: 18)'
complete -c flamerun -n 'not __flamerun_program' -l font -x -d 'font of all text'
complete -c flamerun -n 'not __flamerun_program' -l font-size -x -d 'size of the labels (default: 11)'
complete -c flamerun -n 'not __flamerun_program' -l limit -x -d 'rows of each table (default: 10 of top, 20 of diff)'
complete -c flamerun -n 'not __flamerun_program' -l of -x -d 'top: callers and callees of matching functions'
complete -c flamerun -n 'not __flamerun_program' -l json -d 'print the tables as JSON'
complete -c flamerun -n 'not __flamerun_program' -l csv -d 'top: print the tables as CSV'
complete -c flamerun -n 'not __flamerun_program' -l fail-over -x -d 'diff: exit with 1 if a function gets slower by more than LIMIT percent; REGEX=PERCENT: matching ones only'
complete -c flamerun -n 'not __flamerun_program' -l job -r -F -d 'collect all ranks of an srun or mpirun job in DIR'
complete -c flamerun -n 'not __flamerun_program' -l label -x -d 'label in the store: service=, version=, host=, start='
complete -c flamerun -n 'not __flamerun_program' -l symbols -d 'push: store symbol names of programs, not stacks'
complete -c flamerun -n 'not __flamerun_program' -l config -r -F -d 'read FILE instead of the usual settings files'
complete -c flamerun -n 'not __flamerun_program' -l no-config -d 'read no settings files'
complete -c flamerun -n 'not __flamerun_program' -l show-config -d 'print all settings and where each is set'
complete -c flamerun -n 'not __flamerun_program' -s q -l quiet -d 'print only errors'
complete -c flamerun -n 'not __flamerun_program' -l no-quiet -d 'undo --quiet'
complete -c flamerun -n 'not __flamerun_program' -s v -l verbose -d 'print details: losses, symbol sources, sampling cost'
complete -c flamerun -n 'not __flamerun_program' -l no-verbose -d 'undo --verbose'
complete -c flamerun -n 'not __flamerun_program' -s h -l help -d 'list the most used options (-h) or all (--help)'
complete -c flamerun -n 'not __flamerun_program' -l version -d 'print the version'
complete -c flamerun -n 'not __flamerun_program' -l completions -x -a 'bash zsh fish' -d 'print the completion script for bash, zsh or fish'
