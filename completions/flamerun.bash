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
	--format) COMPREPLY=($(compgen -W 'svg png pdf folded pb.gz pb speedscope.json firefox.json json md' -- "$2")) ;;
	--by) COMPREPLY=($(compgen -W 'function process thread module line file rank node' -- "$2")) ;;
	--demangle) COMPREPLY=($(compgen -W 'short full none' -- "$2")) ;;
	--palette) COMPREPLY=($(compgen -W 'hot mem io aqua java js perl red green blue yellow purple orange by-module cividis okabe-ito' -- "$2")) ;;
	--ground) COMPREPLY=($(compgen -W 'light dark' -- "$2")) ;;
	--job) __flamerun_files "$2" ;;
	--clock) COMPREPLY=($(compgen -W 'auto tick perf' -- "$2")) ;;
	--signal) COMPREPLY=($(compgen -W 'VTALRM PROF ALRM USR1 USR2 URG IO PWR STKFLT' -- "$2")) ;;
	--jit) COMPREPLY=($(compgen -W 'none node python' -- "$2")) ;;
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
		--output|--format|--sample-type|--label|--focus|--hide|--ignore|--root|--by|--source-map|--demangle|--palette|--ground|--title|--subtitle|--notes|--count-name|--width|--min-width|--frame-height|--font|--font-size|--limit|--of|--fail-over|--rate|--duration|--pid|--repeat|--warmup|--job|--clock|--signal|--jit|--config|--completions|-[ordpn]|-[qvh][ordpn]) pending=$word ;;
		-*) ;;
		@) ((i++)) ;; # "@name" comes as two
		@*) ;;
		render|merge|top|diff) rendering=1 ;;
		*) [[ $rendering ]] || { __flamerun_program "$i"; return; } ;;
		esac
	done
	[[ $current == '=' ]] && current=''
	if [[ $pending ]]; then
		[[ $pending == --* ]] || pending=-${pending: -1}
		__flamerun_value "$pending" "$current"
	elif [[ $current == --no-* ]]; then
		COMPREPLY=($(compgen -W '--no-config --no-open --no-inline-suffix --no-wall --no-fold-idle --no-reverse --no-collapse-recursion --no-inline --no-threads --no-merge-templates --no-icicle --no-follow --no-outside --no-kernel --no-waits --no-wait-details --no-start-paused --no-native --no-live --no-debuginfod --no-quiet --no-verbose' -- "$current"))
	elif [[ $current == -* ]]; then
		COMPREPLY=($(compgen -W ' --output --format --sample-type --label --open --inline-suffix --focus --hide --wall --fold-idle --reverse --ignore --root --collapse-recursion --by --inline --source-map --threads --demangle --merge-templates --palette --icicle --ground --title --subtitle --notes --count-name --width --min-width --frame-height --font --font-size --limit --of --json --csv --fail-over --symbols --rate --duration --pid --repeat --warmup --ignore-failure --job --follow --outside --clock --signal --kernel --waits --wait-details --start-paused --native --jit --live --debuginfod --config --no-config --show-config --quiet --verbose --help --version --completions' -- "$current"))
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
