// SPDX-License-Identifier: GPL-2.0
/*
 * kernel-calls: the ioctls that a test needs, which Node does not have.
 *
 *   kernel-calls dfl-program /dev/dfl-fme.0 PORT IMAGE
 *   kernel-calls dfl-release|dfl-assign /dev/dfl-fme.0 PORT
 *   kernel-calls dfl-reset /dev/dfl-port.0
 *   kernel-calls vfio-hold /dev/vfio/GROUP DEVICE   opens the device, prints "held", and waits
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fpga-dfl.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static int program(int fme, int port, const char *path)
{
	struct dfl_fpga_fme_port_pr request = { .argsz = sizeof(request), .port_id = port };
	struct stat image;
	int fd = open(path, O_RDONLY);
	char *data;

	if (fd < 0 || fstat(fd, &image))
		return -1;
	data = malloc(image.st_size);
	if (!data || read(fd, data, image.st_size) != image.st_size)
		return -1;
	request.buffer_size = image.st_size;
	request.buffer_address = (unsigned long)data;
	return ioctl(fme, DFL_FPGA_FME_PORT_PR, &request);
}

/* As a hypervisor does: a container with an IOMMU, the group in it, the device of the group. */
static int hold(int group, const char *device)
{
	int container = open("/dev/vfio/vfio", O_RDWR);

	if (container < 0 || ioctl(group, VFIO_GROUP_SET_CONTAINER, &container) ||
	    ioctl(container, VFIO_SET_IOMMU, VFIO_TYPE1_IOMMU) ||
	    ioctl(group, VFIO_GROUP_GET_DEVICE_FD, device) < 0)
		return -1;
	puts("held");
	fflush(stdout);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	const char *call = argc > 2 ? argv[1] : "";
	const char *argument = argc > 3 ? argv[3] : "";
	int port = atoi(argument), err = -1;
	int fd = argc > 2 ? open(argv[2], O_RDWR) : -1;

	errno = fd < 0 ? errno : EINVAL;
	if (fd >= 0 && !strcmp(call, "dfl-reset"))
		err = ioctl(fd, DFL_FPGA_PORT_RESET, 0);
	else if (fd >= 0 && !strcmp(call, "dfl-release"))
		err = ioctl(fd, DFL_FPGA_FME_PORT_RELEASE, &port);
	else if (fd >= 0 && !strcmp(call, "dfl-assign"))
		err = ioctl(fd, DFL_FPGA_FME_PORT_ASSIGN, &port);
	else if (fd >= 0 && !strcmp(call, "dfl-program") && argc > 4)
		err = program(fd, port, argv[4]);
	else if (fd >= 0 && !strcmp(call, "vfio-hold"))
		err = hold(fd, argument);
	if (err)
		fprintf(stderr, "kernel-calls: %s\n", strerror(errno));
	return err ? 1 : 0;
}
