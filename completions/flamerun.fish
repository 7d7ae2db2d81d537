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
		else if contains -- "$word" --output --format --sample-type --label --focus --hide --ignore --root --by --source-map --demangle --palette --ground --title --subtitle --notes --count-name --width --min-width --frame-height --font --font-size --limit --of --fail-over --rate --duration --pid --repeat --warmup --job --clock --signal --jit --config --completions; or string match -qr -- '^-[qvh]*[ordpn]$' "$word"
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
complete -c flamerun -n 'not __flamerun_program' -a '(__flamerun_presets)' -d preset
complete -c flamerun -n 'not __flamerun_program; and not string match -qr "^(render|merge|top|diff)\$" -- (commandline -opc)' -a '(__fish_complete_command)'
complete -c flamerun -n __flamerun_program -x -a '(__flamerun_complete_program)'
complete -c flamerun -n 'not __flamerun_program' -s o -l output -r -F -d 'write graphs here: .svg .png .pdf .folded .pb.gz .pb .speedscope.json .firefox.json .json .md'
complete -c flamerun -n 'not __flamerun_program' -l format -x -a 'svg png pdf folded pb.gz pb speedscope.json firefox.json json md' -d 'format for - and for names that tell none'
complete -c flamerun -n 'not __flamerun_program' -l sample-type -x -d 'which values to draw: of a run cpu, wait or vm, or those of a file of stacks'
complete -c flamerun -n 'not __flamerun_program' -l label -x -d 'of what goes into a store: service, version, host, start'
complete -c flamerun -n 'not __flamerun_program' -l open -d 'open the picture when it is written'
complete -c flamerun -n 'not __flamerun_program' -l no-open -d 'undo --open'
complete -c flamerun -n 'not __flamerun_program' -l inline-suffix -d 'end names of inlined functions in _i, in folded stacks'
complete -c flamerun -n 'not __flamerun_program' -l no-inline-suffix -d 'undo --inline-suffix'
complete -c flamerun -n 'not __flamerun_program' -l focus -x -d 'keep the stacks in which a function matches'
complete -c flamerun -n 'not __flamerun_program' -l hide -x -d 'leave out the functions that match'
complete -c flamerun -n 'not __flamerun_program' -l wall -d 'draw the time in which threads wait as well'
complete -c flamerun -n 'not __flamerun_program' -l no-wall -d 'undo --wall'
complete -c flamerun -n 'not __flamerun_program' -l fold-idle -d 'show threads that only wait in one place as one box'
complete -c flamerun -n 'not __flamerun_program' -l no-fold-idle -d 'undo --fold-idle'
complete -c flamerun -n 'not __flamerun_program' -l reverse -d 'merge stacks from their innermost function'
complete -c flamerun -n 'not __flamerun_program' -l no-reverse -d 'undo --reverse'
complete -c flamerun -n 'not __flamerun_program' -l ignore -x -d 'leave out the stacks in which a function matches'
complete -c flamerun -n 'not __flamerun_program' -l root -x -d 'begin stacks at the function that matches'
complete -c flamerun -n 'not __flamerun_program' -l collapse-recursion -d 'show a function once on each stack'
complete -c flamerun -n 'not __flamerun_program' -l no-collapse-recursion -d 'undo --collapse-recursion'
complete -c flamerun -n 'not __flamerun_program' -l by -x -a 'function process thread module line file rank node' -d 'boxes are lines or modules, or stand on their process, thread or file; commas between'
complete -c flamerun -n 'not __flamerun_program' -l inline -d 'boxes for inlined functions; --no-inline makes them part of what they stand in'
complete -c flamerun -n 'not __flamerun_program' -l no-inline -d 'undo --inline'
complete -c flamerun -n 'not __flamerun_program' -l source-map -x -d 'source files below OLD are below NEW'
complete -c flamerun -n 'not __flamerun_program' -l threads -d 'give every thread a root of its own'
complete -c flamerun -n 'not __flamerun_program' -l no-threads -d 'undo --threads'
complete -c flamerun -n 'not __flamerun_program' -l demangle -x -a 'short full none' -d 'names of C++, Rust, D, Fortran: none, short or full'
complete -c flamerun -n 'not __flamerun_program' -l merge-templates -d 'functions are one that differ in template arguments or parameters'
complete -c flamerun -n 'not __flamerun_program' -l no-merge-templates -d 'undo --merge-templates'
complete -c flamerun -n 'not __flamerun_program' -l palette -x -a 'hot mem io aqua java js perl red green blue yellow purple orange by-module cividis okabe-ito' -d 'colours: hot, by-module, ... see flamerun(1)'
complete -c flamerun -n 'not __flamerun_program' -l icicle -d 'let the boxes hang from the top'
complete -c flamerun -n 'not __flamerun_program' -l no-icicle -d 'undo --icicle'
complete -c flamerun -n 'not __flamerun_program' -l ground -x -a 'light dark' -d 'what the picture stands on'
complete -c flamerun -n 'not __flamerun_program' -l title -x -d 'title of the picture'
complete -c flamerun -n 'not __flamerun_program' -l subtitle -x -d 'line below the title'
complete -c flamerun -n 'not __flamerun_program' -l notes -x -d 'text below the boxes'
complete -c flamerun -n 'not __flamerun_program' -l count-name -x -d 'what is counted'
complete -c flamerun -n 'not __flamerun_program' -l width -x -d 'width of the picture'
complete -c flamerun -n 'not __flamerun_program' -l min-width -x -d 'width below which boxes are merged'
complete -c flamerun -n 'not __flamerun_program' -l frame-height -x -d 'height of a box'
complete -c flamerun -n 'not __flamerun_program' -l font -x -d 'font of the labels'
complete -c flamerun -n 'not __flamerun_program' -l font-size -x -d 'size of the labels'
complete -c flamerun -n 'not __flamerun_program' -l limit -x -d 'rows of each table'
complete -c flamerun -n 'not __flamerun_program' -l of -x -d 'who calls the functions that match, and whom they call'
complete -c flamerun -n 'not __flamerun_program' -l json -d 'as JSON'
complete -c flamerun -n 'not __flamerun_program' -l csv -d 'as CSV'
complete -c flamerun -n 'not __flamerun_program' -l fail-over -x -d 'status 1 when a function became slower by more percent; REGEX=PERCENT: when one that matches'
complete -c flamerun -n 'not __flamerun_program' -l symbols -d 'push the names of programs and libraries, not stacks'
complete -c flamerun -n 'not __flamerun_program' -s r -l rate -x -d 'samples per CPU-second of each thread'
complete -c flamerun -n 'not __flamerun_program' -s d -l duration -x -d 'write the graph then; the program goes on'
complete -c flamerun -n 'not __flamerun_program' -s p -l pid -x -d 'sample running processes, which go on untouched'
complete -c flamerun -n 'not __flamerun_program' -s n -l repeat -x -d 'run the program so often, and draw all runs; of diff: two programs in turns'
complete -c flamerun -n 'not __flamerun_program' -l warmup -x -d 'with --repeat: runs before those, which do not count'
complete -c flamerun -n 'not __flamerun_program' -l ignore-failure -d 'with --repeat: go on when a run fails'
complete -c flamerun -n 'not __flamerun_program' -l job -r -F -d 'this is a rank of srun or mpirun: gather all ranks in DIR, and draw them as one'
complete -c flamerun -n 'not __flamerun_program' -l follow -d 'with -p: sample the children they have and start, too'
complete -c flamerun -n 'not __flamerun_program' -l no-follow -d 'undo --follow'
complete -c flamerun -n 'not __flamerun_program' -l outside -d 'sample from outside, by stopping threads, what could be sampled from inside'
complete -c flamerun -n 'not __flamerun_program' -l no-outside -d 'undo --outside'
complete -c flamerun -n 'not __flamerun_program' -l clock -x -a 'auto tick perf' -d 'sample at the kernels tick, by perf events, or by these where the tick is too slow'
complete -c flamerun -n 'not __flamerun_program' -l signal -x -a 'VTALRM PROF ALRM USR1 USR2 URG IO PWR STKFLT' -d 'sample by this signal, where a program needs the default one for itself'
complete -c flamerun -n 'not __flamerun_program' -l kernel -d 'show the kernels functions, where it allows'
complete -c flamerun -n 'not __flamerun_program' -l no-kernel -d 'undo --kernel'
complete -c flamerun -n 'not __flamerun_program' -l waits -d 'look at what threads wait for, without stopping them'
complete -c flamerun -n 'not __flamerun_program' -l no-waits -d 'undo --waits'
complete -c flamerun -n 'not __flamerun_program' -l wait-details -d 'name the files and locks that threads wait for'
complete -c flamerun -n 'not __flamerun_program' -l no-wait-details -d 'undo --wait-details'
complete -c flamerun -n 'not __flamerun_program' -l start-paused -d 'record nothing until the program says so'
complete -c flamerun -n 'not __flamerun_program' -l no-start-paused -d 'undo --start-paused'
complete -c flamerun -n 'not __flamerun_program' -l native -d 'show what runs Pythons functions beside them'
complete -c flamerun -n 'not __flamerun_program' -l no-native -d 'undo --native'
complete -c flamerun -n 'not __flamerun_program' -l jit -x -a 'none node python' -d 'have node write down names that its heap has not, as WebAssemblys'
complete -c flamerun -n 'not __flamerun_program' -l live -d 'show the hottest functions and threads once a second meanwhile'
complete -c flamerun -n 'not __flamerun_program' -l no-live -d 'undo --live'
complete -c flamerun -n 'not __flamerun_program' -l debuginfod -d 'ask servers for symbols that are not here'
complete -c flamerun -n 'not __flamerun_program' -l no-debuginfod -d 'undo --debuginfod'
complete -c flamerun -n 'not __flamerun_program' -l config -r -F -d 'read this settings file instead of the usual ones'
complete -c flamerun -n 'not __flamerun_program' -l no-config -d 'read no settings files'
complete -c flamerun -n 'not __flamerun_program' -l show-config -d 'show every setting and where it comes from'
complete -c flamerun -n 'not __flamerun_program' -s q -l quiet -d 'say only what went wrong'
complete -c flamerun -n 'not __flamerun_program' -l no-quiet -d 'undo --quiet'
complete -c flamerun -n 'not __flamerun_program' -s v -l verbose -d 'say more'
complete -c flamerun -n 'not __flamerun_program' -l no-verbose -d 'undo --verbose'
complete -c flamerun -n 'not __flamerun_program' -s h -l help -d 'show this help'
complete -c flamerun -n 'not __flamerun_program' -l version -d 'show the version'
complete -c flamerun -n 'not __flamerun_program' -l completions -x -a 'bash zsh fish' -d 'write the completion script for this shell'
