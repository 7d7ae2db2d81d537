/* SPDX-License-Identifier: MIT */
/*
 * Name frames by pushed symbols. A frame without a name has the build-id of its module as file, and
 * its address in the name (render/calltree.h). The table of symbols is sorted by pages, so
 * functions are selected by the page of the address.
 */
#include "cli/store/named_frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/store/store_profile.h"
#include "cli/symbols/demangle.h"

struct named_symbol {
	uint64_t start, end;
	/* offset in named_frames.symbols */
	size_t row;
};

int named_frames_index(struct named_frames *frames, const struct bytes *answer)
{
	struct rows rows = rows_of(answer);
	struct store_frame frame;

	frames->rows = answer;
	while (rows_are_left(&rows)) {
		size_t row = (size_t)(rows.at - answer->data);
		uint32_t before = frames->hashes.count, index;

		store_frame_read(&frame, &rows);
		if (rows.is_damaged)
			return -EPROTO;
		if (hashes_add(&frames->hashes, frame.hash, &index))
			return -ENOMEM;
		if (frames->hashes.count == before)
			continue;
		bytes_put(&frames->offsets, &row, sizeof(row));
		bytes_put(&frames->tree_frames, &(uint32_t){0}, sizeof(uint32_t));
		bytes_put(&frames->is_used, "", 1);
	}
	return frames->offsets.error || frames->tree_frames.error || frames->is_used.error ? -ENOMEM
											   : 0;
}

void named_frames_release(struct named_frames *frames)
{
	hashes_release(&frames->hashes);
	bytes_release(&frames->offsets);
	bytes_release(&frames->tree_frames);
	bytes_release(&frames->is_used);
	bytes_release(&frames->symbols);
	bytes_release(&frames->symbol_table);
	*frames = (struct named_frames){.rows = NULL};
}

void named_frames_use(struct named_frames *frames, uint64_t hash)
{
	uint32_t index = hashes_find(&frames->hashes, hash);

	if (index != HASHES_NONE)
		frames->is_used.data[index] = 1;
}

static void read_frame(const struct named_frames *frames, uint32_t index, struct store_frame *frame)
{
	struct rows rows = rows_of(frames->rows);

	rows.at += ((const size_t *)(const void *)frames->offsets.data)[index];
	store_frame_read(frame, &rows);
}

/* ---- symbols --------------------------------------------------------------------------------- */

/* If @frame has no name, returns its module's build-id and sets *@address; otherwise NULL. */
static const char *address_of(const struct store_frame *frame, uint64_t *address)
{
	const char *plus = strrchr(frame->name, '+');

	if (frame->kind != CALLTREE_UNNAMED || !plus || strncmp(plus, "+0x", 3) ||
		strncmp(frame->file, CALLTREE_BUILD_ID, strlen(CALLTREE_BUILD_ID)))
		return NULL;
	*address = strtoull(plus + 3, NULL, 16);
	return frame->file + strlen(CALLTREE_BUILD_ID);
}

static int compare_symbols(const void *left, const void *right)
{
	const struct named_symbol *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* Sort symbols by start. Symbols of two build-ids may overlap, so find_symbol() checks the id. */
static int index_symbols(struct named_frames *frames)
{
	struct rows rows = rows_of(&frames->symbols);
	char text[ROWS_TEXT_BYTES + 1];

	while (rows_are_left(&rows)) {
		struct named_symbol symbol = {.row = (size_t)(rows.at - frames->symbols.data)};

		rows_text(&rows, text, sizeof(text));
		symbol.start = rows_uint(&rows, 8);
		symbol.end = rows_uint(&rows, 8);
		rows_text(&rows, text, sizeof(text));
		if (rows.is_damaged)
			return -EPROTO;
		bytes_put(&frames->symbol_table, &symbol, sizeof(symbol));
	}
	if (frames->symbol_table.used)
		qsort(frames->symbol_table.data,
			frames->symbol_table.used / sizeof(struct named_symbol),
			sizeof(struct named_symbol), compare_symbols);
	return frames->symbol_table.error;
}

int named_frames_ask(struct named_frames *frames, const struct store_server *server,
	struct diag_message *message)
{
	struct store_request request = {.host = server->host};
	struct store_frame frame;
	struct bytes wanted = {0};
	int error = 0;

	for (uint32_t index = 0; index < frames->hashes.count; index++) {
		const char *build_id = NULL;
		uint64_t address;

		if (frames->is_used.data[index]) {
			read_frame(frames, index, &frame);
			build_id = address_of(&frame, &address);
		}
		if (!build_id)
			continue;
		rows_put_text(&wanted, build_id);
		rows_put_uint(&wanted, address >> STORE_PAGE_BITS, 8);
	}
	if (wanted.used) {
		request.given = (struct store_given){&wanted, "build_id String, page UInt64"};
		store_request_text(&request,
			"SELECT DISTINCT build_id, start, end, name FROM %s.symbols WHERE "
			"(build_id, "
			"page) IN given FORMAT RowBinary",
			server->address->database);
		error = store_http_ask(server->http, &request, 1, message);
	}
	if (!error && wanted.used) {
		frames->symbols = request.answer;
		request.answer = (struct bytes){0};
		error = index_symbols(frames);
	}
	store_requests_release(&request, 1);
	bytes_release(&wanted);
	return error;
}

/*
 * Find the name of the function at @address in @build_id. If several functions contain the address,
 * use the one that begins last.
 */
static bool find_symbol(const struct named_frames *frames, const char *build_id, uint64_t address,
	char name[ROWS_TEXT_BYTES + 1])
{
	const struct named_symbol *symbols = (const void *)frames->symbol_table.data;
	size_t low = 0, high = frames->symbol_table.used / sizeof(*symbols);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	while (low-- > 0) {
		struct rows rows = rows_of(&frames->symbols);

		if (symbols[low].end <= address)
			continue;
		rows.at += symbols[low].row;
		rows_text(&rows, name, ROWS_TEXT_BYTES + 1);
		if (strcmp(name, build_id))
			continue;
		rows_uint(&rows, 8);
		rows_uint(&rows, 8);
		rows_text(&rows, name, ROWS_TEXT_BYTES + 1);
		return name[0] != '\0';
	}
	return false;
}

static uint32_t name_frame(
	const struct named_frames *frames, struct store_frame *frame, struct calltree *tree)
{
	uint64_t address;
	const char *build_id = address_of(frame, &address);
	char name[ROWS_TEXT_BYTES + 1], *shown;
	uint32_t number;

	if (!build_id || !find_symbol(frames, build_id, address, name))
		return calltree_frame_line(tree, frame->name, frame->module,
			(enum calltree_frame_kind)frame->kind, frame->file, frame->line);
	shown = demangle_name(name, DEMANGLE_BY_NAME, DEMANGLE_SHORT);
	number = calltree_frame(tree, shown ? shown : name, frame->module, CALLTREE_NATIVE);
	free(shown);
	return number;
}

int named_frames_in(
	struct named_frames *frames, uint64_t hash, struct calltree *tree, uint32_t *number)
{
	uint32_t index = hashes_find(&frames->hashes, hash), *known;
	struct store_frame frame;

	if (index == HASHES_NONE)
		return -ENOENT;
	known = (uint32_t *)(void *)frames->tree_frames.data + index;
	if (!*known) {
		read_frame(frames, index, &frame);
		*known = name_frame(frames, &frame, tree) + 1;
	}
	*number = *known - 1;
	return 0;
}
