# What a tenant's server runs: one boot sector. It uses the second disk of the BIOS, an NVMe device
# that is passed through, and a PCI UART, and prints what it finds on the first serial port. The
# suite puts the tenant's text into it.
.intel_syntax noprefix
.code16
.global _start
_start:
	jmp	begin
	# With these two bytes of a FAT file system, Glance and Nova do not look for partitions.
	.org	0x10
	.byte	2
	.org	0x15
	.byte	0xf8
begin:
	xor	ax, ax
	mov	ds, ax
	mov	es, ax
	mov	ss, ax
	mov	sp, 0x7c00
	mov	si, offset started
	call	print

	# Is there a second disk? Without it, the first one must not be taken for the accelerator.
	mov	ax, 0x4100
	mov	bx, 0x55aa
	mov	dl, 0x81
	int	0x13
	mov	si, offset no_disk
	jc	no_disk_there

	mov	bp, offset found
	call	read
	# Write the tenant's text into the block, and read it back from the device.
	mov	si, offset text
	mov	di, 0x8000
	mov	cx, 32
	rep	movsb
	mov	ax, 0x4300
	call	transfer
	mov	di, 0x8000
	mov	cx, 32
	rep	stosb
	mov	bp, offset wrote
	call	read
	jmp	uart

no_disk_there:
	call	print

	# mtty, the kernel's sample of a mediated device: a UART with a loop, through which the text goes.
uart:
	mov	ax, 0xb102
	mov	cx, 0x3253
	mov	dx, 0x4348
	xor	si, si
	int	0x1a
	mov	si, offset no_uart
	jc	last
	mov	ax, 0xb10a
	mov	di, 0x10
	int	0x1a
	and	cl, 0xfc
	mov	bx, cx
	mov	si, offset looped
	call	print
	lea	dx, [bx + 3]
	mov	al, 3
	out	dx, al
	lea	dx, [bx + 2]
	mov	al, 7
	out	dx, al
	lea	dx, [bx + 4]
	mov	al, 0x1b
	out	dx, al
	mov	si, offset text
	mov	cx, 32
next:
	lodsb
	mov	dx, bx
	out	dx, al
	lea	dx, [bx + 5]
answer:
	in	al, dx
	test	al, 1
	jz	answer
	mov	dx, bx
	in	al, dx
	call	put
	loop	next
	mov	si, offset line_end
last:
	call	print
	mov	si, offset done
	call	print
halt:
	hlt
	jmp	halt

# Reads the block, and prints the words at bp and the block's first 32 bytes.
read:
	mov	ax, 0x4200
	call	transfer
	mov	si, bp
	call	print
	mov	si, 0x8000
	mov	cx, 32
each:
	lodsb
	or	al, al
	jnz	shown
	mov	al, '.'
shown:
	call	put
	loop	each
	mov	si, offset line_end

# Prints the words at si, which end with a zero.
print:
	lodsb
	or	al, al
	jz	printed
	call	put
	jmp	print
printed:
	ret

# Prints the character in al.
put:
	push	dx
	push	ax
	mov	dx, 0x3fd
ready:
	in	al, dx
	test	al, 0x20
	jz	ready
	pop	ax
	mov	dx, 0x3f8
	out	dx, al
	pop	dx
	ret

# Reads (ah 42h) or writes (ah 43h) the block.
transfer:
	mov	dl, 0x81
	mov	si, offset packet
	int	0x13
	jnc	printed
	mov	si, offset failed
	call	print
	jmp	halt

packet:
	.byte	16, 0
	.word	1, 0x8000, 0
	.quad	1

started: .asciz	"up\r\n"
no_disk: .asciz	"no disk\r\n"
found:	.asciz	"found: "
wrote:	.asciz	"wrote: "
failed:	.asciz	"the disk failed\r\n"
no_uart: .asciz	"no uart\r\n"
looped:	.asciz	"uart: "
done:	.ascii	"done"
line_end: .asciz "\r\n"

	.org	0x1de
text:	.fill	32, 1, 0
	.word	0xaa55
