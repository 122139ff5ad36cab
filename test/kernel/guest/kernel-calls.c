// SPDX-License-Identifier: GPL-2.0
/*
 * kernel-calls: what a test needs of the kernel that Node does not have, as a guest would do it.
 *
 *   kernel-calls vfio-hold /dev/vfio/GROUP DEVICE   opens the device, prints "held", and waits
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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
	int err = -1;
	int fd = argc > 2 ? open(argv[2], O_RDWR) : -1;

	errno = fd < 0 ? errno : EINVAL;
	if (fd >= 0 && !strcmp(call, "vfio-hold"))
		err = hold(fd, argument);
	if (err)
		fprintf(stderr, "kernel-calls: %s\n", strerror(errno));
	return err ? 1 : 0;
}
