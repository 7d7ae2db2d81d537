// SPDX-License-Identifier: MIT
// @ts-check
// Names by which functions of two profiles are compared. Compilers and runtimes write numbers into
// names that differ from one build or run to the next, although the function is the same. These
// numbers are cut off. This file uses no DOM.

/**
 * What is replaced, and by what, in this order. The Makefile makes the table of
 * cli/compare/renumbered.c from these lines, so each rule is one line, and its syntax is common to
 * JavaScript and PCRE2. tests/renumbered.tsv has test cases for both.
 * @type {[RegExp, string][]}
 */
const RULES = [
	// Java: lambdas, other hidden classes, proxies, reflection.
	[/(\$\$Lambda)(?:\$\d+)?(?:[/+.](?:0x[\da-f]+|\d+))?(?![\w$])/g, '$1'],
	[/(\bLambdaForm\$\w+)\/\d+(?!\w)/g, '$1'],
	[/([\w$])[/+.]0x[\da-f]{8,16}(?=[./(]|$)/g, '$1'],
	[/(\$Proxy|\bjdk\.proxy|\bGenerated(?:Method|Constructor|SerializationConstructor)Accessor)\d+(?!\w)/g, '$1'],
	// C++ and Rust: lambdas and closures of one function, files of static functions.
	[/(\)|\{unnamed type|\{closure)#\d+(?=\})/g, '$1'],
	[/('lambda|'unnamed)\d+(?=')/g, '$1'],
	[/(::\$_)\d+(?!\w)/g, '$1'],
	[/(\w)\.__uniq\.\d+(?![\w.])/g, '$1'],
	// JavaScript: modules in bundles, and the hash of a bundle's content.
	[/^\d+(?= \([^()]*\.[cm]?js:\d+\)$)|(?<=\b__webpack_modules__\.)\d+/g, 'module'],
	[/([\w~-])[.-](?=\d*[a-f])[\da-f]{8,32}(?=(?:\.(?:async|bundle|chunk|min))*\.[cm]?js\b)/g, '$1'],
	// Ruby's singleton classes, Perl's evaluated text.
	[/(#<\w+):0x[\da-f]{8,16}/g, '$1'],
	[/(\(eval) \d+(?=\))/g, '$1'],
	// Code made at run time: LuaJIT, PHP, Julia, .NET, PostgreSQL, the kernel's BPF.
	[/^(TRACE)[_-]\d+(?=\$|::)/g, '$1'],
	[/^((?:julia|jfptr|japi1|jlsys|jlplt)_.+)_\d+$/g, '$1'],
	[/(\blambda_method)\d+(?!\w)/g, '$1'],
	[/^(evalexpr|deform)_\d+_\d+$/g, '$1'],
	[/^(bpf_trampoline)_\d+$/g, '$1'],
	[/^(bpf_prog)_[\da-f]{16}(?=_|$)/g, '$1'],
	// The last rule, only for names that one profile lacks: the line where a function begins.
	[/( \([^()]*):\d+(?=\)$)/g, '$1'],
];

/** Number of characters at the end of a name in which suffixes of compilers are searched. */
const TAIL = 80;

/** Drop the suffixes of compiler-made copies of a function, as cli/symbols/demangle.c does. */
function withoutCopies(/** @type {string} */ name) {
	const clone = name.indexOf(' [clone ');
	if (clone >= 0 && name.endsWith(']') && !name.includes(']:', clone))
		name = name.slice(0, clone);
	const cut = (/** @type {RegExp} */ end) => {
		const length = name.slice(-TAIL).match(end)?.[0].length || 0;
		name = name.slice(0, name.length - (length < name.length ? length : 0));
		return length;
	};
	while (cut(/\.((constprop|isra|part|llvm|lto_priv)\.\d+|(cold|localalias)(\.\d+)?)$/));
	cut(/::h[\da-f]{16}$/i);
	return name;
}

/**
 * Returns the name by which a function is compared. @param {string} name
 * @param {boolean} isCommon both profiles have this name
 */
export function comparedName(name, isCommon) {
	return RULES.slice(0, isCommon ? -1 : undefined)
		.reduce((text, [part, kept]) => text.replace(part, kept), withoutCopies(name)) || name;
}
