/* SPDX-License-Identifier: MIT */
/* Draw the screen of --live with curses, or write its line if the output is no terminal. */
#include "cli/run/live_screen.h"

#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "cli/diag.h"

#define THREADS_MAX 8 /* rows; at most 1/3 of the screen */
#define BAR_COLUMNS 12
#define NAME_BYTES  512
#define LINE_SHOWS  3
#define KEYS	    "p pause   r reset   w write the picture   q quit"

static SCREEN *screen;

/* Disable Ctrl-Z. It would stop the program while the terminal still shows the screen. */
static void forbid_suspend(void)
{
	struct termios terminal;

	if (tcgetattr(STDIN_FILENO, &terminal))
		return;
	terminal.c_cc[VSUSP] = _POSIX_VDISABLE;
	tcsetattr(STDIN_FILENO, TCSANOW, &terminal);
}

int live_screen_begin(void)
{
	setlocale(LC_CTYPE, "");
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return -ENOTTY;
	if (!tigetstr("cup")) {
		live_screen_end();
		return -ENOTTY;
	}
	cbreak();
	noecho();
	curs_set(0);
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	forbid_suspend();
	return 0;
}

void live_screen_end(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
}

enum live_key live_screen_key(void)
{
	switch (getch()) {
	case ERR:
		return LIVE_NONE;
	case 'p':
	case ' ':
		return LIVE_PAUSE;
	case 'r':
		return LIVE_RESET;
	case 'w':
		return LIVE_WRITE;
	case 'q':
		return LIVE_QUIT;
	default:
		return LIVE_REDRAW;
	}
}

/* Read the window's size at each update, because SIGWINCH is forwarded to the program. */
static void follow_size(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col ||
		!is_term_resized(size.ws_row, size.ws_col))
		return;
	resizeterm(size.ws_row, size.ws_col);
	clearok(curscr, TRUE);
}

/* Write the part of @text that fits into @room columns. A character is 0 to 2 columns wide. */
static void put_text(int y, int x, int room, const char *text)
{
	char clean[NAME_BYTES];
	wchar_t wide[NAME_BYTES];
	size_t count;
	int used = 0, width;

	snprintf(clean, sizeof(clean), "%s", text);
	diag_disarm(clean);
	count = mbstowcs(wide, clean, NAME_BYTES - 1);
	if (count == (size_t)-1) { /* invalid in this locale */
		mvaddnstr(y, x, clean, room > 0 ? room : 0);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		width = wcwidth(wide[i]);
		if (width < 0 || used + width > room) {
			count = i;
			break;
		}
		used += width;
	}
	mvaddnwstr(y, x, wide, (int)count);
}

static void put_bar(int y, int x, double share)
{
	int filled = (int)(share * BAR_COLUMNS + 0.5);

	filled = filled > BAR_COLUMNS ? BAR_COLUMNS : filled;
	attron(A_REVERSE);
	for (int i = 0; i < filled; i++)
		mvaddch(y, x + i, ' ');
	attroff(A_REVERSE);
}

static void put_heading(int y, const char *text)
{
	attron(A_BOLD);
	put_text(y, 0, COLS, text);
	attroff(A_BOLD);
}

static int put_threads(const struct live_view *view, int y)
{
	int rows = LINES / 3 < THREADS_MAX ? LINES / 3 : THREADS_MAX;
	char text[NAME_BYTES];

	put_heading(y++, "   now   all              thread");
	for (size_t i = 0; i < view->thread_count && rows > 0; i++, rows--, y++) {
		const struct live_thread *thread = &view->threads[i];

		snprintf(text, sizeof(text), "%5.1f%% %4.0f%%", 100 * thread->cpus_now,
			100 * thread->share);
		put_text(y, 0, COLS, text);
		put_bar(y, 13, thread->cpus_now);
		snprintf(text, sizeof(text), "%s, %u", thread->name,
			thread->tid ? thread->tid : thread->pid);
		put_text(y, 14 + BAR_COLUMNS, COLS - 14 - BAR_COLUMNS, text);
	}
	return y;
}

static void put_functions(const struct live_view *view, int y)
{
	char text[NAME_BYTES];

	put_heading(y++, "   now   self  total              function");
	for (size_t i = 0; i < view->function_count && y < LINES - 1; i++, y++) {
		const struct live_function *function = &view->functions[i];

		snprintf(text, sizeof(text), "%5.1f%% %5.1f%% %5.1f%%", 100 * function->now,
			100 * function->self, 100 * function->total);
		put_text(y, 0, COLS, text);
		put_bar(y, 21, function->now);
		put_text(y, 22 + BAR_COLUMNS, COLS - 22 - BAR_COLUMNS, function->name);
	}
}

void live_screen_show(const struct live_view *view)
{
	char text[NAME_BYTES];
	int y;

	follow_size();
	erase();
	snprintf(text, sizeof(text), "%s%s", view->is_paused ? "[paused] " : "", view->title);
	put_heading(0, text);
	snprintf(text, sizeof(text), "%.0f s, %.2f CPUs now, %llu samples", view->elapsed_s,
		view->cpus_now, (unsigned long long)view->samples);
	if (view->lost)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), ", %llu lost",
			(unsigned long long)view->lost);
	put_text(1, 0, COLS, text);
	y = put_threads(view, 3);
	put_functions(view, y + 1);
	attron(A_REVERSE);
	mvhline(LINES - 1, 0, ' ', COLS);
	put_text(LINES - 1, 0, COLS, view->notice[0] ? view->notice : KEYS);
	attroff(A_REVERSE);
	refresh();
}

void live_screen_line(const struct live_view *view, char *out, size_t size)
{
	int at = snprintf(out, size, "%.0f s: %.2f CPUs", view->elapsed_s, view->cpus_now);
	size_t shown = 0;

	for (size_t i = 0; i < view->function_count && shown < LINE_SHOWS; i++) {
		const struct live_function *function = &view->functions[i];

		if (function->now <= 0 || at < 0 || (size_t)at >= size)
			continue;
		at += snprintf(out + at, size - (size_t)at, ", %.1f %% %.120s", 100 * function->now,
			function->name);
		shown++;
	}
	if (view->lost && at >= 0 && (size_t)at < size)
		snprintf(
			out + at, size - (size_t)at, ", %llu lost", (unsigned long long)view->lost);
	diag_disarm(out);
}
