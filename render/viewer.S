/* SPDX-License-Identifier: MIT */
/* The two files the Makefile bundled from share/viewer/, as bytes. */
	.section .rodata
	.global viewer_script, viewer_script_end, viewer_style, viewer_style_end
	.hidden viewer_script, viewer_script_end, viewer_style, viewer_style_end
viewer_script:
	.incbin "viewer.js"
viewer_script_end:
viewer_style:
	.incbin "viewer.css"
viewer_style_end:
	.section .note.GNU-stack, "", %progbits
