/* SPDX-License-Identifier: MIT */
/*
 * Push mangled names; readers demangle them. A function has a row for each page that it touches,
 * because readers search functions by page (named_frames.h).
 */
#include "cli/store/symbols_push.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/store/http.h"
#include "cli/store/named_frames.h"
#include "cli/store/rows.h"
#include "cli/store/tables.h"
#include "cli/symbols/elf_file.h"
#include "cli/symbols/module.h"
#include "cli/symbols/symtab.h"

#define PAGES_MAX 4096u /* per function: 16 MiB */

static void put_piece(struct bytes *rows, const char *build_id, const struct symtab_symbol *symbol,
	uint64_t start, uint64_t end)
{
	uint64_t first = start >> STORE_PAGE_BITS, last = (end - 1) >> STORE_PAGE_BITS;
	char name[ROWS_TEXT_BYTES];

	snprintf(name, sizeof(name), "%.4000s%s", symbol->name, symbol->is_plt ? "@plt" : "");
	for (uint64_t page = first; page <= last && page - first < PAGES_MAX; page++) {
		rows_put_text(rows, build_id);
		rows_put_uint(rows, page, 8);
		rows_put_uint(rows, start, 8);
		rows_put_uint(rows, end, 8);
		rows_put_text(rows, name);
	}
}

static size_t put_table(struct bytes *rows, const char *build_id, const struct symtab *table)
{
	size_t count = 0;

	for (size_t i = 0; i < symtab_pieces(table); i++) {
		uint64_t start, end;
		const struct symtab_symbol *symbol = symtab_piece(table, i, &start, &end);

		if (!symbol || !symbol->name || !*symbol->name || end <= start)
			continue;
		put_piece(rows, build_id, symbol, start, end);
		count++;
	}
	return count;
}

/* Read the build-id and the functions of file @path. Returns 0, or -errno with @message filled. */
static int read_symbols(const char *path, char build_id[ELF_FILE_ID_TEXT], struct bytes *rows,
	size_t *count, struct diag_message *message)
{
	struct elf_file file;
	const uint8_t *id;
	struct symbols_module module = {.path = path};
	struct symbols_origin origin = {.path = NULL};
	struct symtab *table = NULL;
	int error = elf_file_open(&file, path, 0);

	if (error)
		return diag_fail(message, error, "cannot read '%s': %s", path,
			error == -ENOEXEC ? "it is no 64-bit ELF file" : strerror(-error));
	module.build_id_bytes = elf_file_build_id(&file, &id);
	module.build_id = id;
	error = elf_file_id_text(id, module.build_id_bytes, build_id);
	if (error)
		diag_fail(message, error, "'%s' has no build-id to be known by", path);
	if (!error) {
		error = module_read(&module, &table, &origin);
		if (error)
			diag_fail(message, error, "cannot read '%s': %s", path, strerror(-error));
	}
	elf_file_close(&file);
	if (error)
		return error;
	*count = put_table(rows, build_id, table);
	symtab_free(table);
	free((char *)(uintptr_t)origin.path);
	return *count ? rows->error : diag_fail(message, -ENOENT, "'%s' has no symbols", path);
}

/* Returns 1 if the symbols of @build_id were pushed, 0 if not, or -errno. Makes missing tables. */
static int is_there(
	struct store_push *push, unsigned host, const char *build_id, struct diag_message *message)
{
	struct store_request request = {.host = host};
	struct rows rows;
	int error;

	store_request_text(&request,
		"SELECT count() FROM %s.symbols WHERE build_id = '%s' AND page = %llu FORMAT "
		"RowBinary",
		store_push_address(push)->database, build_id, (unsigned long long)UINT64_MAX);
	error = store_http_ask(store_push_http(push), &request, 1, message);
	if (error == -ENOENT) {
		error = store_tables_make(
			store_push_http(push), store_push_address(push), host, message);
		store_requests_release(&request, 1);
		return error;
	}
	rows = rows_of(&request.answer);
	if (!error)
		error = rows_uint(&rows, 8) != 0;
	store_requests_release(&request, 1);
	return error;
}

static int insert(struct store_push *push, unsigned host, const struct bytes *rows,
	struct diag_message *message)
{
	struct store_request request = {.host = host, .in = rows};
	int error;

	store_request_text(&request,
		"INSERT INTO %s.symbols (build_id, page, start, end, name) FORMAT RowBinary",
		store_push_address(push)->database);
	error = store_http_ask(store_push_http(push), &request, 1, message);
	store_requests_release(&request, 1);
	return error;
}

int symbols_push(
	struct store_push *push, const char *path, size_t *count, struct diag_message *message)
{
	char build_id[ELF_FILE_ID_TEXT];
	struct bytes rows = {0}, whole = {0};
	size_t functions = 0;
	int error = read_symbols(path, build_id, &rows, &functions, message);

	/* Make the row that is inserted last. Its page UINT64_MAX marks the push as complete. */
	rows_put_text(&whole, build_id);
	for (unsigned i = 0; i < 3; i++)
		rows_put_uint(&whole, i ? 0 : UINT64_MAX, 8);
	rows_put_text(&whole, "");
	*count = 0;
	for (unsigned i = 0; !error && i < store_push_address(push)->hosts; i++) {
		error = is_there(push, i, build_id, message);
		if (error > 0) {
			error = 0;
			continue;
		}
		if (!error)
			error = insert(push, i, &rows, message);
		if (!error)
			error = insert(push, i, &whole, message);
		*count = functions;
	}
	bytes_release(&rows);
	bytes_release(&whole);
	return error;
}
