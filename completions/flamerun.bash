# SPDX-License-Identifier: MIT
# bash completion for flamerun. Written by: flamerun --completions bash

__flamerun_files()
{
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

__flamerun_presets()
{
	sh -c 'case $XDG_CONFIG_HOME in /*) user=$XDG_CONFIG_HOME ;; *) user=~/.config ;; esac
		exec sed -n "s/^[[:blank:]]*\[preset  *\([^]]*\)\].*/@\1/p" \
			/etc/flamerun.ini "$user/flamerun/flamerun.ini" .flamerun.ini' 2>/dev/null
}

# The value $2 of option $1.
__flamerun_value()
{
	case $1 in
	--output|-o) __flamerun_files "$2" ;;
	--format) COMPREPLY=($(compgen -W 'svg png pdf folded pb.gz pb pgo speedscope.json firefox.json json md' -- "$2")) ;;
	--jit) COMPREPLY=($(compgen -W 'none node python' -- "$2")) ;;
	--clock) COMPREPLY=($(compgen -W 'auto tick perf' -- "$2")) ;;
	--signal) COMPREPLY=($(compgen -W 'VTALRM PROF ALRM USR1 USR2 URG IO PWR STKFLT' -- "$2")) ;;
	--by) COMPREPLY=($(compgen -W 'function process thread module line file rank node' -- "$2")) ;;
	--demangle) COMPREPLY=($(compgen -W 'short full none' -- "$2")) ;;
	--palette) COMPREPLY=($(compgen -W 'hot mem io aqua java js perl red green blue yellow purple orange by-module cividis okabe-ito' -- "$2")) ;;
	--ground) COMPREPLY=($(compgen -W 'light dark' -- "$2")) ;;
	--job) __flamerun_files "$2" ;;
	--config) __flamerun_files "$2" ;;
	--completions) COMPREPLY=($(compgen -W 'bash zsh fish' -- "$2")) ;;
	esac
}

# The program at word $1 and its arguments, as for sudo.
__flamerun_program()
{
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif [ "$COMP_CWORD" -eq "$1" ]; then
		mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
	else
		__flamerun_files "${COMP_WORDS[COMP_CWORD]}"
	fi
}

_flamerun()
{
	local current=${COMP_WORDS[COMP_CWORD]} pending='' rendering='' i word
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		# "--rate=99" comes as three words.
		if [[ $word == '=' ]]; then
			continue
		elif [[ $pending ]]; then
			pending=''
			continue
		fi
		case $word in
		--) [[ $rendering ]] || { __flamerun_program $((i + 1)); return; } ;;
		--output|--format|--pid|--jit|--rate|--duration|--clock|--signal|--repeat|--warmup|--sample-type|--focus|--ignore|--root|--hide|--by|--demangle|--source-map|--title|--subtitle|--notes|--count-name|--palette|--ground|--width|--min-width|--frame-height|--font|--font-size|--limit|--of|--fail-over|--job|--label|--config|--completions|-[oprdn]|-[qvh][oprdn]) pending=$word ;;
		-*) ;;
		@) ((i++)) ;; # "@name" comes as two
		@*) ;;
		render|merge|top|diff|push) rendering=1 ;;
		*) [[ $rendering ]] || { __flamerun_program "$i"; return; } ;;
		esac
	done
	[[ $current == '=' ]] && current=''
	if [[ $pending ]]; then
		[[ $pending == --* ]] || pending=-${pending: -1}
		__flamerun_value "$pending" "$current"
	elif [[ $current == --no-* ]]; then
		COMPREPLY=($(compgen -W '--no-config --no-open --no-live --no-follow --no-kernel --no-native --no-outside --no-start-paused --no-wall --no-waits --no-wait-details --no-fold-idle --no-reverse --no-threads --no-inline --no-collapse-recursion --no-merge-templates --no-debuginfod --no-inline-suffix --no-icicle --no-quiet --no-verbose' -- "$current"))
	elif [[ $current == -* ]]; then
		COMPREPLY=($(compgen -W ' --output --format --open --live --pid --follow --kernel --native --jit --outside --rate --duration --start-paused --clock --signal --repeat --warmup --ignore-failure --wall --waits --wait-details --fold-idle --sample-type --focus --ignore --root --hide --reverse --by --threads --inline --collapse-recursion --merge-templates --demangle --debuginfod --source-map --inline-suffix --title --subtitle --notes --count-name --palette --ground --icicle --width --min-width --frame-height --font --font-size --limit --of --json --csv --fail-over --job --label --symbols --config --no-config --show-config --quiet --verbose --help --version --completions' -- "$current"))
	elif [[ $rendering ]]; then
		__flamerun_files "$current"
	elif [[ $current == @* || ${COMP_WORDS[COMP_CWORD - 1]} == @ ]]; then
		COMPREPLY=($(compgen -W "$(__flamerun_presets)" -- "@${current#@}"))
	else
		__flamerun_program "$COMP_CWORD"
		COMPREPLY+=($(compgen -W 'render merge top diff push' -- "$current"))
	fi
}
complete -F _flamerun flamerun
