/* SPDX-License-Identifier: MIT */
/* The two files the Makefile bundled from share/viewer/, as bytes. */
	.section .rodata
	.global viewer_pack, viewer_pack_end, viewer_loader, viewer_loader_end
	.hidden viewer_pack, viewer_pack_end, viewer_loader, viewer_loader_end
viewer_pack:
	.incbin "viewer.pack"
viewer_pack_end:
viewer_loader:
	.incbin "loader.js"
viewer_loader_end:
	.section .note.GNU-stack, "", %progbits
