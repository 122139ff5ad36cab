/*
 * The helper of cyborg-agent: what takes an ioctl, which Node does not have. It asks the kernel
 * once, and keeps no state. The agent starts it with a limit of time, as it starts each program
 * that may block in a device.
 *
 *   helper dfl-program /dev/dfl-fme.N PORT IMAGE [OFFSET]
 *                                                  writes the image, from the offset on, into the
 *                                                  region of the port
 *   helper dfl-release /dev/dfl-fme.N PORT         gives the port to virtual functions
 *   helper dfl-assign  /dev/dfl-fme.N PORT         takes the port back
 *   helper dfl-reset   /dev/dfl-port.N             resets the port and its function
 *   helper pci-read    ADDRESS OFFSET              prints the 32 bits at the offset of the first
 *                                                  page of BAR 0; the function must have no driver
 *   helper disk-claim  /dev/NAME                   opens the disk exclusively and closes it, which
 *                                                  the kernel refuses (EBUSY) while the disk or a
 *                                                  partition of it is mounted, or part of a volume
 *                                                  or of a pool of ZFS
 *
 * Exit codes: 0 done; 1 refused, with the kernel's reason as the end of the last line on standard
 * error; 2 for arguments that are none of these. https://docs.kernel.org/fpga/dfl.html
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fpga-dfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kernel refuses ports beyond the feature's mask of 64, and larger images fail in hardware. */
#define PORT_MAX	63
#define IMAGE_MAX	(256L * 1024 * 1024)

static int refused(const char *what)
{
	fprintf(stderr, "helper: %s: %s\n", what, strerror(errno));
	return 1;
}

static int usage(void)
{
	fputs("helper: dfl-program FME PORT IMAGE [OFFSET] | dfl-release FME PORT | dfl-assign FME PORT"
	      " | dfl-reset PORT-DEVICE | pci-read ADDRESS OFFSET | disk-claim DISK\n", stderr);
	return 2;
}

/* A number without a sign and of few digits, so that nothing overflows; -1 for anything else. */
static int number(const char *text)
{
	size_t length = strlen(text);

	if (length < 1 || length > 2)
		return -1;
	for (size_t i = 0; i < length; i++)
		if (!isdigit((unsigned char)text[i]))
			return -1;
	return atoi(text) <= PORT_MAX ? atoi(text) : -1;
}

/* Opens only a character device of that name: prefix and a number. */
static int open_device(const char *path, const char *prefix)
{
	struct stat found;
	int fd;

	if (strncmp(path, prefix, strlen(prefix)) || number(path + strlen(prefix)) < 0) {
		errno = EINVAL;
		return -1;
	}
	fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &found) || !S_ISCHR(found.st_mode))) {
		close(fd);
		errno = ENODEV;
		return -1;
	}
	return fd;
}

/* The header of an image, which the hardware does not take, has 20 bytes and its metadata. */
static long offset_of(const char *text)
{
	size_t length = strlen(text);

	if (length < 1 || length > 6)
		return -1;
	for (size_t i = 0; i < length; i++)
		if (!isdigit((unsigned char)text[i]))
			return -1;
	return atol(text);
}

static int program(int fme, int port, const char *path, long offset)
{
	struct dfl_fpga_fme_port_pr request = { .argsz = sizeof(request), .port_id = port };
	struct stat image;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	void *data;

	if (fd < 0 || fstat(fd, &image))
		return refused(path);
	if (!S_ISREG(image.st_mode) || image.st_size <= offset || image.st_size > IMAGE_MAX) {
		errno = EINVAL;
		return refused(path);
	}
	data = mmap(NULL, image.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (data == MAP_FAILED)
		return refused(path);
	request.buffer_size = image.st_size - offset;
	request.buffer_address = (unsigned long)data + offset;
	return ioctl(fme, DFL_FPGA_FME_PORT_PR, &request) ? refused("the image") : 0;
}

/* The kernel refuses the mapping while a driver has the registers (CONFIG_IO_STRICT_DEVMEM). */
static int read_register(const char *address, long offset)
{
	char path[64];
	void *page;
	int fd;

	if (strlen(address) > 16 || strspn(address, "0123456789abcdef:.") != strlen(address) ||
	    offset > 4092 || offset % 4)
		return usage();
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource0", address);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return refused(path);
	page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return refused(path);
	printf("0x%08x\n", ((volatile unsigned int *)page)[offset / 4]);
	return 0;
}

/* O_EXCL of a block device claims it, and looks at claims of its partitions. Reads nothing. */
static int claim_disk(const char *path)
{
	const char *name = path + strlen("/dev/");
	struct stat found;
	int fd;

	if (strncmp(path, "/dev/", strlen("/dev/")) || strlen(path) > 64 || !*name ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789") != strlen(name)) {
		errno = EINVAL;
		return refused(path);
	}
	/* Before it is opened: another kind of node may act when it is. */
	if (lstat(path, &found))
		return refused(path);
	if (!S_ISBLK(found.st_mode)) {
		errno = EINVAL;
		return refused(path);
	}
	fd = open(path, O_RDONLY | O_EXCL | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return refused(path);
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 2 ? argv[1] : "";
	int is_program = !strcmp(verb, "dfl-program") && (argc == 5 || argc == 6);
	int is_release = !strcmp(verb, "dfl-release") && argc == 4;
	int is_assign = !strcmp(verb, "dfl-assign") && argc == 4;
	int is_reset = !strcmp(verb, "dfl-reset") && argc == 3;
	int port = argc > 3 ? number(argv[3]) : 0;
	long offset = argc > 5 ? offset_of(argv[5]) : 0;
	int fd;

	if (argc == 4 && !strcmp(argv[1], "pci-read"))
		return offset_of(argv[3]) < 0 ? usage() : read_register(argv[2], offset_of(argv[3]));
	if (argc == 3 && !strcmp(argv[1], "disk-claim"))
		return claim_disk(argv[2]);
	if (!(is_program || is_release || is_assign || is_reset) || port < 0 || offset < 0)
		return usage();
	fd = open_device(argv[2], is_reset ? "/dev/dfl-port." : "/dev/dfl-fme.");
	if (fd < 0)
		return refused(argv[2]);
	if (is_program)
		return program(fd, port, argv[4], offset);
	if (is_reset)
		return ioctl(fd, DFL_FPGA_PORT_RESET, 0) ? refused(argv[2]) : 0;
	return ioctl(fd, is_release ? DFL_FPGA_FME_PORT_RELEASE : DFL_FPGA_FME_PORT_ASSIGN, &port)
		       ? refused(argv[3])
		       : 0;
}
