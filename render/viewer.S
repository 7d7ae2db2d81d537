/* SPDX-License-Identifier: MIT */
/* The texts of render/viewer.h: two files that the Makefile builds from share/viewer/. */
	.section .rodata
	.global viewer_text, viewer_text_end, viewer_loader, viewer_loader_end
	.hidden viewer_text, viewer_text_end, viewer_loader, viewer_loader_end
viewer_text:
	.incbin "viewer.base64"
viewer_text_end:
viewer_loader:
	.incbin "loader.js"
viewer_loader_end:
	.section .note.GNU-stack, "", %progbits
