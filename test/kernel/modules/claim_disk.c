// SPDX-License-Identifier: GPL-2.0
/*
 * claim_disk: has a disk for itself as ZFS has those of its pools: opened
 * exclusively by the kernel, without a mount, a holder in sysfs or a process.
 *
 *   modprobe claim_disk path=/dev/nvme0n1
 *
 * Its removal ends the claim. OpenZFS: module/os/linux/zfs/vdev_disk.c.
 */
#include <linux/blkdev.h>
#include <linux/module.h>

#define MODE	(FMODE_READ | FMODE_WRITE | FMODE_EXCL)

static char *path;
module_param(path, charp, 0444);

static struct block_device *disk;

static int __init claim_disk_init(void)
{
	disk = blkdev_get_by_path(path, MODE, THIS_MODULE);
	return PTR_ERR_OR_ZERO(disk);
}

static void __exit claim_disk_exit(void)
{
	blkdev_put(disk, MODE);
}

module_init(claim_disk_init);
module_exit(claim_disk_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("An exclusive claim of a disk");
